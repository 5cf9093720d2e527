"""Compile one model that a Python interface has stored in the cache, in a worker."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuronir.cli.cc_messages import Messages
from neuronir.cli.neuronx_cc_compile import guard
from neuronir.cli.program import INTERNAL, OK, USER_ERROR


def compile_request(given: Mapping[str, Any], messages: Messages) -> int:
    """Compile the job in the folder `model`, into the cache `cache_dir`; always returns an exit
    status.
    """
    return guard(lambda words: _compile(given, messages), messages, [])


def _compile(given: Mapping[str, Any], messages: Messages) -> int:
    from neuronir.cache_jobs import CacheUse, compile_job
    from neuronir.driver.job import read_packed, unpack
    from neuronir.driver.pass_runner import RunFailure

    use = CacheUse(given["cache_dir"], retry=given["retry_failed_compilation"])
    try:
        packed = read_packed(Path(given["model"][0]))
        with messages.listening():
            made = compile_job(unpack(packed), use, packed=packed)
    except RunFailure as failure:
        messages.fail(failure.diagnostic, {}, None)
        return INTERNAL if failure.internal else USER_ERROR
    messages.cached = made.cached
    return OK

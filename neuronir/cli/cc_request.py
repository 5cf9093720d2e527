"""Run one of many compiles in a worker: options in, messages and result out."""

import io
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from neuronir.cache import compiler
from neuronir.cache_graphs import COLLECT, PYTHON
from neuronir.cli.cc_args import FLAGS
from neuronir.cli.cc_messages import Messages
from neuronir.frontends.bindings import path_of_io_config
from neuronir.many.limits import peak_bytes, reset_peak


@dataclass(frozen=True)
class Request:
    """A compile: `program` is `neuronx-cc` or `neuron-cc`, `given` the options by their names in
    the program's parser. Paths are absolute. `compiler` is the digest of the compiler."""

    program: str
    given: Mapping[str, Any]
    compiler: str = field(default_factory=compiler)

    def check(self) -> None:
        """Raise RuntimeError if this process and the requesting one have different compilers."""
        if self.compiler != compiler():
            raise RuntimeError("the worker has another version of NeuronIR or of its dependencies")


@dataclass(frozen=True)
class Answer:
    """The outcome of a compile: its exit status, its output, its wall time and the peak resident
    size of the process (bytes). `cached` says whether it came from the cache.
    """

    status: int
    text: str
    cached: bool
    seconds: float
    peak_bytes: int


def absolute(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with absolute paths, because a worker has another working directory.

    The models and the outputs are not changed.
    """
    changed = dict(given)
    io_config = given.get("io_config")
    paths = {"weights": given.get("weights"), "cache_dir": given.get("cache_dir")}
    paths["io_config"] = None if io_config is None else path_of_io_config(io_config)
    for name, path in paths.items():
        if path and not (name == "cache_dir" and "://" in path):
            changed[name] = os.path.abspath(path)
    if files := given.get("load"):
        changed["load"] = [os.path.abspath(path) for path in files]
    return changed


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Hide environment variables, whose meaning is part of a request already."""
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


def compile_one(request: Request) -> Answer:
    """Compile a model; all errors are reported as an exit status."""
    request.check()
    from neuronir.cli import cc_job, neuron_cc, neuronx_cc_compile

    old = request.program == neuron_cc.PROGRAM
    messages = neuron_cc.messages_of() if old else Messages()
    compiling = neuron_cc.compile_request if old else neuronx_cc_compile.compile_request
    if request.program == PYTHON:
        compiling = cc_job.compile_request
    said = io.StringIO()
    reset_peak()
    start = time.perf_counter()
    with _without(FLAGS, COLLECT), redirect_stdout(said), redirect_stderr(said):
        status = compiling(dict(request.given), messages)
    seconds = time.perf_counter() - start
    return Answer(status, said.getvalue(), messages.cached, seconds, peak_bytes())

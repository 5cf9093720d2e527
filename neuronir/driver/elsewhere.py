"""Compile jobs in other processes: several at a time, each with a time limit.

The process, which is `elsewhere_worker`, gets the folder of a job and adds `graph.neff` and
`messages.json`, or `error.json` if the module does not compile. The NEFF has the same bytes as that
of a compile in this process.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from neuronir.diagnostics.stored import from_json
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.job import Job, pack
from neuronir.driver.pass_runner import RunFailure

EMPTY = (
    "Neuron executable (neff) is empty. Please check neuron-cc is installed and working properly"
)
ABORTED = "The neuron-cc (neuron compiler) process aborted (SIG_ABORT)"
"""The published texts of a compile that ends without a NEFF."""


@dataclass(frozen=True)
class Answer:
    """The NEFF of a job, and the messages of its compile as (level, text)."""

    neff: bytes
    messages: Sequence[tuple[int, str]]


def compile_jobs(
    jobs: Sequence[Job], *, workers: int = 2, timeout: float | None = None
) -> list[Answer | RunFailure]:
    """Compile each job in a process of its own, `workers` at a time; the answers in order.

    Raises subprocess.TimeoutExpired if a job takes more than `timeout` seconds, NIR_DRV012 if a
    process fails, is killed or writes no NEFF, and ValueError for options that a job cannot set.
    """
    with TemporaryDirectory() as folder:
        places = [Path(folder) / str(i) for i in range(len(jobs))]
        for job, place in zip(jobs, places, strict=True):
            pack(job).write(place)
        run: Callable[[Job, Path], Answer | RunFailure] = partial(_run, timeout=timeout)
        with ThreadPoolExecutor(max(1, min(workers, len(jobs)))) as pool:
            return list(pool.map(run, jobs, places))


def _run(job: Job, place: Path, timeout: float | None) -> Answer | RunFailure:
    """Return the NEFF of a job in its folder, compiled by a process, or its failure."""
    words = [sys.executable, "-m", "neuronir.driver.elsewhere_worker", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout)
    failure = place / "error.json"
    if done.returncode == 0:
        sys.stderr.write(done.stderr)  # its warnings
        neff = place / "graph.neff"
        if not neff.exists() or not neff.stat().st_size:
            raise NeuronError("NIR_DRV012", EMPTY)
        messages = json.loads((place / "messages.json").read_text())
        return Answer(neff.read_bytes(), [(n, text) for n, text in messages])
    if failure.exists():
        found = json.loads(failure.read_text())
        diagnostic = from_json(found["diagnostic"], job.name)
        return RunFailure(diagnostic, internal=found["internal"])
    raise _ended(done.returncode, done.stderr)


def _ended(status: int, stderr: str) -> NeuronError:
    """Return the error of a process that left no result; a signal is a negative status."""
    if status == -signal.SIGKILL:
        text = f"Compile command returned: {status}; the system killed the process of a compile"
        return NeuronError(
            "NIR_DRV012", text, help="it probably ran out of memory: give the computer more"
        )
    if status == -signal.SIGABRT:
        return NeuronError("NIR_DRV012", f"{ABORTED}{_last(stderr)}")
    what = f"{_last(stderr) or f': exit status {status}'}"
    return NeuronError("NIR_DRV012", f"the process of a compile failed{what}")


def _last(stderr: str) -> str:
    lines = stderr.strip().splitlines()
    return f": {lines[-1]}" if lines else ""

"""Compile modules in other processes: several at a time, each with a time limit.

A job is a folder with `job.json`, `module.mlir` and `constants.bin`. The process, which is
`elsewhere_worker`, adds `graph.neff`, or `error.json` if the module does not compile. The NEFF has
the same bytes as that of a compile in this process.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from neuronir.diagnostics.stored import from_json
from neuronir.dialects.hlo.attributes import HloResourceAttr
from neuronir.dialects.hlo.resources import lookup
from neuronir.dialects.support.diagnostics import LEVEL_OF
from neuronir.dialects.support.dtypes import element_type, hlo_name
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import walk
from neuronir.driver.dumps import ir_text
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure, as_error
from neuronir.registry import Registry

SENT = (
    *("auto_cast", "auto_cast_type", "relayout", "optlevel", "narrow_integers", "tiling"),
    "dump_phases_to",
)
"""The fields of CompileOptions that a job may set."""


@dataclass(frozen=True)
class Job:
    """A module to compile: `name` and `digest` are those of the model that it was imported from.
    Messages of `level` (30: warnings) or above are printed."""

    module: ModuleOp
    name: str
    digest: str
    inputs: Sequence[str]
    target: str
    options: CompileOptions
    level: int = LEVEL_OF["warning"]


def compile_jobs(
    jobs: Sequence[Job], *, workers: int = 2, timeout: float | None = None
) -> list[bytes]:
    """Compile each job in a process of its own, `workers` at a time; the NEFFs in order.

    Raises NeuronError for the first job that does not compile, subprocess.TimeoutExpired if one
    takes more than `timeout` seconds, and ValueError for options that a job cannot set.
    """
    with TemporaryDirectory() as folder:
        places = [Path(folder) / str(i) for i in range(len(jobs))]
        for job, place in zip(jobs, places, strict=True):
            _write(job, place)
        run: Callable[[Job, Path], bytes] = partial(_run, timeout=timeout)
        with ThreadPoolExecutor(max(1, min(workers, len(jobs)))) as pool:
            return list(pool.map(run, jobs, places))


def _write(job: Job, place: Path) -> None:
    """Write the folder of a job."""
    unset = CompileOptions()
    sent = {name: getattr(job.options, name) for name in SENT}
    changed = {k for k, v in vars(job.options).items() if v != getattr(unset, k)} - set(SENT)
    if changed:
        raise ValueError(f"options that a job cannot set: {', '.join(sorted(changed))}")
    place.mkdir()
    held: dict[str, list[Any]] = {}
    with open(place / "constants.bin", "wb") as file:
        for op in walk(job.module):
            value = op.properties.get("value")
            if isinstance(value, HloResourceAttr) and value.key.data not in held:
                array = lookup(value)
                kind = hlo_name(element_type(array.dtype))
                held[value.key.data] = [kind, list(array.shape), file.tell()]
                file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    text = ir_text(job.module, Registry.discover().context(), job.name, constants=False)
    (place / "module.mlir").write_text(text)
    described = {
        "name": job.name,
        "digest": job.digest,
        "inputs": list(job.inputs),
        "target": job.target,
        "options": sent,
        "level": job.level,
        "constants": held,
    }
    (place / "job.json").write_text(json.dumps(described))


def _run(job: Job, place: Path, timeout: float | None) -> bytes:
    """Return the NEFF of a job in its folder, compiled by a process."""
    words = [sys.executable, "-m", "neuronir.driver.elsewhere_worker", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout)
    result, failure = place / "graph.neff", place / "error.json"
    if done.returncode == 0:
        sys.stderr.write(done.stderr)  # its warnings
        return result.read_bytes()
    if failure.exists():
        found = json.loads(failure.read_text())
        diagnostic = from_json(found["diagnostic"], job.name)
        raise as_error(RunFailure(diagnostic, internal=found["internal"]))
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    raise NeuronError("NIR_DRV012", f"the process of a compile failed: {lines[-1]}")

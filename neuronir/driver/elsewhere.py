"""Compile modules in other processes: several at a time, each with a time limit.

python -m neuronir.driver.elsewhere FOLDER    compiles the job in a folder

A job is a folder with `job.json`, `module.mlir` and `constants.bin`. The process adds `graph.neff`,
or `error.json` if the module does not compile. The NEFF has the same bytes as that of a compile in
this process.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.attributes import HloResourceAttr
from neuronir.dialects.hlo.resources import hold, lookup
from neuronir.dialects.support.diagnostics import LEVEL_OF, handling, printing
from neuronir.dialects.support.dtypes import element_type, from_hlo_name, hlo_name, np_dtype
from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.dialects.support.walking import walk
from neuronir.driver.compiler import compile_model
from neuronir.driver.dumps import ir_text
from neuronir.driver.module_input import Chunk, parse
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure, as_error
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Use
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


@dataclass(frozen=True)
class Parsed:
    """A module as a model that the compiler takes."""

    text: str
    name: str
    digest: str
    inputs: Sequence[str]

    def input_names(self, bindings: Bindings) -> list[str]:
        """The names of its inputs, in order."""
        return list(self.inputs)

    def operators(self, bindings: Bindings) -> list[Use]:
        """None: the frontend has checked them."""
        return []

    def module(self, bindings: Bindings) -> ModuleOp:
        """Its hlo module."""
        return parse(Chunk(self.text, self.name, "mlir"), Registry.discover().context())


def compile_jobs(
    jobs: Sequence[Job], *, workers: int = 2, timeout: float | None = None
) -> list[bytes]:
    """Compile each job in a process of its own, `workers` at a time; the NEFFs in order.

    Raises NeuronError for the first job that does not compile, and subprocess.TimeoutExpired if one
    takes more than `timeout` seconds.
    """
    with TemporaryDirectory() as folder:
        places = [Path(folder) / str(i) for i in range(len(jobs))]
        for job, place in zip(jobs, places, strict=True):
            _write(job, place)
        run: Callable[[Path], bytes] = partial(_run, timeout=timeout)
        with ThreadPoolExecutor(max(1, min(workers, len(jobs)))) as pool:
            return list(pool.map(run, places))


def _write(job: Job, place: Path) -> None:
    """Write the folder of a job."""
    place.mkdir()
    unset = CompileOptions()
    sent = {name: getattr(job.options, name) for name in SENT}
    changed = {k for k, v in vars(job.options).items() if v != getattr(unset, k)} - set(SENT)
    assert not changed, f"options that are not sent: {changed}"
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


def _run(place: Path, timeout: float | None) -> bytes:
    """The NEFF of the job in a folder, compiled by a process."""
    words = [sys.executable, "-m", "neuronir.driver.elsewhere", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=timeout)
    result, failure = place / "graph.neff", place / "error.json"
    if done.returncode == 0:
        sys.stderr.write(done.stderr)  # its warnings
        return result.read_bytes()
    if failure.exists():
        found = json.loads(failure.read_text())
        location = SourceLocation(**found["location"]) if found["location"] else None
        raise NeuronError(found["code"], found["message"], location=location, help=found["help"])
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    raise NeuronError("NIR_DRV012", f"the process of a compile failed: {lines[-1]}")


def main(words: Sequence[str]) -> int:
    """Compile the job in a folder."""
    from neuronir.targets.neff.writer import neff_pieces
    from neuronir.version import __version__

    place = Path(words[0])
    found = json.loads((place / "job.json").read_text())
    _read_constants(place / "constants.bin", found["constants"])
    text = (place / "module.mlir").read_text()
    model = Parsed(text, found["name"], found["digest"], found["inputs"])
    try:
        try:
            with handling(printing(found["level"])):
                result = compile_model(model, found["target"], CompileOptions(**found["options"]))
        except RunFailure as failure:
            raise as_error(failure) from failure
    except NeuronError as error:
        where = error.location
        (place / "error.json").write_text(
            json.dumps(
                {
                    "code": error.code,
                    "message": error.message,
                    "help": error.help,
                    "location": asdict(where) if isinstance(where, SourceLocation) else None,
                }
            )
        )
        return 1
    assert result.program is not None
    with open(place / "graph.neff", "wb") as file:
        file.writelines(neff_pieces(result.program, __version__, result.encoding))
    return 0


def _read_constants(path: Path, described: dict[str, list[Any]]) -> None:
    """Hold the constants of a job."""
    if not described:
        return
    data = np.memmap(path, np.uint8, "r")
    for key, (kind, shape, start) in described.items():
        dtype = np_dtype(from_hlo_name(kind))
        count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        hold(key, np.asarray(data[start : start + count]).view(dtype).reshape(shape))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Compile a function with example arguments."""

import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from neuronir.api import Executable, load_bytes
from neuronir.cache_jobs import compile_job, compile_jobs
from neuronir.cli.cc_compile import compile_options, user_passes_of
from neuronir.dialects.support.diagnostics import handling, printing
from neuronir.driver import CompileOptions
from neuronir.driver.job import Job
from neuronir.driver.pass_runner import RunFailure, as_error
from neuronir.driver.source import stamp
from neuronir.frontends.torch import Imported, import_torch
from neuronir.frontends.torch.export import export
from neuronir.frontends.torch.model import digest_of_program
from neuronir.torch.arguments import cache_use
from neuronir.torch.interface import Spec

NAME = "main"
"""The name of the model in a program."""


@dataclass(frozen=True)
class Compiled:
    """A compiled model: the exported program, its import, the compiled program and its file."""

    program: Any
    imported: Imported
    executable: Executable
    neff: bytes
    target: str


def exported(func: Callable[..., Any], example_inputs: Sequence[Any]) -> Any:
    """Return the exported program, of a module in the mode that it is in."""
    return export(func, example_inputs)


def compiled(
    program: Any,
    arguments: Namespace,
    *,
    kept: Collection[str] = (),
    workdir: str | None = None,
    timeout: float | None = None,
) -> Compiled:
    """Compile an exported program; `kept` parameters and buffers stay inputs. NeuronError."""
    imported = import_torch(program, kept=kept)
    return compiled_import(program, imported, arguments, workdir=workdir, timeout=timeout)


def compiled_import(
    program: Any,
    imported: Imported,
    arguments: Namespace,
    *,
    workdir: str | None = None,
    timeout: float | None = None,
) -> Compiled:
    """Compile what has been imported of a program; with a `timeout` (seconds) in another process.
    NeuronError, subprocess.TimeoutExpired."""
    if timeout is not None:
        unit = (program, imported, workdir)
        return compiled_units([unit], arguments, workers=1, timeout=timeout)[0]
    job = _job(program, imported, arguments, workdir)
    try:
        with handling(printing(arguments.level)):
            made = compile_job(job, cache_use(arguments), want_neff=True)
    except RunFailure as failure:
        raise as_error(failure) from failure
    assert made.neff is not None
    executable = Executable(made.program, made.encoding)
    return _finished(Compiled(program, imported, executable, made.neff, job.target), workdir)


def compiled_units(
    units: Sequence[tuple[Any, Imported, str | None]],
    arguments: Namespace,
    *,
    workers: int,
    timeout: float | None = None,
) -> list[Compiled]:
    """Compile (program, what was imported of it, workdir) in other processes, `workers` at a time.
    NeuronError, subprocess.TimeoutExpired."""
    jobs = [_job(program, imported, arguments, place) for program, imported, place in units]
    try:
        with handling(printing(arguments.level)):
            neffs = compile_jobs(jobs, cache_use(arguments), workers=workers, timeout=timeout)
    except RunFailure as failure:
        raise as_error(failure) from failure
    made = []
    for neff, (program, imported, workdir) in zip(neffs, units, strict=True):
        found = Compiled(program, imported, load_bytes(neff, NAME), neff, arguments.target)
        made.append(_finished(found, workdir))
    return made


def _job(program: Any, imported: Imported, arguments: Namespace, workdir: str | None) -> Job:
    """Return the job of what has been imported of a program."""
    options = _prepare(program, arguments, workdir)
    stamp(imported.module, digest_of_program(program))
    return Job(imported.module, NAME, arguments.target, options, arguments.level)


def _prepare(program: Any, arguments: Namespace, workdir: str | None) -> CompileOptions:
    """Return the options of a compile; the folder is made, and gets the exported graph."""
    folder = None if workdir is None else Path(workdir)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "graph.txt").write_text(str(program))
    for line in arguments.remarks:
        warnings.warn(line, stacklevel=5)
    dump = None if folder is None else str(folder / "phases")
    options = compile_options(arguments, dump_phases_to=dump, user_passes=user_passes_of(arguments))
    return replace(options, narrow_integers=True)  # PyTorch's indices have 64 bits


def _finished(made: Compiled, workdir: str | None) -> Compiled:
    """Write the files that the folder keeps."""
    if workdir is not None:
        (Path(workdir) / "graph.neff").write_bytes(made.neff)
        report = json.dumps(made.executable.report(), indent=1) + "\n"
        (Path(workdir) / "report.json").write_text(report)
    return made


def spec_of(name: str, tensor: Any) -> Spec:
    """Return the required properties of a tensor."""
    return Spec(name, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))


def bytes_tensor(data: bytes) -> Any:
    """Return bytes as a tensor that holds a copy."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)

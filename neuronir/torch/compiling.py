"""Compile a function with example arguments."""

import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from xdsl.dialects.builtin import ModuleOp

from neuronir.api import Executable
from neuronir.cli.cc_compile import compile_options
from neuronir.dialects.support.diagnostics import handling, printing
from neuronir.driver import CompileOptions
from neuronir.driver.compiler import compile_model
from neuronir.driver.elsewhere import Job, compile_jobs
from neuronir.driver.pass_runner import RunFailure, as_error
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Use
from neuronir.frontends.torch import Imported, import_torch
from neuronir.frontends.torch.export import export
from neuronir.frontends.torch.model import digest_of_program
from neuronir.frontends.torch.unsupported import operators_used
from neuronir.targets.neff.writer import neff_pieces
from neuronir.torch.interface import Spec
from neuronir.torch.loaded import executable_of
from neuronir.version import __version__

NAME = "main"
"""The name of the model in a program."""


@dataclass(frozen=True)
class Prepared:
    """An imported program as a model for the compiler."""

    program: Any
    imported: Imported
    name: str
    digest: str

    def input_names(self, bindings: Bindings) -> list[str]:
        """Return the names of its inputs, in order."""
        return [*self.imported.inputs, *self.imported.held]

    def operators(self, bindings: Bindings) -> list[Use]:
        """Return the operators that it uses."""
        return operators_used(self.program)

    def module(self, bindings: Bindings) -> ModuleOp:
        """Return its hlo module."""
        return self.imported.module


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
    options = _prepare(program, arguments, workdir)
    model = Prepared(program, imported, NAME, digest_of_program(program))
    try:
        with handling(printing(arguments.level)):
            result = compile_model(model, arguments.target, options)
    except RunFailure as failure:
        raise as_error(failure) from failure
    assert result.program is not None
    executable = Executable(result.program, result.encoding)
    neff = b"".join(neff_pieces(result.program, __version__, result.encoding))
    return _finished(Compiled(program, imported, executable, neff, arguments.target), workdir)


def compiled_units(
    units: Sequence[tuple[Any, Imported, str | None]],
    arguments: Namespace,
    *,
    workers: int,
    timeout: float | None = None,
) -> list[Compiled]:
    """Compile (program, what was imported of it, workdir) in other processes, `workers` at a time.
    NeuronError, subprocess.TimeoutExpired."""
    jobs = []
    for program, imported, workdir in units:
        options = _prepare(program, arguments, workdir)
        inputs = [*imported.inputs, *imported.held]
        digest = digest_of_program(program)
        target, level = arguments.target, arguments.level
        jobs.append(Job(imported.module, NAME, digest, inputs, target, options, level))
    made = []
    neffs = compile_jobs(jobs, workers=workers, timeout=timeout)
    for neff, (program, imported, workdir) in zip(neffs, units, strict=True):
        executable = executable_of(neff, NAME)
        found = Compiled(program, imported, executable, neff, arguments.target)
        made.append(_finished(found, workdir))
    return made


def _prepare(program: Any, arguments: Namespace, workdir: str | None) -> CompileOptions:
    """Return the options of a compile; the folder is made, and gets the exported graph."""
    folder = None if workdir is None else Path(workdir)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "graph.txt").write_text(str(program))
    for line in arguments.remarks:
        warnings.warn(line, stacklevel=5)
    dump = None if folder is None else str(folder / "phases")
    return compile_options(arguments, dump_phases_to=dump)


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

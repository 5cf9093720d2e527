"""Compile a function with example arguments."""

import json
import shlex
import warnings
from argparse import Namespace
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from xdsl.dialects.builtin import ModuleOp

from neuronir.api import Executable
from neuronir.cli import neuronx_cc_args
from neuronir.cli.cc_args import with_flags
from neuronir.cli.neuronx_cc_args import ALIASES
from neuronir.cli.program import UsageError
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions
from neuronir.driver.compiler import compile_model
from neuronir.driver.elsewhere import Job, compile_jobs
from neuronir.driver.pass_runner import RunFailure, as_error
from neuronir.driver.phases import PHASES
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

Arguments = str | Sequence[str] | None
"""What `compiler_args` may be."""
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
        """The names of its inputs, in order."""
        return [*self.imported.inputs, *self.imported.held]

    def operators(self, bindings: Bindings) -> list[Use]:
        """The operators that it uses."""
        return operators_used(self.program)

    def module(self, bindings: Bindings) -> ModuleOp:
        """Its hlo module."""
        return self.imported.module


@dataclass(frozen=True)
class Compiled:
    """A compiled model: what was exported, how it was imported, the program and its file."""

    program: Any
    imported: Imported
    executable: Executable
    neff: bytes
    target: str


def parse_arguments(given: Arguments, *, need_target: bool = False) -> Namespace:
    """The options of neuronx-cc compile; the target is trn1 where none is given (NIR_ARG003)."""
    words = split_words(given)
    if not any(w == "--target" or w.startswith("--target=") for w in words):
        if need_target:
            raise NeuronError(
                "NIR_ARG003",
                "cpu_backend=True needs a target in compiler_args",
                help="compiler_args='--target trn1'",
            )
        words += ["--target", "trn1"]
    parsed = parsed_words(words, neuronx_cc_args)
    parsed.target = ALIASES.get(parsed.target, parsed.target)
    return parsed


def parsed_words(words: Sequence[str], compiler: ModuleType) -> Namespace:
    """The options of a `compile` command, by the module of its arguments (`neuronx_cc_args`,
    `neuron_cc_args`): with `precision` and `remarks` (NIR_ARG003, NIR_ARG002)."""

    def parse(given: Sequence[str]) -> Namespace:
        found: Namespace = compiler.build_parser().parse_args(compiler.normalise(given))
        return found

    try:
        parsed = parse(with_flags(["compile", "model", "--framework", "PYTORCH", *words], parse))
        compiler.check(parsed)
        parsed.precision = compiler.precision(parsed)
    except UsageError as error:
        raise NeuronError("NIR_ARG003", f"compiler_args: {error}") from error
    refuse_options(parsed)
    parsed.remarks = compiler.remarks(parsed)
    return parsed


def split_words(given: Arguments) -> list[str]:
    """The words of `compiler_args`, a string or a sequence of them."""
    return shlex.split(given) if isinstance(given, str) else [str(w) for w in given or ()]


def refuse_options(parsed: Namespace) -> None:
    """NIR_ARG002 for options of a compile whose effect a traced model cannot have."""
    unset = {
        "neuroncore_pipeline_cores": 1,
        "compile_from": PHASES[0],
        "compile_to": PHASES[-1],
        "dump_phases_to": None,
        "weights": None,
        "report": None,
    }
    for name, value in unset.items():
        if getattr(parsed, name) != value:
            option = "--" + name.replace("_", "-")
            raise NeuronError(
                "NIR_ARG002",
                f"compiler_args: {option} {getattr(parsed, name)} is not supported for traced "
                "models",
                help="use compiler_workdir for the IR of each phase, and the command line for "
                "pipelines over several cores",
            )


def exported(func: Callable[..., Any], example_inputs: Sequence[Any]) -> Any:
    """The exported program, of a module in the mode that it is in."""
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
        jobs.append(Job(imported.module, NAME, digest, inputs, arguments.target, options))
    made = []
    neffs = compile_jobs(jobs, workers=workers, timeout=timeout)
    for neff, (program, imported, workdir) in zip(neffs, units, strict=True):
        executable = executable_of(neff, NAME)
        found = Compiled(program, imported, executable, neff, arguments.target)
        made.append(_finished(found, workdir))
    return made


def _prepare(program: Any, arguments: Namespace, workdir: str | None) -> CompileOptions:
    """The options of a compile; the folder is made, and gets the exported graph."""
    folder = None if workdir is None else Path(workdir)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "graph.txt").write_text(str(program))
    for line in arguments.remarks:
        warnings.warn(line, stacklevel=5)
    return CompileOptions(
        auto_cast=arguments.precision.auto_cast,
        auto_cast_type=arguments.precision.auto_cast_type,
        relayout=arguments.precision.relayout,
        optlevel=1 if getattr(arguments, "enable_experimental_O1", False) else arguments.optlevel,
        tiling=arguments.tiling,
        dump_phases_to=None if folder is None else str(folder / "phases"),
    )


def _finished(made: Compiled, workdir: str | None) -> Compiled:
    """Write what the folder keeps."""
    if workdir is not None:
        (Path(workdir) / "graph.neff").write_bytes(made.neff)
        report = json.dumps(made.executable.report(), indent=1) + "\n"
        (Path(workdir) / "report.json").write_text(report)
    return made


def spec_of(name: str, tensor: Any) -> Spec:
    """What a tensor must be like."""
    return Spec(name, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))


def bytes_tensor(data: bytes) -> Any:
    """Bytes as a tensor that holds a copy."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)

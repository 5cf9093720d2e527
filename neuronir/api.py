"""Compile a model, call the result with arrays, save it, and time it from Python."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Program, Variable
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.binary import is_stablehlo
from neuronir.frontends.jax_functions import is_exported, is_lowered, lowered_text, text_of
from neuronir.neff_program import program_of, program_of_bytes
from neuronir.targets.encoding.encoding import Encoding
from neuronir.targets.neff.reader import load_neff
from neuronir.targets.neff.writer import write_neff
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import TimingResult, simulate_timing
from neuronir.version import __version__

if TYPE_CHECKING:
    from neuronir.driver.module_input import Chunk

Array = NDArray[Any]
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Executable:
    """A compiled model. Calling it runs the simulated machine.

        executable = neuronir.compile("model.onnx", input_shapes={"x": (1, 128)})
        results = executable(x)            # by position, or executable(x=x) by name
        results["y"]

    Arrays must have the shapes and types of the model's inputs; results come by the model's names
    (`out0`, `out1` ... where it has none), in its order.
    """

    program: Program
    encoding: Encoding

    @cached_property
    def _machine(self) -> Machine:
        """The machine, looked up once: finding the installed targets takes milliseconds."""
        machine: Machine = get_target(self.program.machine).machine
        return machine

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs, in order, including unused arguments."""
        listed = self.program.metadata.get("inputs")
        if listed is not None:
            return [str(name) for name in json.loads(listed)]
        count = int(self.program.metadata.get("arguments", len(self._variables("input"))))
        names = {v.index: v.name for v in self._variables("input")}
        return [names.get(i, f"arg{i}") for i in range(count)]

    @property
    def outputs(self) -> list[str]:
        """The names of the results, in order."""
        listed = self.program.metadata.get("outputs")
        if listed is not None:
            return [str(name) for name in json.loads(listed)]
        return [f"out{v.index}" for v in self._variables("output")]

    def _variables(self, kind: str) -> list[Variable]:
        found = [v for v in self.program.variables if v.kind == kind]
        return sorted(found, key=lambda v: v.index)

    def __call__(self, *arrays: Array, **named: Array) -> dict[str, Array]:
        """Return the results by name; raises NeuronError for invalid arguments or a machine
        fault.
        """
        given = self._given(arrays, named)
        taken = [np.asarray(given[v.index]) for v in self._variables("input")]
        outputs = run(self.program, taken, self._machine).outputs
        return dict(zip(self.outputs, outputs, strict=True))

    def _given(self, arrays: Sequence[Array], named: Mapping[str, Array]) -> dict[int, Array]:
        """Return the arguments by number."""
        names = self.inputs
        if len(arrays) > len(names):
            raise NeuronError(
                "NIR_API001", f"the model has {len(names)} inputs, {len(arrays)} were given"
            )
        given = dict(enumerate(arrays))
        for name, array in named.items():
            if name not in names:
                raise NeuronError(
                    "NIR_API001",
                    f"the model has no input '{name}'",
                    help="its inputs: " + ", ".join(names),
                )
            if names.index(name) in given:
                raise NeuronError("NIR_API001", f"input '{name}' is passed twice")
            given[names.index(name)] = array
        for variable in self._variables("input"):
            if variable.index not in given:
                raise NeuronError("NIR_API001", f"input '{names[variable.index]}' is missing")
        return given

    def save(self, path: PathLike) -> None:
        """Write the NEFF container, which `neuronir.load` and neuron-sim read."""
        write_neff(self.program, path, __version__, self.encoding)

    def simulate(self, *, record: bool = False) -> TimingResult:
        """Time one run; with `record`, keep the interval of each instruction (for traces)."""
        return simulate_timing(self.program, self._machine, record=record)

    def report(self) -> dict[str, Any]:
        """Return the timing report as a dictionary, with the fields of docs/report.md."""
        return dict(build_report(self.simulate()))


def compile(
    model: Any,
    target: str = "trn1",
    *,
    auto_cast: str = "matmult",
    auto_cast_type: str = "bf16",
    optlevel: int = 2,
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    io_config: str | Mapping[str, Any] | None = None,
    weights: Mapping[str, Array] | None = None,
    framework: str | None = None,
    signature: str | None = None,
    example_arguments: Sequence[Any] | None = None,
    load: Sequence[PathLike] = (),
    pass_after: Mapping[str, str] | None = None,
    cache_dir: PathLike | None = None,
) -> Executable:
    """Compile a model for a target.

    `model` is a path (HLO or StableHLO text, .onnx, a frozen graph, a SavedModel's folder), HLO or
    StableHLO text, what `jax.jit(f).lower(...)` or `jax.export.export(...)(...)` returns, an
    `onnx.ModelProto`, a `tensorflow.GraphDef`, or a JAX function with `example_arguments`, whose
    shapes and types it is compiled for (`neuronir.jax.jit` keeps the structure of its results;
    PyTorch has `neuronir.torch.trace`). `input_shapes` binds symbolic dimensions, `io_config` too
    (JSON text, a path, or the object itself), `weights` makes inputs constants, `signature` is that
    of a SavedModel. `load` are Python files with passes, dialects or targets, and
    `pass_after` the pipelines that also run after phases ({"hlo": "my-pass,hlo-dce"}). The result
    is looked up and kept in the compile cache, as by neuronx-cc: `cache_dir` is its folder or URL,
    "" for none. The other options are those of `neuronx-cc compile`. Raises a NeuronError that says
    what cannot be compiled.
    """
    from neuronir.cache_jobs import CacheUse, compile_job
    from neuronir.driver.compiler import read_module
    from neuronir.driver.job import Job
    from neuronir.driver.options import CompileOptions
    from neuronir.driver.pass_runner import RunFailure, as_error
    from neuronir.driver.user_passes import user_passes
    from neuronir.frontends.bindings import Bindings, merged, parse_io_config

    shapes = {k: tuple(v) for k, v in (input_shapes or {}).items()}
    bindings = Bindings(shapes, signature=signature)
    if io_config is not None:
        text = io_config if isinstance(io_config, str) else json.dumps(io_config)
        bindings = merged(bindings, parse_io_config(text))
    users = None
    if load or pass_after:
        after = [f"{phase}={passes}" for phase, passes in (pass_after or {}).items()]
        users = user_passes(after, [os.fspath(file) for file in load])
        phases = CompileOptions()
        users.check_phases(phases.compile_from, phases.compile_to, get_target(target), "auto")
    options = CompileOptions(
        auto_cast=auto_cast,
        auto_cast_type=auto_cast_type,
        optlevel=optlevel,
        weights=weights or {},
        bindings=bindings,
        framework=framework,
        user_passes=users,
    )
    if example_arguments is not None:
        model = lowered_text(model, example_arguments)
    elif is_lowered(model) or is_exported(model):
        model = text_of(model)
    place = None if cache_dir is None else os.fspath(cache_dir)
    get_target(target)  # report an unknown target before anything is read
    try:
        chunk = _chunk_of(model, framework)
        module, rest = read_module(chunk, target, options)
        made = compile_job(Job(module, chunk.name, target, rest), CacheUse(place))
    except RunFailure as failure:
        raise as_error(failure) from failure
    return Executable(made.program, made.encoding)


def _chunk_of(model: Any, framework: str | None) -> "Chunk":
    """Return a model as an input of the compiler (NIR_API002 if it is none)."""
    from neuronir.driver.module_input import Chunk, read_of_framework

    if getattr(getattr(model, "DESCRIPTOR", None), "full_name", "") == "tensorflow.GraphDef":
        from neuronir.frontends.tensorflow.saved import parse_model

        graph = parse_model(model.SerializeToString())
        return Chunk("", graph.name, "model", graph)
    if hasattr(model, "SerializeToString"):
        from neuronir.frontends.onnx.model import OnnxModel
        from neuronir.frontends.onnx.reader import parse_onnx

        onnx = OnnxModel(parse_onnx(model.SerializeToString()))
        return Chunk("", onnx.name, "model", onnx)
    if (kind := _kind_of_text(model)) is not None:
        return Chunk(model, "<input>", kind)
    if isinstance(model, (str, Path, os.PathLike)):
        return read_of_framework(os.fspath(model), framework)
    raise NeuronError(
        "NIR_API002",
        f"a model of type {type(model).__name__} cannot be compiled",
        help="pass a path, HLO or StableHLO text, what jax.jit(f).lower(...) or jax.export "
        "returns, an onnx.ModelProto or a tensorflow.GraphDef",
    )


def _kind_of_text(model: Any) -> str | None:
    """Return the kind of a text, or None if the model is something else, such as a path."""
    if not isinstance(model, str):
        return None
    if model.lstrip().startswith("HloModule"):
        return "hlo"
    return "stablehlo" if "\n" in model and is_stablehlo(model) else None


def load(path: PathLike) -> Executable:
    """Load a compiled model from a NEFF file."""
    return Executable(*program_of(load_neff(path), os.fspath(path)))


def load_bytes(data: bytes | memoryview, name: str) -> Executable:
    """Load a compiled model from the bytes of a NEFF, which messages call `name`."""
    return Executable(*program_of_bytes(data, name))

"""Compile a model, call the result with arrays, save it, and time it from Python."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Program, Variable
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.binary import is_stablehlo
from neuronir.frontends.jax_functions import is_exported, is_lowered, lowered_text, text_of
from neuronir.targets.encoding.encoding import Encoding
from neuronir.targets.neff.check import check_machine
from neuronir.targets.neff.reader import load_neff
from neuronir.targets.neff.writer import write_neff
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import TimingResult, simulate_timing
from neuronir.version import __version__

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
        machine = get_target(self.program.machine).machine
        given = self._given(arrays, named)
        taken = [np.asarray(given[v.index]) for v in self._variables("input")]
        outputs = run(self.program, taken, machine).outputs
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
        machine = get_target(self.program.machine).machine
        return simulate_timing(self.program, machine, record=record)

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
) -> Executable:
    """Compile a model for a target.

    `model` is a path (HLO or StableHLO text, .onnx, a frozen graph, a SavedModel's folder), HLO or
    StableHLO text, what `jax.jit(f).lower(...)` or `jax.export.export(...)(...)` returns, an
    `onnx.ModelProto`, a `tensorflow.GraphDef`, or a JAX function with `example_arguments`, whose
    shapes and types it is compiled for (`neuronir.jax.jit` keeps the structure of its results;
    PyTorch has `neuronir.torch.trace`). `input_shapes` binds symbolic dimensions, `io_config` too
    (JSON text, a path, or the object itself), `weights` makes inputs constants, `signature` is that
    of a SavedModel; the other options are those of `neuronx-cc compile`. Raises a NeuronError that
    says what cannot be compiled.
    """
    from neuronir.driver import CompileOptions
    from neuronir.driver.compiler import compile_file, compile_model, compile_text
    from neuronir.driver.pass_runner import RunFailure, as_error
    from neuronir.driver.result import CompiledResult
    from neuronir.frontends.bindings import Bindings, merged, parse_io_config

    shapes = {k: tuple(v) for k, v in (input_shapes or {}).items()}
    bindings = Bindings(shapes, signature=signature)
    if io_config is not None:
        text = io_config if isinstance(io_config, str) else json.dumps(io_config)
        bindings = merged(bindings, parse_io_config(text))
    options = CompileOptions(
        auto_cast=auto_cast,
        auto_cast_type=auto_cast_type,
        optlevel=optlevel,
        weights=weights or {},
        bindings=bindings,
        framework=framework,
    )
    if example_arguments is not None:
        model = lowered_text(model, example_arguments)
    elif is_lowered(model) or is_exported(model):
        model = text_of(model)
    result: CompiledResult
    try:
        if getattr(getattr(model, "DESCRIPTOR", None), "full_name", "") == "tensorflow.GraphDef":
            from neuronir.frontends.tensorflow.saved import parse_model

            result = compile_model(parse_model(model.SerializeToString()), target, options)
        elif hasattr(model, "SerializeToString"):
            from neuronir.frontends.onnx.model import OnnxModel
            from neuronir.frontends.onnx.reader import parse_onnx

            file = parse_onnx(model.SerializeToString())
            result = compile_model(OnnxModel(file), target, options)
        elif (kind := _kind_of_text(model)) is not None:
            result = compile_text(model, target, options, kind=kind)
        elif isinstance(model, (str, Path, os.PathLike)):
            result = compile_file(os.fspath(model), target, options)
        else:
            raise NeuronError(
                "NIR_API002",
                f"a model of type {type(model).__name__} cannot be compiled",
                help="pass a path, HLO or StableHLO text, what jax.jit(f).lower(...) or jax.export "
                "returns, an onnx.ModelProto or a tensorflow.GraphDef",
            )
    except RunFailure as failure:
        raise as_error(failure) from failure
    assert result.program is not None
    return Executable(result.program, result.encoding)


def _kind_of_text(model: Any) -> str | None:
    """Return the kind of a text, or None if the model is something else, such as a path."""
    if not isinstance(model, str):
        return None
    if model.lstrip().startswith("HloModule"):
        return "hlo"
    return "stablehlo" if "\n" in model and is_stablehlo(model) else None


def load(path: PathLike) -> Executable:
    """Load a compiled model from a NEFF file."""
    neff = load_neff(path)
    machine = get_target(neff.program.machine).machine
    check_machine(neff.program, machine, os.fspath(path))
    return Executable(neff.program, Encoding(neff.encoding, control_flow=neff.control_flow))

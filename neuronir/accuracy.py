"""Measure the time and the error of a model in each precision.

    for step in neuronir.accuracy.ladder("model.onnx", "inf1", inputs):
        print(step.options, step.time_us, step.max_error, step.mean_error)

The reference is the interpreter on the model as it was read, in fp32.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from neuronir.api import Executable
from neuronir.dialects.hlo.interpreter import entry_signature, interpret
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.driver.compiler import compile_file
from neuronir.driver.options import CompileOptions
from neuronir.driver.pass_runner import RunFailure, as_error
from neuronir.driver.phases import PHASES
from neuronir.driver.precision import Rung
from neuronir.driver.precision import ladder as rungs_of
from neuronir.driver.result import CompiledResult
from neuronir.driver.weights import parameter_names
from neuronir.frontends.graph.module import INPUT_NAMES
from neuronir.targets.registry import get_target

_SEED = 20
_INDICES = 8
"""Upper bound of random integers: most tables that they may index have at least as many rows."""


@dataclass(frozen=True)
class Step:
    """One precision of a model: its options, the simulated time in microseconds, and its errors.

    `max_error` and `mean_error` are the largest and the mean |result - reference|, relative to the
    largest |reference|, each for the worst result. `refused` says why the model cannot be compiled
    with these options; the other fields are then 0.
    """

    options: str
    time_us: float = 0.0
    max_error: float = 0.0
    mean_error: float = 0.0
    refused: str | None = None


def ladder(
    path: str,
    target: str,
    inputs: Mapping[str, Array] | None = None,
    options: CompileOptions | None = None,
) -> list[Step]:
    """Compile the model in a file in each documented precision, simulate it and compare.

    Precisions are ordered from the fastest to the most accurate. `inputs` are arrays by input name
    or as `argN`; if None, they are random and always the same. Raises NeuronError if the model or
    the inputs cannot be read.
    """
    options = replace(options or CompileOptions(), compile_to=PHASES[0], compile_from=PHASES[0])
    parsed = _compiled(path, target, options)
    arguments = _arguments(parsed, inputs)
    with np.errstate(all="ignore"):
        reference = interpret(parsed.module, arguments)
    rungs = rungs_of(get_target(target).machine)
    return [_step(path, target, options, rung, arguments, reference) for rung in rungs]


def _step(
    path: str,
    target: str,
    options: CompileOptions,
    rung: Rung,
    arguments: Sequence[Array],
    reference: Sequence[Array],
) -> Step:
    """Return one precision of the ladder."""
    chosen = replace(
        options,
        auto_cast=rung.precision.auto_cast,
        auto_cast_type=rung.precision.auto_cast_type,
        relayout=rung.precision.relayout,
        compile_to=PHASES[-1],
    )
    try:
        result = _compiled(path, target, chosen)
    except NeuronError as error:
        why = " ".join(line.strip() for line in error.message.splitlines()[:2])
        return Step(rung.options, refused=f"[{error.code}] {why}")
    assert result.program is not None
    executable = Executable(result.program, result.encoding)
    outputs = list(executable(*arguments).values())
    errors = [_errors(mine, wanted) for mine, wanted in zip(outputs, reference, strict=True)]
    time_us = executable.simulate().total_ns / 1e3
    worst = [max(column, default=0.0) for column in zip(*errors, strict=True)] or [0.0, 0.0]
    return Step(rung.options, time_us, worst[0], worst[1])


def _compiled(path: str, target: str, options: CompileOptions) -> CompiledResult:
    try:
        return compile_file(path, target, options)
    except RunFailure as failure:
        raise as_error(failure) from failure


def _errors(mine: Array, wanted: Array) -> tuple[float, float]:
    """Return the largest and the mean error of a result, relative to the largest |reference|.

    The result is infinite if only one of the two is not a number.
    """
    if not wanted.size:
        return 0.0, 0.0
    x, y = (np.asarray(a).astype(np.float64) for a in (mine, wanted))
    usual = np.isfinite(y)
    if not (np.isfinite(x) == usual).all():
        return float("inf"), float("inf")
    error = np.abs(x - y, where=usual, out=np.zeros_like(y))
    scale = float(np.abs(y, where=usual, out=np.zeros_like(y)).max()) or 1.0
    return float(error.max()) / scale, float(error.mean()) / scale


def _arguments(parsed: CompiledResult, inputs: Mapping[str, Array] | None) -> list[Array]:
    """Return the arguments of the entry function; raises NIR_API001 if one is missing."""
    signature = entry_signature(parsed.module)
    if inputs is None:
        rng = np.random.default_rng(_SEED)
        return [_random(rng, dims, dtype) for dims, dtype in signature]
    names = [[name] for name in parameter_names(parsed.module)]
    given = parsed.module.attributes.get(INPUT_NAMES)
    for known, text in zip(names, given if isinstance(given, ArrayAttr) else (), strict=False):
        if isinstance(text, StringAttr):
            known.append(text.data)
    out = []
    for number, (dims, dtype) in enumerate(signature):
        known = [f"arg{number}", *names[number]]
        found = next((name for name in known if name in inputs), None)
        if found is None:
            raise NeuronError("NIR_API001", f"input '{known[-1]}' ({known[0]}) is missing")
        array = np.asarray(inputs[found])
        if array.shape != dims:
            raise NeuronError(
                "NIR_API001", f"input '{found}' has shape {array.shape}, the model takes {dims}"
            )
        out.append(array.astype(dtype))
    return out


def _random(rng: np.random.Generator, dims: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """Return values whose products are of size 1: normal, over the square root of the summed
    length.
    """
    if dtype == np.bool_:
        return rng.integers(0, 2, dims).astype(np.bool_)
    if dtype.kind in "iu":
        return rng.integers(0, _INDICES, dims).astype(dtype)
    summed = max(1, int(np.prod(dims[:-1], dtype=np.int64)))
    return np.asarray(rng.standard_normal(dims) / np.sqrt(summed)).astype(dtype)

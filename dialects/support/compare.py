"""Compare the results of a program with reference outputs, and report differences.

An output passes when every element is within `atol + rtol * max|reference|` of the reference:
errors are scaled by the magnitude of the whole tensor, since a sum that cancels keeps the rounding
errors of its large terms. Integers and pred must be equal; NaN and infinities must match.
docs/numerics.md derives the default tolerances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import unpack

Array = NDArray[Any]

# Unit roundoff: half the distance between 1 and the next representable value.
UNIT_ROUNDOFF: dict[str, float] = {
    "fp32": 2.0**-24,
    "tf32": 2.0**-11,
    "fp16": 2.0**-11,
    "bf16": 2.0**-8,
    "fp8": 2.0**-4,
    "fp8_e4m3": 2.0**-4,
}
# The largest error of a tensor is about this many standard deviations (1e5 elements).
LARGEST_OF_MANY = 4.0
# Assumed for a program that is not available: the depth of the chain of dots, and their length.
ASSUMED_DOTS = 100
ASSUMED_LENGTH = 4096


def dot_variance(operand_roundoff: float, length: float, sum_roundoff: float) -> float:
    """Return the variance of a dot's relative error: two rounded operands, `length` rounded
    additions.
    """
    return (2.0 * operand_roundoff**2 + length * sum_roundoff**2) / 3.0


def default_tolerance(
    precision: str, dots: int = ASSUMED_DOTS, length: int = ASSUMED_LENGTH
) -> float:
    """Return the error, relative to the largest output, allowed after a chain of `dots` dots.

    Each dot sums `length` products.
    """
    roundoff = UNIT_ROUNDOFF.get(precision)
    if roundoff is None:
        raise NeuronError(
            "NIR_CMP001",
            f"precision {precision!r} is not known",
            help="supported: " + ", ".join(UNIT_ROUNDOFF),
        )
    operands = 0.0 if precision == "fp32" else roundoff
    variance = dots * dot_variance(operands, float(length), UNIT_ROUNDOFF["fp32"])
    return LARGEST_OF_MANY * float(np.sqrt(variance))


@dataclass(frozen=True)
class OutputReport:
    """The comparison of one output.

    `max_abs` is the largest absolute error, `max_rel` that over the largest |reference|, `norm_rel`
    the Euclidean norm of the error over the reference's; `tolerance` is the allowed absolute error;
    `mismatch` is the first index (row-major) that exceeds it, with the two values. If the rounding
    noise was measured, `noise_rel` is its norm over the reference's and `norm_allowed` bounds
    `norm_rel` (compare_noise.py).
    """

    index: int
    ok: bool
    compared: int
    max_abs: float = 0.0
    max_rel: float = 0.0
    norm_rel: float = 0.0
    tolerance: float = 0.0
    mismatch: tuple[int, ...] | None = None
    actual: str = ""
    expected: str = ""
    reason: str = ""
    noise_rel: float | None = None
    norm_allowed: float | None = None

    def render(self) -> str:
        """Format as one line, as programs print it."""
        state = "ok" if self.ok else "FAIL"
        text = (
            f"out{self.index}: {state}, {self.compared} values, max abs {self.max_abs:.3g}, "
            f"max rel {self.max_rel:.3g}, norm rel {self.norm_rel:.3g}, "
            f"allowed abs {self.tolerance:.3g}"
        )
        if self.norm_allowed is not None:
            text += f", norm {self.norm_allowed:.3g}"
        if self.noise_rel is not None:
            text += f" (rounding noise {self.noise_rel:.3g})"
        if self.mismatch is not None:
            text += f"; first at {list(self.mismatch)}: {self.actual}, expected {self.expected}"
        return f"{text}; {self.reason}" if self.reason else text


@dataclass(frozen=True)
class Report:
    """The comparison of all outputs."""

    outputs: tuple[OutputReport, ...]

    @property
    def ok(self) -> bool:
        """Return whether every output is within its tolerance."""
        return all(output.ok for output in self.outputs)

    def render(self) -> str:
        """Format one line for each output."""
        return "\n".join(output.render() for output in self.outputs)


def compare(
    results: Sequence[Array],
    reference: Mapping[str, Array],
    *,
    precision: str = "fp32",
    rtol: float | Sequence[float] | None = None,
    atol: float | Sequence[float] = 0.0,
) -> Report:
    """Compare results with out{i}, or with stat{i} and head{i}, of a reference file.

    `rtol` (relative to the largest |reference|) and `atol` may be given for each output. Without
    `rtol`, `default_tolerance` derives it from `precision`.
    """
    expected = _reference_count(reference)
    if expected == 0:
        raise NeuronError(
            "NIR_CMP002",
            "the reference file has no outputs",
            help="outputs are named out0, out1 ... (or stat0 and head0 ... for large ones)",
        )
    if len(results) != expected:
        reason = f"the program has {len(results)} outputs, the reference {expected}"
        return Report((OutputReport(min(len(results), expected), False, 0, reason=reason),))
    relative = default_tolerance(precision) if rtol is None else rtol
    outputs = []
    for i, result in enumerate(results):
        one_rtol = relative[i] if isinstance(relative, Sequence) else relative
        one_atol = atol[i] if isinstance(atol, Sequence) else atol
        outputs.append(_compare_output(i, np.asarray(result), reference, one_rtol, one_atol))
    return Report(tuple(outputs))


def compare_arrays(
    results: Sequence[Array],
    expected: Sequence[Array],
    *,
    precision: str = "fp32",
    rtol: float | Sequence[float] | None = None,
    atol: float | Sequence[float] = 0.0,
) -> Report:
    """Compare with in-memory arrays instead of a reference file."""
    reference = {f"out{i}": array for i, array in enumerate(expected)}
    return compare(results, reference, precision=precision, rtol=rtol, atol=atol)


def _reference_count(reference: Mapping[str, Array]) -> int:
    count = 0
    while f"out{count}" in reference or f"head{count}" in reference:
        count += 1
    return count


def _compare_output(
    index: int, result: Array, reference: Mapping[str, Array], rtol: float, atol: float
) -> OutputReport:
    if f"out{index}" in reference:
        expected = unpack(reference, f"out{index}")
        if result.shape != expected.shape or result.dtype != expected.dtype:
            reason = (
                f"is {result.dtype.name}{list(result.shape)}, "
                f"the reference {expected.dtype.name}{list(expected.shape)}"
            )
            return OutputReport(index, False, 0, reason=reason)
        return _compare_values(index, result, expected, rtol, atol)
    head = unpack(reference, f"head{index}")
    flat = result.reshape(-1)[: head.size]
    if flat.size != head.size or result.dtype != head.dtype:
        reason = (
            f"is {result.dtype.name} of {result.size} elements, the reference's head {head.size}"
        )
        return OutputReport(index, False, 0, reason=reason)
    stat = reference.get(f"stat{index}")
    scale = float(stat[2]) if stat is not None else None
    report = _compare_values(index, flat, head.reshape(-1), rtol, atol, scale)
    if report.ok and stat is not None:
        wide = result.astype(np.float64)
        found = (float(wide.mean()), float(wide.std()), float(np.abs(wide).max()))
        for name, value, wanted in zip(("mean", "std", "max |x|"), found, stat, strict=True):
            if not abs(value - float(wanted)) <= report.tolerance:
                reason = f"{name} is {value:.6g}, the reference's {float(wanted):.6g}"
                return OutputReport(index, False, report.compared, reason=reason)
    return report


def reference_values(reference: Mapping[str, Array], index: int) -> Array:
    """Return the reference data of an output: out{i} as a whole, or the elements of head{i}."""
    name = f"out{index}" if f"out{index}" in reference else f"head{index}"
    return unpack(reference, name)


def step_of(dtype: np.dtype[Any]) -> float:
    """Return the machine epsilon of a floating (or complex) type; 0 for others."""
    return 0.0 if _is_exact(dtype) else float(ml_dtypes.finfo(dtype).eps)


def deviations(left: Array, right: Array) -> NDArray[np.float64]:
    """Return |left - right| of each element in float64; 0 where they are the same NaN or
    infinity.
    """
    wide, other = _wide(left), _wide(right)
    with np.errstate(all="ignore"):
        same = (wide == other) | (np.isnan(wide) & np.isnan(other))
        return np.asarray(np.where(same, 0.0, np.abs(wide - other)), np.float64)


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _is_exact(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biu" or dtype.name in ("int4", "uint4", "int2", "uint2")


def _compare_values(
    index: int,
    result: Array,
    expected: Array,
    rtol: float,
    atol: float,
    scale: float | None = None,
) -> OutputReport:
    if result.size == 0:
        return OutputReport(index, True, 0)
    if _is_exact(expected.dtype):
        wrong = np.asarray(result != expected)
        with np.errstate(all="ignore"):
            error = np.abs(_wide(result) - _wide(expected))
        tolerance, values = 0.0, _wide(expected)
    else:
        values = _wide(expected)
        error = deviations(result, expected)
        finite = np.abs(values[np.isfinite(values)])
        if scale is None:
            scale = float(finite.max()) if finite.size else 0.0
        tolerance = atol + rtol * scale
        # An output of a narrow type may always be off by one step of that type.
        tolerance = max(tolerance, step_of(expected.real.dtype) * scale)
        # Written so that NaN (a NaN on one side only) counts as a mismatch.
        wrong = ~(error <= tolerance)
    largest = float(np.max(np.where(np.isfinite(values), np.abs(values), 0.0)))
    max_abs = float(error.max())
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(np.where(np.isfinite(values), values, 0.0)))
        norm_rel = float(np.linalg.norm(error)) / norm if norm else max_abs
    first: tuple[int, ...] | None = None
    actual = wanted = ""
    if wrong.any():
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        actual, wanted = str(result[first]), str(expected[first])
    return OutputReport(
        index,
        first is None,
        int(result.size),
        max_abs,
        max_abs / largest if largest else max_abs,
        norm_rel,
        tolerance,
        first,
        actual,
        wanted,
    )

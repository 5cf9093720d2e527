"""Measure how rounding errors affect a program by running it with perturbed results.

Every floating-point result is multiplied by 1 + u x, where x is uniform in [-1, 1] and u is the
unit roundoff. The operands of a product are perturbed too, with the roundoff of the type to which
they are cast. The outputs then differ by about as much as those of two correct executions, even
where sums cancel. An analysis that ignores the values cannot see this.
"""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.interpreter_bounds import (
    TRIGONOMETRIC_ERROR,
    TRIGONOMETRIC_RANGE,
    roundoff,
    terms_of,
)
from neuronir.dialects.hlo.semantics.execution import observing
from neuronir.dialects.hlo.semantics.numeric import NARROW_FLOATS, Value, is_float, widen
from neuronir.dialects.hlo.semantics.regions import combiner_kind
from neuronir.dialects.hlo.shape_rules import element_of
from neuronir.dialects.support.compare import UNIT_ROUNDOFF, default_tolerance
from neuronir.dialects.support.dtypes import is_tf32

Array = NDArray[Any]

# Ops that return operand values exactly, or whose results are not rounded.
_EXACT = frozenset(
    f"hlo.{name}"
    for name in (
        "abs bitcast bitcast_convert broadcast ceil clamp compare complex concatenate conditional "
        "constant copy dynamic_slice dynamic_update_slice fusion call composite gather imag iota "
        "floor get_tuple_element maximum minimum negate optimization_barrier pad real reshape "
        "reverse round_nearest_afz round_nearest_even sign "
        "select slice sort topk transpose tuple while rng rng_bit_generator add_dependency "
        "all_gather all_reduce all_to_all collective_broadcast collective_permute reduce_scatter "
        "partition_id replica_id"
    ).split()
)
# Combiners that return one of their operands.
_CHOICES = frozenset(("maximum", "minimum", "second"))
_REDUCTIONS = frozenset(("hlo.reduce", "hlo.reduce_window", "hlo.scatter"))
# Finite values from here on (1e30, the largest f32, ...) represent infinity.
_MASK = 2.0**64
_ANGLES = frozenset(("hlo.sine", "hlo.cosine", "hlo.tan"))
_PRODUCTS = frozenset(("hlo.dot", "hlo.convolution"))
# The largest deviation of a few runs, times this factor, covers the runs that were not made.
SAFETY = 8.0
# Two orders of a sum of K terms differ by about sqrt(K) roundoffs. This is assumed of every result
# (K = 256), because several ops may be computed at once.
_REORDERED = 16.0


def noise(
    module: ModuleOp,
    args: Sequence[Array],
    precision: str = "fp32",
    *,
    runs: int = 2,
    seed: int = 0,
    entry: str = "main",
) -> list[float]:
    """Return, for each flat output, an absolute bound on the change that rounding can cause.

    The bound is infinite if a perturbed run returned NaN or infinity instead of a finite value.
    """
    default_tolerance(precision)  # raises an error for an unknown precision
    plain = interpret(module, args, entry)
    worst = [0.0] * len(plain)
    for run in range(runs):
        perturb = _Perturbation(np.random.default_rng([seed, run]), precision)
        with observing(perturb, perturb.operand):
            results = interpret(module, args, entry)
        for i, (result, exact) in enumerate(zip(results, plain, strict=True)):
            worst[i] = max(worst[i], _deviation(result, exact))
    return [SAFETY * deviation for deviation in worst]


def reordered(
    module: ModuleOp, args: Sequence[Array], *, runs: int = 4, entry: str = "main"
) -> list[list[Array]]:
    """Return the outputs of runs whose fp32 results differ like those of another summation order.

    A sum of K terms is off by up to sqrt(K) roundoffs, any result by up to 16.
    Conversions to a narrow type round the perturbed values, as another execution of the same module
    would: most results keep their bits, and some move by one step. Arithmetic declared in a narrow
    type is perturbed by the roundoff of that type, because a compiler may compute it in fp32.
    """
    found = []
    for run in range(runs):
        perturb = _Perturbation(np.random.default_rng([1, run]), "fp32", _REORDERED)
        with observing(perturb.but_conversions, perturb.tangent):
            found.append(interpret(module, args, entry))
    return found


def _deviation(result: Array, exact: Array) -> float:
    if exact.size == 0:
        return 0.0
    kind = np.complex128 if exact.dtype.kind == "c" else np.float64
    left, right = result.astype(kind), exact.astype(kind)
    with np.errstate(all="ignore"):
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        largest = float(np.max(np.where(same, 0.0, np.abs(left - right))))
    return largest if np.isfinite(largest) else float("inf")


def _whole(value: Array) -> NDArray[np.bool_]:
    """Return where the values are small and whole: counts and flags, computed without error.

    A real value is whole by chance about once in 2**12 times (f32).
    """
    wide = widen(value)
    most = 2.0 ** (int(ml_dtypes.finfo(value.dtype).nmant) // 2)
    found: NDArray[np.bool_] = (np.abs(wide) < most) & (wide == np.round(wide))
    return found


class _Perturbation:
    """Perturb each rounded result by up to its roundoff, and the operands of products.

    Operands are perturbed by the roundoff of the type to which they are cast. All users of an
    operand see the same perturbed value.
    """

    def __init__(self, rng: np.random.Generator, precision: str, times: float = 1.0) -> None:
        self._rng = rng
        self._times = times  # error of a result, in fp32 roundoffs; 1: of rounding only
        self._cast = UNIT_ROUNDOFF[precision]
        self._exact_whole = precision == "fp32"

    def operand(self, op: Operation, value: Value) -> Value:
        """Perturb the operands of a product, or of sine, cosine and tangent.

        A product reads operands that are cast. In fp32, the perturbation models the rounding of the
        sum, which matters if the terms cancel; products of small whole values are exact. Sine,
        cosine and tangent return the value of some angle if the operand exceeds their range.
        """
        if isinstance(value, tuple) or op.name in _ANGLES:
            return self.angle(op, value)
        if op.name not in _PRODUCTS:
            return value
        if not is_float(value.dtype) or value.dtype in NARROW_FLOATS:
            return value
        changed = np.asarray(value * (1.0 + self._uniform(value.shape) * self._cast))
        changed = changed.astype(value.dtype)
        return np.where(_whole(value), value, changed) if self._exact_whole else changed

    def angle(self, op: Operation, value: Value) -> Value:
        """Return any angle for an operand of sine, cosine or tangent beyond their range."""
        if isinstance(value, tuple) or op.name not in _ANGLES or not is_float(value.dtype):
            return value
        beyond = np.isfinite(value) & (np.abs(widen(value)) > TRIGONOMETRIC_RANGE)
        any_angle = self._uniform(value.shape) * np.float32(np.pi)
        return np.where(beyond, any_angle.astype(value.dtype), value)

    def tangent(self, op: Operation, value: Value) -> Value:
        """Do the same, and change the operand of a tangent by what its angle may be off."""
        value = self.angle(op, value)
        if isinstance(value, tuple) or op.name != "hlo.tan" or not is_float(value.dtype):
            return value
        off = self._uniform(value.shape) * np.float32(TRIGONOMETRIC_ERROR)
        return np.asarray(widen(value) + off).astype(value.dtype)

    def __call__(self, op: Operation, value: Value) -> Value:
        if isinstance(value, tuple) or op.name in _EXACT:
            return value
        if not (is_float(value.dtype) or value.dtype.kind == "c"):
            return value
        if op.name in _REDUCTIONS and combiner_kind(op.regions[0].block) in _CHOICES:
            return value
        narrow = value.dtype in NARROW_FLOATS or is_tf32(element_of(op.results[0].type))
        if op.name == "hlo.convert" and not narrow:
            return value
        unit = roundoff(op.results[0].type)
        if not narrow:
            unit *= self._errors(op)
        if op.name in _PRODUCTS:
            # Relative to the largest element: a small element may be a sum that cancels.
            size = float(np.max(np.abs(widen(value)), initial=0.0))
            changed: Array = widen(value) + self._uniform(value.shape) * np.float32(
                unit * 2.0 * size
            )
        else:
            changed = widen(value) * (np.float32(1.0) + self._uniform(value.shape) * unit)
        rounded = np.asarray(changed).astype(value.dtype)
        wide = widen(value)
        # Huge values are masks: they absorb what is added, to the same value in any order.
        limit = min(_MASK, float(ml_dtypes.finfo(value.dtype).max) / 4.0)
        kept = ~(np.abs(wide) < limit)
        return np.where(kept | _whole(value), value, rounded)

    def _errors(self, op: Operation) -> float:
        """Return the largest error of an fp32 result in roundoffs."""
        return max(self._times, terms_of(op) ** 0.5) if self._times > 1.0 else 1.0

    def but_conversions(self, op: Operation, value: Value) -> Value:
        """Perturb a result as `__call__` does, except that of a conversion."""
        return value if op.name == "hlo.convert" else self(op, value)

    def _uniform(self, shape: tuple[int, ...]) -> Array:
        return self._rng.random(shape, dtype=np.float32) * np.float32(2.0) - np.float32(1.0)

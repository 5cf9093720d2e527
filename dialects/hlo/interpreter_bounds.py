"""Bound how far two correct executions of a program may differ, from the program alone.

Each operation adds an independent rounding error; along a chain the variances add. Each value
carries the largest variance over all chains that lead to it, relative to its magnitude. This bound
ignores conditioning (sums that cancel), which `interpreter_noise` covers. docs/numerics.md has the
derivation.
"""

import math
from collections.abc import Sequence

import ml_dtypes
from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.flops import products_of
from neuronir.dialects.hlo.interpreter import entry_function
from neuronir.dialects.hlo.semantics.numeric import is_complex, is_float
from neuronir.dialects.hlo.semantics.regions import nested_blocks
from neuronir.dialects.hlo.semantics.registry import index_list, integer, shape_and_dtype
from neuronir.dialects.support.compare import (
    LARGEST_OF_MANY,
    UNIT_ROUNDOFF,
    default_tolerance,
    dot_variance,
)
from neuronir.dialects.support.dtypes import is_tf32

TRIGONOMETRIC_RANGE = 2.0**20
"""The largest magnitude of an argument for which sine, cosine and tan must be correct. Beyond it,
the value of any angle is accepted (docs/numerics.md).
"""

TRIGONOMETRIC_ERROR = 2.0**-21
"""The largest error of sine and cosine, and of the angle of tan, for arguments in that range."""

# Both sides are assumed to compute library functions within this many units in the last place.
_FUNCTION_ULPS = 4.0
_FUNCTIONS = frozenset(
    f"hlo.{name}"
    for name in (
        "acos acosh asin asinh atan2 atanh cbrt cosh cosine erf exponential exponential_minus_one "
        "log log_plus_one logistic power rsqrt sine sinh sqrt tan tanh fft cholesky "
        "triangular_solve batch_norm_training batch_norm_inference batch_norm_grad custom_call"
    ).split()
)
_ARITHMETIC = frozenset(f"hlo.{name}" for name in "add subtract multiply divide remainder".split())
_PRODUCTS = frozenset(("hlo.dot", "hlo.convolution"))
_SUMS = frozenset(("hlo.reduce", "hlo.reduce_window", "hlo.scatter", "hlo.select_and_scatter"))
# The trip count assumed for a loop whose trip count is unknown.
ASSUMED_TRIPS = 100


def bounds(module: ModuleOp, precision: str = "fp32", entry: str = "main") -> list[float]:
    """Return, for each flat output, the error relative to the largest |output| that rounding
    explains.

    `precision` is the type to which dots and convolutions round their operands.
    """
    default_tolerance(precision)  # raises an error for an unknown precision
    block = entry_function(module, entry).body.block
    analysis = _Analysis(0.0 if precision == "fp32" else UNIT_ROUNDOFF[precision])
    analysis.run(block, [0.0] * len(block.args))
    terminator = block.last_op
    assert terminator is not None
    variances = [v for operand in terminator.operands for v in analysis.leaves(operand)]
    return [LARGEST_OF_MANY * math.sqrt(variance) for variance in variances]


def _leaf_count(type_: Attribute) -> int:
    if isinstance(type_, TupleType):
        return sum(_leaf_count(part) for part in type_.types.data)
    return 1


def roundoff(type_: Attribute) -> float:
    """Return the unit roundoff of a float or complex tensor type; 0 for other types."""
    if isinstance(type_, TupleType):
        return max((roundoff(part) for part in type_.types.data), default=0.0)
    if not isinstance(type_, TensorType):
        return 0.0
    if is_tf32(type_.element_type):
        return UNIT_ROUNDOFF["tf32"]
    dtype = shape_and_dtype(type_)[1]
    if is_float(dtype) or is_complex(dtype):
        return float(ml_dtypes.finfo(dtype).eps) / 2.0
    return 0.0


class _Analysis:
    """The variances of the values of blocks, computed in execution order."""

    def __init__(self, operand_roundoff: float) -> None:
        self._operand_roundoff = operand_roundoff
        self._variance: dict[SSAValue, float] = {}

    def run(self, block: Block, arguments: Sequence[float]) -> float:
        """Return the largest variance among the values that the block returns."""
        self._variance.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if not op.results:
                return max((self._variance[v] for v in op.operands), default=0.0)
            variance = self._of(op)
            for result in op.results:
                self._variance[result] = variance
        return 0.0

    def leaves(self, value: SSAValue) -> list[float]:
        """Return the variance of each leaf of a value, or one variance if it is no explicit
        tuple.
        """
        if isinstance(value, OpResult) and value.op.name == "hlo.tuple":
            return [v for operand in value.op.operands for v in self.leaves(operand)]
        return [self._variance[value]] * _leaf_count(value.type)

    def _of(self, op: Operation) -> float:
        inputs = [self._variance[operand] for operand in op.operands]
        if op.name in ("hlo.call", "hlo.fusion", "hlo.composite"):
            (block,) = nested_blocks(op)
            return self.run(block, inputs)
        if op.name == "hlo.while":
            trips = integer(op, "trip_count", ASSUMED_TRIPS)
            return inputs[0] + trips * self.run(op.regions[1].block, [0.0])
        if op.name == "hlo.conditional":
            branches = zip(op.regions, inputs[1:], strict=True)
            return max(self.run(region.block, [v]) for region, v in branches)
        return max(inputs, default=0.0) + self._own(op)

    def _own(self, op: Operation) -> float:
        """Return the variance that one op adds."""
        unit = roundoff(op.results[0].type)
        if unit == 0.0:
            return 0.0
        sums = min(unit, UNIT_ROUNDOFF["fp32"])
        # Both executions round the result; a convert rounds only if it narrows the type.
        own = 2.0 * unit**2 / 3.0
        if op.name in _PRODUCTS:
            return own + dot_variance(self._operand_roundoff, float(terms_of(op)), sums)
        if op.name in _FUNCTIONS:
            return own + 2.0 * (_FUNCTION_ULPS * sums) ** 2
        if op.name in _SUMS:
            return own + terms_of(op) * sums**2 / 3.0
        narrows = op.name == "hlo.convert" and unit > roundoff(op.operands[0].type)
        return own if op.name in _ARITHMETIC or narrows else 0.0


def terms_of(op: Operation) -> int:
    """Return the largest number of terms that a product or a reduction sums to one element; 1 for
    other ops.
    """
    if op.name in _PRODUCTS:
        return products_of(op)
    if op.name not in _SUMS:
        return 1
    if op.name == "hlo.reduce":
        shape, _ = shape_and_dtype(op.operands[0].type)
        return math.prod(shape[i] for i in index_list(op, "dimensions"))
    if op.name == "hlo.scatter":
        return shape_and_dtype(op.operands[-1].type)[0][0] if _has_rank(op.operands[-1]) else 1
    return math.prod(index_list(op, "window_dimensions"))


def _has_rank(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and len(value.type.get_shape()) > 0

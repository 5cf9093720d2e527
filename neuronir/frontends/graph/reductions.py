"""Build reductions, argmin and argmax, and running sums."""

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import broadcast_to
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import binary_region
from neuronir.passes.hlo.support.values import element, shape


def dims_from(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Normalise axes, perhaps counted from the end, to sorted dimension numbers (NIR_IMP001)."""
    found = {axis_from(axis, rank) for axis in axes}
    if len(found) != len(axes):
        refuse(f"axes {list(axes)} name a dimension twice")
    return tuple(sorted(found))


def axis_from(axis: int, rank: int) -> int:
    """Normalise an axis, perhaps counted from the end, to a dimension number (NIR_IMP001)."""
    if not -rank <= axis < rank:
        refuse(f"axis {axis} is not a dimension of a tensor of rank {rank}")
    return axis % rank


def reduce(
    b: BlockBuilder, value: SSAValue, opcode: str, dims: Sequence[int], *, keep: bool = False
) -> SSAValue:
    """Reduce dimensions with a binary opcode (add, maximum, and, ...) from its identity element.

    Sums and products of 16-bit floats accumulate in their own type here; `total` widens them.
    """
    neutral = neutral_element(opcode, element(value))
    if neutral is None:
        refuse(f"{opcode} has no neutral element of type {element(value)}")
    result = b.reduce(value, neutral, dims, opcode)
    return kept(b, result, shape(value), dims) if keep else result


def kept(b: BlockBuilder, value: SSAValue, dims: Sequence[int], reduced: Sequence[int]) -> SSAValue:
    """Restore the reduced dimensions of a reduction's result with size 1."""
    return b.reshape(value, [1 if d in set(reduced) else n for d, n in enumerate(dims)])


def wide(b: BlockBuilder, value: SSAValue) -> SSAValue:
    """Convert narrow floats to f32, in which statistics are computed."""
    type_ = element(value)
    return b.convert(value, f32) if is_float(type_) and byte_size(type_) < 4 else value


def total(b: BlockBuilder, value: SSAValue, dims: Sequence[int], *, keep: bool = False) -> SSAValue:
    """Compute the sum over dimensions."""
    return reduce(b, value, "add", dims, keep=keep)


def count_of(value: SSAValue, dims: Sequence[int]) -> int:
    """Return how many elements are reduced to one result."""
    count = 1
    for d in dims:
        count *= shape(value)[d]
    return count


def mean(b: BlockBuilder, value: SSAValue, dims: Sequence[int], *, keep: bool = False) -> SSAValue:
    """Compute the mean over dimensions; integer means are rounded towards zero."""
    result = total(b, value, dims, keep=keep)
    return b.binary_number("divide", result, count_of(value, dims))


def sum_square(
    b: BlockBuilder, value: SSAValue, dims: Sequence[int], *, keep: bool = False
) -> SSAValue:
    """Compute the sum of squares."""
    return total(b, b.binary("multiply", value, value), dims, keep=keep)


def log_sum_exp(
    b: BlockBuilder, value: SSAValue, dims: Sequence[int], *, keep: bool = False
) -> SSAValue:
    """Compute log(sum(exp(value))), shifted by the maximum so that nothing overflows."""
    peak = reduce(b, value, "maximum", dims, keep=True)
    # If all elements are -inf (or there are none) the shift must be finite: -inf - -inf is NaN.
    finite = b.compare(b.unary("abs", peak), b.fill_like(float("inf"), peak), "LT")
    shift = b.select(finite, peak, b.fill_like(0, peak))
    shifted = b.binary("subtract", value, broadcast_to(b, shift, shape(value)))
    result = b.unary("log", total(b, b.unary("exponential", shifted), dims, keep=True))
    result = b.binary("add", result, shift)
    return result if keep else b.reshape(result, _without(shape(value), dims))


def variance(
    b: BlockBuilder, value: SSAValue, dims: Sequence[int], *, keep: bool = False
) -> SSAValue:
    """Compute the mean of squared differences from the mean."""
    centre = broadcast_to(b, mean(b, value, dims, keep=True), shape(value))
    difference = b.binary("subtract", value, centre)
    return mean(b, b.binary("multiply", difference, difference), dims, keep=keep)


def extreme_index(
    b: BlockBuilder,
    value: SSAValue,
    dim: int,
    index_type: Attribute,
    *,
    largest: bool = True,
    last: bool = False,
    keep: bool = False,
) -> SSAValue:
    """Return the index of the first (or last) largest (or smallest) element along a dimension.

    NaN counts as the extreme, as in numpy.
    """
    best = reduce(b, value, "maximum" if largest else "minimum", [dim], keep=True)
    found = b.compare(value, broadcast_to(b, best, shape(value)), "EQ")
    if is_float(element(value)):
        found = b.binary("or", found, b.compare(value, value, "NE"))
    places = b.iota(shape(value), dim, index_type)
    other = -1 if last else shape(value)[dim]
    candidates = b.select(found, places, b.fill_like(other, places))
    return reduce(b, candidates, "maximum" if last else "minimum", [dim], keep=keep)


def cumulative(
    b: BlockBuilder,
    value: SSAValue,
    opcode: str,
    dim: int,
    *,
    exclusive: bool = False,
    reverse: bool = False,
) -> SSAValue:
    """Compute the running sum (or product, maximum, ...) along a dimension.

    `reverse` starts at the end. With `exclusive`, an element is not included in its own result.
    """
    dims = shape(value)
    rank, size = len(dims), dims[dim]
    neutral = neutral_element(opcode, element(value))
    if neutral is None:
        refuse(f"{opcode} has no neutral element of type {element(value)}")
    if size == 0:
        return value
    start = b.scalar(neutral, element(value))
    if exclusive:
        low, high = [0] * rank, [0] * rank
        low[dim], high[dim] = (-1, 1) if reverse else (1, -1)
        value = b.pad(value, start, low, high)
    window, padding = [1] * rank, [0] * (2 * rank)
    window[dim] = size
    padding[2 * dim + (1 if reverse else 0)] = size - 1
    region = binary_region(opcode, element(value))
    return b.op("reduce_window", [value, start], [region], **window_properties(window, padding))


def window_properties(
    window: Sequence[int],
    padding: Sequence[int],
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
) -> dict[str, Attribute]:
    """Return the properties of a reduce_window: lists with one entry per dimension, padding with
    two.
    """
    ones = [1] * len(window)
    return {
        "window_dimensions": i64_array(window),
        "window_strides": i64_array(strides or ones),
        "base_dilations": i64_array(ones),
        "window_dilations": i64_array(dilations or ones),
        "padding": i64_array(padding),
    }


def _without(dims: Sequence[int], reduced: Sequence[int]) -> list[int]:
    return [n for d, n in enumerate(dims) if d not in set(reduced)]

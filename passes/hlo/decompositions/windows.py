"""Decompose cumulative reduce_window by doubling, and select_and_scatter by comparing taps."""

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.decompositions.pieces import pieces_of, running_in_pieces
from neuronir.passes.hlo.decompositions.running import running_by_region, running_in_digits
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter, binary_region, reducer_opcode
from neuronir.passes.hlo.support.values import (
    element,
    ints,
    is_splat_of,
    shape,
    splat,
    string,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule

LARGEST_WINDOW = 64
"""Gradients of pooling windows with more taps, in all dimensions, are not decomposed."""


def reduce_window(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute a running sum (or max, ...) in log2(n) steps; step k combines elements 2^k apart.

    Other windows (pooling) are unchanged, except that a computed initial value is combined last.
    """
    direction = cumulative(op)
    opcode = reducer_opcode(op)
    if opcode is not None and len(op.operands) == 2 and splat(op.operands[1]) is None:
        return _from_neutral(op, opcode, e)
    if direction is None:
        return None
    axis, backwards = direction
    if opcode is None:
        return running_by_region(op, axis, backwards, e)
    x = op.operands[0]
    neutral = neutral_element(opcode, element(x))
    if neutral is None or not is_splat_of(op.operands[1], neutral):
        return None
    # Narrow floats accumulate in f32.
    narrow = is_float(element(x)) and byte_size(element(x)) < 4
    folded = running_in_pieces(x, axis, opcode, neutral, backwards, e)
    if folded is not None:
        return folded
    x = e.convert(x, f32) if narrow else x
    start = e.scalar(neutral, element(x))
    n, step, rank = shape(x)[axis], 1, len(shape(x))
    while step < n:
        low, high = [0] * rank, [0] * rank
        low[axis], high[axis] = (-step, step) if backwards else (step, -step)
        x = e.binary(opcode, x, e.pad(x, start, low, high))
        step *= 2
    return e.convert(x, element(op.results[0]))


def _from_neutral(op: Operation, opcode: str, e: Emitter) -> SSAValue | None:
    """Combine windows that begin with the neutral element with the initial value.

    Narrow floats are rounded once, after both.
    """
    x, start = op.operands
    kind = element(x)
    neutral = neutral_element(opcode, kind)
    if neutral is None:
        return None
    if opcode == "add" and is_float(kind):
        neutral = -0.0  # 0 would change a sum of -0
    wide = f32 if is_float(kind) and byte_size(kind) < byte_size(f32) else kind
    dims = shape(op.results[0])
    windows = e.emit(
        "reduce_window",
        [e.convert(x, wide), e.scalar(neutral, wide)],
        tensor(dims, wide),
        op.properties,
        [binary_region(opcode, wide)],
    )
    first = e.broadcast(e.convert(start, wide), dims, ())
    return e.convert(e.binary(opcode, first, windows), kind)


def without_scans(op: Operation, e: Emitter) -> SSAValue | None:
    """Decompose a reduce_window, except for running reductions of floats that the target computes
    directly. Running sums of integers are those of their digits.
    """
    direction = cumulative(op)
    computed = splat(op.operands[-1]) is None
    if direction is None or computed or reducer_opcode(op) not in _SCANS:
        return reduce_window(op, e)
    if reducer_opcode(op) == "add" and is_splat_of(op.operands[1], 0):
        total = running_in_digits(op.operands[0], *direction, e)
        if total is not None:
            return total
    if pieces_of(shape(op.operands[0]), direction[0]) is not None:
        return reduce_window(op, e)
    kind, n = element(op.operands[0]), shape(op.operands[0])[direction[0]]
    if not is_float(kind) or byte_size(kind) < 2 or not _SHORTEST <= n <= _LONGEST:
        return reduce_window(op, e)
    return None


_SCANS = ("add", "multiply", "maximum", "minimum")
_SHORTEST, _LONGEST = 32, 16_384
"""Minimum elements of a recurrence: fewer need few steps; and the limit of a row in SBUF."""


def cumulative(op: Operation) -> tuple[int, bool] | None:
    """Return (dimension, from the end) of a window that covers everything up to each position."""
    if len(op.operands) != 2 or shape(op.operands[0]) != shape(op.results[0]):
        return None
    if any(n != 1 for name in _UNIT for n in ints(op, name)):
        return None
    window, padding, dims = (
        ints(op, "window_dimensions"),
        ints(op, "padding"),
        shape(op.operands[0]),
    )
    wide = [d for d, n in enumerate(window) if n != 1]
    if len(wide) != 1:
        return None
    (axis,) = wide
    pairs = [(padding[2 * d], padding[2 * d + 1]) for d in range(len(dims))]
    n = dims[axis]
    if window[axis] != n or any(p != (0, 0) for d, p in enumerate(pairs) if d != axis):
        return None
    return {(n - 1, 0): (axis, False), (0, n - 1): (axis, True)}.get(pairs[axis])


_UNIT = ("window_strides", "base_dilations", "window_dilations")


def _selector(op: Operation) -> str | None:
    """Return the direction of a select region that compares its two arguments."""
    block = op.regions[0].blocks.first
    compare = None if block is None else block.first_op
    if block is None or compare is None or compare.name != "hlo.compare":
        return None
    if compare.next_op is not block.last_op or list(compare.operands) != list(block.args):
        return None
    direction = string(compare, "direction")
    return direction if direction in ("GE", "GT", "LE", "LT") else None


def select_and_scatter(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute the gradient of max (or min) pooling, one dimension of the window after the other.

    The taps of one dimension are strided slices. Comparing them in order gives the value and the
    number of the selected tap, and the values are the operand of the next dimension. From the last
    dimension back, each tap takes the source where it was selected; the taps are scattered back
    with interior padding and added. A window of 8 x 8 has 16 taps, not 64. The selected element is
    that of a comparison in row-major order: the first of equal elements is in the first row that
    has the best value.
    """
    operand, source, init = op.operands
    direction = _selector(op)
    window, strides = ints(op, "window_dimensions"), ints(op, "window_strides")
    if direction is None or reducer_opcode(op, 1) != "add" or not is_splat_of(init, 0):
        return None
    axes = [d for d, sizes in enumerate(zip(window, strides, strict=True)) if sizes != (1, 1)]
    if sum(window[d] for d in axes) > LARGEST_WINDOW:
        return None
    padding = ints(op, "padding") or (0,) * (2 * len(window))
    low, high = padding[0::2], padding[1::2]
    worst = neutral_element("maximum" if direction[0] == "G" else "minimum", element(operand))
    if worst is None:
        return None
    value = e.pad(operand, e.scalar(worst, element(operand)), low, high)
    made, chosen = shape(source), []
    for axis in reversed(axes):
        taps = _Taps(axis, window[axis], strides[axis], made[axis], shape(value))
        value, number = _choose(value, taps, direction, e)
        chosen.append((taps, number))
    total = source
    for taps, number in reversed(chosen):
        total = _put_back(total, taps, number, init, e)
    limits = [a + n for a, n in zip(low, shape(operand), strict=True)]
    return e.slice(total, low, limits)


@dataclass(frozen=True)
class _Taps:
    """The taps of windows along one dimension of an array of `dims`: `made` windows of `size`."""

    axis: int
    size: int
    stride: int
    made: int
    dims: tuple[int, ...]


def _choose(value: SSAValue, taps: _Taps, direction: str, e: Emitter) -> tuple[SSAValue, SSAValue]:
    """Return the element of each window that the select region prefers, and its tap's number."""
    best, chosen = None, None
    start, strides = [0] * len(taps.dims), [1] * len(taps.dims)
    strides[taps.axis] = taps.stride
    limits = list(taps.dims)
    for number in range(taps.size):
        start[taps.axis] = number
        limits[taps.axis] = number + (taps.made - 1) * taps.stride + 1
        tap = e.slice(value, start, limits, strides)
        if best is None or chosen is None:
            best, chosen = tap, e.fill(0, tensor(shape(tap), i32))
            continue
        keep = e.compare(best, tap, direction)
        best = e.select(keep, best, tap)
        chosen = e.select(keep, chosen, e.fill_like(number, chosen))
    assert best is not None and chosen is not None
    return best, chosen


def _put_back(
    source: SSAValue, taps: _Taps, chosen: SSAValue, init: SSAValue, e: Emitter
) -> SSAValue:
    """Add the source of each window to the elements of `taps.dims` that were chosen."""
    low, high, gaps = ([0] * len(taps.dims) for _ in range(3))
    gaps[taps.axis] = taps.stride - 1
    total, zero = None, e.fill_like(0, source)
    covered = (taps.made - 1) * taps.stride + 1
    for number in range(taps.size):
        low[taps.axis] = number
        high[taps.axis] = taps.dims[taps.axis] - number - covered
        here = e.select(e.compare_number(chosen, number, "EQ"), source, zero)
        spread = e.pad(here, init, low, high, gaps)
        total = spread if total is None else e.binary("add", total, spread)
    assert total is not None
    return total


RULES: dict[str, Rule] = {
    "reduce_window": reduce_window,
    "select_and_scatter": select_and_scatter,
}

"""Decompose cumulative reduce_window by doubling, and select_and_scatter by comparing taps."""

from collections.abc import Sequence
from itertools import product

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.decompositions.pieces import pieces_of, running_in_pieces
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter, reducer_opcode
from neuronir.passes.hlo.support.values import (
    element,
    ints,
    is_splat_of,
    shape,
    string,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule

LARGEST_WINDOW = 64
"""Gradients of larger pooling windows are not decomposed: each element takes several ops."""


def reduce_window(op: Operation, e: Emitter) -> SSAValue | None:
    """Compute a running sum (or max, ...) in log2(n) steps; step k combines elements 2^k apart.

    Other windows (pooling) are unchanged.
    """
    direction = cumulative(op)
    opcode = reducer_opcode(op)
    if direction is None or opcode is None:
        return None
    axis, backwards = direction
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


def without_scans(op: Operation, e: Emitter) -> SSAValue | None:
    """Decompose a reduce_window, except for running reductions of floats that the target computes
    directly.
    """
    direction = cumulative(op)
    if direction is None or direction[1] or reducer_opcode(op) not in _SCANS:
        return reduce_window(op, e)
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
    """Compute the gradient of max (or min) pooling.

    The taps of a window are strided slices of the padded operand. Comparing them in order gives the
    number of the selected tap. Each tap then takes the source where it was selected. The taps are
    scattered back with interior padding and added.
    """
    operand, source, init = op.operands
    direction = _selector(op)
    window, strides = ints(op, "window_dimensions"), ints(op, "window_strides")
    if direction is None or reducer_opcode(op, 1) != "add" or not is_splat_of(init, 0):
        return None
    places = list(product(*(range(n) for n in window)))
    if len(places) > LARGEST_WINDOW:
        return None
    padding = ints(op, "padding") or (0,) * (2 * len(window))
    low, high = padding[0::2], padding[1::2]
    worst = neutral_element("maximum" if direction[0] == "G" else "minimum", element(operand))
    if worst is None:
        return None
    padded = e.pad(operand, e.scalar(worst, element(operand)), low, high)
    chosen = _chosen_place(padded, shape(source), places, strides, direction, e)
    total: SSAValue | None = None
    zero = e.fill_like(0, source)
    for number, place in enumerate(places):
        here = e.select(e.compare_number(chosen, number, "EQ"), source, zero)
        spread = _put_back(here, shape(padded), place, strides, init, e)
        total = spread if total is None else e.binary("add", total, spread)
    if total is None:
        return None
    dims = shape(operand)
    return e.slice(total, low, [a + n for a, n in zip(low, dims, strict=True)])


def _chosen_place(
    padded: SSAValue,
    dims: Sequence[int],
    places: Sequence[tuple[int, ...]],
    strides: Sequence[int],
    direction: str,
    e: Emitter,
) -> SSAValue:
    """Return, for each window, the number of the tap that the select region prefers."""
    best: SSAValue | None = None
    chosen = e.fill(0, tensor(tuple(dims), i32))
    for number, place in enumerate(places):
        limits = [p + (n - 1) * s + 1 for p, n, s in zip(place, dims, strides, strict=True)]
        value = e.slice(padded, place, limits, strides)
        if best is None:
            best = value
            continue
        keep = e.compare(best, value, direction)
        best = e.select(keep, best, value)
        chosen = e.select(keep, chosen, e.fill_like(number, chosen))
    return chosen


def _put_back(
    value: SSAValue,
    dims: Sequence[int],
    place: Sequence[int],
    strides: Sequence[int],
    init: SSAValue,
    e: Emitter,
) -> SSAValue:
    """Invert the strided slice at a tap: zeros elsewhere."""
    covered = [(n - 1) * s + 1 for n, s in zip(shape(value), strides, strict=True)]
    high = [total - p - c for total, p, c in zip(dims, place, covered, strict=True)]
    return e.pad(value, init, place, high, [s - 1 for s in strides])


RULES: dict[str, Rule] = {
    "reduce_window": reduce_window,
    "select_and_scatter": select_and_scatter,
}

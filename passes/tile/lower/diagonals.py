"""Lower selects whose predicate is a constant diagonal of partitions and free positions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.constants import lazy_constant
from neuronir.dialects.nc.enums import AluOp, Engine
from neuronir.dialects.support.lazy import as_array
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.tile.lower.state import Lower
from neuronir.passes.tile.lower.steps import Step, steps
from neuronir.passes.tile.lower.values import Held, Number, Value

Mask = NDArray[np.bool_]
Affine = tuple[int, list[int]]
"""The first partition of a diagonal, and the partitions by which it moves along each free digit."""


def select_diagonal(
    state: Lower, op: Operation, out: Form, on_true: Value, on_false: Value
) -> bool:
    """Lower a select by position, which reads no predicate, if it is one diagonal in each piece.

    POOL writes the value on the diagonal and the constant elsewhere, in one pass. Returns whether
    it was lowered.
    """
    if not (isinstance(on_true, Held) and isinstance(on_false, Number) and state.machine.has_pool):
        return False
    mask = _constant(op.operands[0])
    if mask is None or out.start:
        return False
    pieces = list(steps(state, out, [on_true]))
    found = [_diagonal(piece) for step in pieces if (piece := _piece(mask, out, step)) is not None]
    lines = [line for line in found if line is not None]
    if len(lines) < len(pieces):
        return False
    for step, (first, moves) in zip(pieces, lines, strict=True):
        params: dict[str, int | float | AluOp] = {
            "op": AluOp.IS_EQ,
            "fill": on_false.value,
            "base": first,
            "channel_multiplier": -1,
            **{f"step{i}": move for i, move in enumerate(moves)},
        }
        state.emitter.emit("affine_select", [step.out], [step.sources[0]], params, Engine.POOL)
    return True


def _constant(value: SSAValue) -> Mask | None:
    """Return a constant predicate, seen through broadcasts and layouts."""
    op = value.owner
    if not isinstance(op, Operation):
        return None
    if op.name == "hlo.constant":
        return as_array(lazy_constant(op)).astype(np.bool_)
    if op.name == "tile.convert_layout":
        return _constant(op.operands[0])
    if op.name != "hlo.broadcast":
        return None
    found = _constant(op.operands[0])
    if found is None:
        return None
    dims = ints(op, "dimensions")
    sizes = [1] * len(shape_of(value))
    for d in dims:
        sizes[d] = shape_of(value)[d]
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    return np.broadcast_to(found.transpose(order).reshape(sizes), shape_of(value))


def _piece(mask: Mask, out: Form, step: Step) -> Mask | None:
    """Return the predicate by partition and free digits of an instruction; None if partitions
    between those of the elements, or copies on other ones, have none.
    """
    sizes = [n for _, n in step.out.free]
    numbers, rows = np.full((1,), step.number), np.zeros((1,), np.int64)
    for a, move in out.partition:
        numbers = (numbers[:, None] + np.arange(a.size) * a.stride).reshape(-1)
        rows = (rows[:, None] + np.arange(a.size) * move).reshape(-1)
    if rows.size != step.partitions or rows.max() >= step.partitions:
        return None
    numbers = numbers[rows.argsort()]
    for a, _ in step.dims:
        numbers = (numbers[:, None] + np.arange(a.size) * a.stride).reshape(-1)
    return mask[np.unravel_index(numbers, mask.shape)].reshape(step.partitions, *sizes)


def _diagonal(mask: Mask) -> Affine | None:
    """Return the diagonal where a predicate holds, if it holds there alone."""
    if not mask.any():
        return None
    start = [int(i) for i in np.unravel_index(int(mask.argmax()), mask.shape)]
    moves = [_move(mask, start, i) for i in range(1, mask.ndim)]
    first = start[0] - sum(m * i for m, i in zip(moves, start[1:], strict=True))
    line = np.full((1,) * mask.ndim, first)
    for d, move in enumerate((-1, *moves)):
        along = [1] * mask.ndim
        along[d] = mask.shape[d]
        line = line + move * np.arange(mask.shape[d]).reshape(along)
    return (first, moves) if np.array_equal(mask, line == 0) else None


def _move(mask: Mask, start: Sequence[int], d: int) -> int:
    """Return the partitions by which the diagonal moves along a dimension from where it holds."""
    for step in (1, -1):
        at = start[d] + step
        if 0 <= at < mask.shape[d]:
            place: list[Any] = [slice(None), *start[1:]]
            place[d] = at
            column = mask[tuple(place)]
            if column.any():
                return (int(column.argmax()) - start[0]) * step
    return 0

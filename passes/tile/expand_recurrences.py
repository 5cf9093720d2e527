"""Rewrite recurrences as tile.scan, along the last dimension."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, Operation, Region, SSAValue

from neuronir.dialects.hlo.unary import CopyOp
from neuronir.dialects.tile.ops import EmptyOp, ScanOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.recurrences.composite import Recurrence, recurrence_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, tensor
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.retile import slice_properties
from neuronir.passes.tile.sink_slices import slice_of

LONGEST = 4096
"""Limit of elements of a row: longer rows are processed in parts, in a loop."""
ELEMENTS = 1 << 18
"""Limit of elements of a part of all rows if rows are interleaved in HBM: all rows are then loaded
together, and a part of them stays on the chip.
"""
LEAST = 128
"""Minimum elements of a row in such a part."""


def expand_recurrence(op: Operation) -> None:
    """Rewrite a recurrence composite as tile.scan."""
    it = recurrence_of(op)
    if it is None:
        return
    shape, along = shape_of(op.results[0]), it.dimension
    length = shape[along]
    piece = _piece(length, prod(shape) // length, across=along < len(shape) - 1)
    if it.begin is None or piece == length:
        found = scan(Emitter(op), it.kind, it.arrays, it.begin, along, it.backwards)
    else:
        found = _in_pieces(op, it, it.begin, piece)
    op.results[0].replace_all_uses_with(found)
    op.detach()
    op.erase()


def _piece(length: int, rows: int, *, across: bool) -> int:
    """Return the longest part that divides a row; the row itself if none or not necessary."""
    most = LONGEST
    if across and ELEMENTS // rows >= LEAST:
        most = min(most, ELEMENTS // rows)
    if length <= most:
        return length
    return max((d for d in range(LEAST, most + 1) if length % d == 0), default=length)


def scan(
    build: Emitter,
    kind: str,
    arrays: Sequence[SSAValue],
    begin: SSAValue | None,
    along: int,
    backwards: bool,
) -> SSAValue:
    """Build a recurrence along a dimension, moved last for tile.scan."""
    rank = len(shape_of(arrays[-1]))
    order = [*(d for d in range(rank) if d != along), along]
    turned = [build.transpose(v, order) for v in arrays]
    found = build.insert(ScanOp.make(kind, turned, begin, backwards=backwards)).results[0]
    return build.transpose(found, [order.index(d) for d in range(rank)])


def _in_pieces(op: Operation, it: Recurrence, begin: SSAValue, piece: int) -> SSAValue:
    """Build the recurrence as a loop over parts of a row, which carries the last element of
    each.
    """
    build, along, backwards = Emitter(op), it.dimension, it.backwards
    shape = shape_of(op.results[0])
    dims = (*shape[:along], piece, *shape[along + 1 :])
    body = Block(arg_types=[IndexType(), tensor(shape, element(begin)), begin.type])
    end = scf.YieldOp()
    body.add_op(end)
    inside = Emitter(end, source=op)
    round_, whole, state = body.args
    at = _start(inside, round_, shape[along] // piece, piece, backwards)
    place = [0] * len(shape)
    place[along] = DYNAMIC_INDEX
    properties = slice_properties(place, dims)
    parts = [_part(inside, a, at, along, piece) for a in it.arrays]
    found = scan(inside, it.kind, parts, state, along, backwards)
    last = [0] * len(shape)
    last[along] = 0 if backwards else piece - 1
    limits = [*dims[:along], last[along] + 1, *dims[along + 1 :]]
    row = inside.reshape(inside.slice(found, last, limits), shape_of(begin))
    handed = inside.insert(CopyOp.create(operands=[row], result_types=[row.type])).results[0]
    put = inside.insert(
        InsertSliceOp.build(
            operands=[found, whole, [at], [], []],
            result_types=[whole.type],
            properties=properties,
        )
    ).results[0]
    inside.insert(scf.YieldOp(put, handed))
    end.detach()
    low, high, step = (
        build.insert(arith.ConstantOp(IntegerAttr(n, IndexType()))).results[0]
        for n in (0, shape[along] // piece, 1)
    )
    empty = build.insert(EmptyOp.make("hbm", whole.type)).results[0]
    first = build.insert(CopyOp.create(operands=[begin], result_types=[begin.type])).results[0]
    loop = build.insert(scf.ForOp(low, high, step, [empty, first], Region(body)))
    for inner in reversed(list(body.ops)):
        erase_dead(inner)
    _read_last(op, loop.results[1], 0 if backwards else shape[along] - 1, along)
    return loop.results[0]


def _part(build: Emitter, array: SSAValue, at: SSAValue, along: int, piece: int) -> SSAValue:
    """Return `piece` positions of an array from `at` on."""
    shape = shape_of(array)
    starts = [at if d == along else 0 for d in range(len(shape))]
    return slice_of(build, array, starts, [*shape[:along], piece, *shape[along + 1 :]])


def _read_last(op: Operation, state: SSAValue, place: int, along: int) -> None:
    """Replace reads of the last element of each row by the carried value."""
    for use in list(op.results[0].uses):
        part = use.operation
        if part.name != "hlo.slice" or shape_of(part.results[0])[along] != 1:
            continue
        starts, limits = list(ints(part, "start_indices")), list(ints(part, "limit_indices"))
        if starts[along] != place:
            continue
        del starts[along], limits[along]
        steps = [n for d, n in enumerate(ints(part, "strides")) if d != along]
        build = Emitter(part)
        row = build.slice(state, starts, limits, steps)
        part.results[0].replace_all_uses_with(build.reshape(row, shape_of(part.results[0])))
        part.detach()
        part.erase()


def _start(build: Emitter, round_: SSAValue, rounds: int, piece: int, backwards: bool) -> SSAValue:
    """Return the offset of an iteration's part: `round * piece`, or counted from the end."""
    factor, first = (-piece, (rounds - 1) * piece) if backwards else (piece, 0)
    number = build.insert(arith.ConstantOp(IntegerAttr(factor, IndexType()))).results[0]
    found: SSAValue = build.insert(arith.MuliOp(round_, number)).results[0]
    if first:
        number = build.insert(arith.ConstantOp(IntegerAttr(first, IndexType()))).results[0]
        found = build.insert(arith.AddiOp(found, number)).results[0]
    return found

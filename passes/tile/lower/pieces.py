"""Write pieces directly into values that are assembled: arrays, concatenations, padding.

A value that is computed or loaded only to become a piece is written to its final position.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.layout import layout_of
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import Form, dim_atoms
from neuronir.passes.lowering.layouts.mirror import mirror
from neuronir.passes.lowering.layouts.views import plan
from neuronir.passes.tile.layouts.maps import own
from neuronir.passes.tile.lower.memory import copy, position
from neuronir.passes.tile.lower.state import Lower, fill, register_lowering
from neuronir.passes.tile.lower.steps import MAX_DIMS
from neuronir.passes.tile.lower.values import Held, Lazy, Number
from neuronir.passes.tile.lower.views import slice_form
from neuronir.passes.tile.numbers import number_of

LEAST_ELEMENTS = 512
"""Elements of a partition for which the start of an instruction is a small part of its time."""


def destination(state: Lower, value: SSAValue) -> Form | None:
    """Return the position of a value that a single op assembles; None if it has its own buffer.

    A padded value may have other readers, which see the middle of the padded result.
    """
    op = value.get_user_of_unique_use() or _padding(value)
    block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
    if op is None or op.parent is not block or not op.results or layout_of(op.results[0]) is None:
        return None
    if isinstance(op, InsertSliceOp):
        if op.source is not value:
            return None
        part: Form | None = part_of_whole(state, op)
    elif op.name in ("hlo.concatenate", "hlo.pad"):
        if state.emitter.depth and op.name == "hlo.concatenate":
            return None  # a separate copy delays nothing, while a shared buffer may
        part = piece_of(state, op, next(i for i, v in enumerate(op.operands) if v is value))
    else:
        return None
    mine = own(state.place(value).partition, prod(shape_of(value)))
    fits = part is not None and not part.start and mine == part.partition != ()
    if part is None or not fits or state.dtype(value) is not state.dtype(op.results[0]):
        return None
    return part if _alike(state, value, part) else None


def _alike(state: Lower, value: SSAValue, part: Form) -> bool:
    """Return whether a value can be written to its position as efficiently as to its own layout.

    A value that is read from the chip may take more instructions, if they are long enough: a copy
    would take as many.
    """
    free = state.place(value).free
    dims = plan([part, replace(part, free=free)], [a for a, _ in part.free])
    if dims is None or len(dims) <= MAX_DIMS:
        return dims is not None
    if any(d.atom.ragged for d in dims) or _of_product(state, value):
        return False
    return prod(d.atom.size for d in dims[-MAX_DIMS:]) >= LEAST_ELEMENTS


def _of_product(state: Lower, value: SSAValue) -> bool:
    """Return whether the op that computes a value reads a product in PSUM."""
    op = value.owner
    operands = op.operands if isinstance(op, Operation) else ()
    found = [state.values.get(v) for v in operands]
    return any(isinstance(v, Lazy) and not isinstance(v.source, Held) for v in found)


def _padding(value: SSAValue) -> Operation | None:
    """Return the only op, among several readers, that pads a value."""
    found = [u.operation for u in value.uses if u.operation.name == "hlo.pad" and u.index == 0]
    return found[0] if len(found) == 1 else None


def together(state: Lower, op: Operation) -> Form:
    """Create the buffer of an assembled value, including padding; pieces follow."""
    if op not in state.joined:
        whole = state.joined[op] = state.allocate(op.results[0])
        if op.name == "hlo.pad":
            number = number_of(op.operands[1])
            assert number is not None  # otherwise it is lowered as a whole
            for edge in edges(op, whole):
                fill(state, edge, number)
    return state.joined[op]


def piece_of(state: Lower, op: Operation, index: int) -> Form | None:
    """Return the part of an assembled value for an operand."""
    whole = together(state, op)
    shape, piece = shape_of(op.results[0]), shape_of(op.operands[index])
    if op.name == "hlo.pad":
        low, inner = ints(op, "edge_padding_low"), ints(op, "interior_padding")
        steps = [n + 1 for n in inner]
        return slice_form(whole, shape, piece, [(n, ()) for n in low], steps)
    return position(op, index, whole)


def part_of_whole(state: Lower, op: InsertSliceOp) -> Form:
    """Return the position of a tile in an on-chip array."""
    target = slice_form(
        state.held(op.dest), shape_of(op.dest), shape_of(op.source), state.indices.places(op)
    )
    if target is None:
        raise NeuronError("NIR_TIL004", "a tile of an array on the chip is not contiguous")
    return target


@register_lowering("hlo.concatenate")
def lower_concatenate(state: Lower, op: Operation) -> None:
    """Lower a concatenation: each operand is written to its position."""
    whole = together(state, op)
    for i in range(len(op.operands)):
        _put(state, op, i)
    state.set(op.results[0], whole)


@register_lowering("hlo.pad")
def lower_pad(state: Lower, op: Operation) -> None:
    """Lower a pad: write the padding value around the operand and between its elements."""
    whole = together(state, op)
    _put(state, op, 0)
    state.set(op.results[0], whole)


@register_lowering("hlo.reverse")
def lower_reverse(state: Lower, op: Operation) -> None:
    """Lower a reverse: a copy that is read backwards."""
    value, shape = op.operands[0], shape_of(op.results[0])
    found = state.get(value)
    if isinstance(found, Number):
        state.values[op.results[0]] = found
        return
    turned = [d for d in ints(op, "dimensions") if shape[d] > 1]
    source = mirror(state.held(value), dim_atoms(shape, turned))
    if source is None:
        raise NeuronError("NIR_TIL004", "the operand of a reverse is not contiguous")
    target = state.allocate(op.results[0])
    copy(state, source, target)
    state.set(op.results[0], target)


def _put(state: Lower, op: Operation, index: int) -> None:
    part = piece_of(state, op, index)
    if part is None:
        raise NeuronError("NIR_TIL004", "a part of a concatenation is not contiguous")
    found = state.get(op.operands[index])
    if isinstance(found, Number):
        fill(state, part, found.value)
    else:
        copy(state, state.held(op.operands[index]), part)


def edges(op: Operation, whole: Form) -> list[Form]:
    """Return the parts that hold the padding value: everything if it is between elements."""
    shape, piece = shape_of(op.results[0]), shape_of(op.operands[0])
    low = ints(op, "edge_padding_low")
    if any(ints(op, "interior_padding")):
        return [whole]
    out: list[Form] = []
    starts, sizes = [0] * len(shape), list(shape)
    for d, (n, first, m) in enumerate(zip(shape, low, piece, strict=True)):
        for begin, size in ((0, first), (first + m, n - first - m)):
            if size > 0:
                out += _box(
                    whole,
                    shape,
                    [*starts[:d], begin, *starts[d + 1 :]],
                    [*sizes[:d], size, *sizes[d + 1 :]],
                )
        starts[d], sizes[d] = first, m
    return out


def _box(
    whole: Form, shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int]
) -> list[Form]:
    found = slice_form(whole, shape, sizes, [(n, ()) for n in starts])
    if found is None:
        raise NeuronError("NIR_TIL004", "an edge of a padded value is not contiguous")
    return [found]

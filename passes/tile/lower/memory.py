"""Lower values in HBM (arguments, results, arrays that loops assemble), loads, stores and loops."""

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.layout import layout_of
from neuronir.dialects.tile.ops import EmptyOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import integer
from neuronir.passes.hlo.support.walk import leaves
from neuronir.passes.lowering.conversion.memory import copy_in_hbm
from neuronir.passes.lowering.conversion.transfers import hbm_form
from neuronir.passes.lowering.emitter import view_dtype
from neuronir.passes.lowering.layouts.columns import by_columns
from neuronir.passes.lowering.layouts.layout import Form, dim_atoms, merge, split_at
from neuronir.passes.lowering.layouts.values import new_value
from neuronir.passes.lowering.layouts.views import chunks, dma_views, in_parts, walked
from neuronir.passes.tile.layouts.carried import RESHAPES, carriers, final
from neuronir.passes.tile.layouts.maps import own
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.values import Held, Lazy
from neuronir.passes.tile.lower.views import slice_form
from neuronir.passes.tile.whole import whole


@register_lowering("arith.constant", "arith.addi", "arith.muli", "hlo.constant", "hlo.tuple")
def lower_nothing(state: Lower, op: Operation) -> None:
    """Lower indices, constants and tuples to nothing, because their readers evaluate them."""


def in_hbm(state: Lower, name: str, kind: str, value: SSAValue, **more: object) -> Form:
    """Create an HBM variable for a value, row-major."""
    shape, dtype = shape_of(value), state.dtype(value)
    buffer = state.emitter.variable(name, kind, shape, dtype, **more)
    return hbm_form(buffer, new_value(shape, dtype))


def transfer(state: Lower, chip: Form, memory: Form, *, load: bool) -> None:
    """Transfer all of an on-chip copy from or to HBM."""
    if space_of(chip.buffer) is Space.PSUM:
        raise NeuronError("NIR_TIL005", "PSUM is not reached by transfers")
    for pair in dma_views(chip, memory, state.machine.dma_max_dims - 1):
        for one in by_columns(state.machine, *pair):
            for chip_view, memory_view in in_parts(*one):
                if load:
                    state.emitter.dma(chip_view, memory_view)
                else:
                    state.emitter.dma(memory_view, chip_view)


@register_lowering("tile.empty")
def lower_empty(state: Lower, op: Operation) -> None:
    """Create an array that loops assemble: a result variable, else scratch.

    With a layout, it is on the chip.
    """
    assert isinstance(op, EmptyOp)
    if layout_of(op.tensor) is not None:
        state.set(op.tensor, state.allocate(op.tensor))
    else:
        state.memory[op.tensor] = result_in_hbm(state, op.tensor)


def result_in_hbm(state: Lower, value: SSAValue) -> Form:
    """Return the variable of a value in HBM: an output variable for a result, the position in a
    concatenation for its operand, else a scratch variable.
    """
    home = home_in_hbm(state, value)
    if home is not None:
        return home
    numbers = [n for n in state.results.get(final(value), []) if n not in state.written]
    if not numbers:
        part = part_in_hbm(state, final(value))
        return part or in_hbm(state, "scratch", "scratch", value)
    state.written.add(numbers[0])
    return in_hbm(state, f"out{numbers[0]}", "output", final(value), index=numbers[0])


def home_in_hbm(state: Lower, value: SSAValue) -> Form | None:
    """Return the position of a value, or of the array that it becomes, in an array in HBM."""
    work = [final(value)]
    while work:
        for use in work.pop().uses:
            op = use.operation
            if op.name in RESHAPES:
                work.append(op.results[0])
            elif isinstance(op, InsertSliceOp) and use.index == 0:
                whole = state.memory.get(list(carriers(op.dest))[-1])
                places = state.indices.places(op)
                if whole is None or any(terms for _, terms in places):
                    continue
                part = slice_form(whole, shape_of(op.dest), shape_of(op.source), places)
                if part is not None and part == _contiguous(part, op.source, state):
                    return _contiguous(part, value, state)
    return None


def _contiguous(form: Form, value: SSAValue, state: Lower) -> Form:
    """Return a row-major copy of a value at the beginning of another copy in HBM."""
    plain = hbm_form(form.buffer, new_value(shape_of(value), state.dtype(value)))
    return replace(plain, offset=form.offset)


def part_in_hbm(state: Lower, value: SSAValue) -> Form | None:
    """Return the position in HBM of a value in the concatenation that is its only user, or None."""
    op = value.get_user_of_unique_use()
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    if op is None or op.name != "hlo.concatenate" or op.parent is not block or not whole(op):
        return None
    if op not in state.joined:
        state.joined[op] = result_in_hbm(state, op.results[0])
    return position(op, list(op.operands).index(value), state.joined[op])


def position(op: Operation, index: int, form: Form) -> Form | None:
    """Return the part of a copy of a concatenation that an operand is; None if it has none, which
    a row-major copy in HBM always has.
    """
    shape, d = shape_of(op.results[0]), integer(op, "dimension")
    starts = [0] * len(shape)
    starts[d] = sum(shape_of(v)[d] for v in op.operands[:index])
    return slice_form(form, shape, shape_of(op.operands[index]), [(n, ()) for n in starts])


def store(state: Lower, value: SSAValue, target: Form) -> None:
    """Store a value; each element once, even if several partitions have it."""
    if target_type(target) is not state.dtype(value):
        raise NeuronError("NIR_TIL005", "a tile of another type than the array")
    store_form(state, state.held(value), shape_of(value), target)


def store_form(state: Lower, form: Form, shape: tuple[int, ...], target: Form) -> None:
    """Store a copy of an array of `shape`, with dimensions along which it does not vary."""
    cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
    known = form.atoms()
    missing = [
        b
        for a in merge(dim_atoms(shape, range(len(shape))))
        for b in split_at(a, cuts) or (a,)
        if not any(k.stride <= b.stride and b.end <= k.end for k in known)
    ]
    form = replace(form, free=(*((a, 0) for a in missing), *form.free))
    mine = own(form.partition, prod(shape))
    one = Form(
        form.buffer, mine, form.free, form.start, form.offset, form.dtype, 1, False, form.indices
    )
    transfer(state, one, target, load=False)


def target_type(form: Form) -> DType:
    """Return the element type of a copy."""
    return view_dtype(form.at(0, 1, ()))


def copy(state: Lower, source: Form, target: Form) -> None:
    """Copy a value to another buffer of the same layout."""
    if source.buffer is target.buffer and source.offset == target.offset:
        return
    dims = walked([target, source], [a for a, _ in target.free])
    for piece in chunks(dims, target.partitions, 3, state.machine.max_free_psum):
        state.emitter.copy(piece.view(target, 0), piece.view(source, 1))


@register_lowering("func.return")
def lower_return(state: Lower, op: Operation) -> None:
    """Store the results that no loop has written."""
    for number, value in enumerate(leaves(op)):
        if number in state.written:
            continue
        target = in_hbm(state, f"out{number}", "output", value, index=number)
        if value in state.memory:
            copy_in_hbm(state.emitter, state.memory[value], target)
        else:
            store(state, value, target)


def arguments(block: Block) -> Iterator[tuple[int, SSAValue]]:
    """Return the arguments with readers."""
    for i, argument in enumerate(block.args):
        if not isinstance(argument.type, TensorType):
            raise NeuronError("NIR_LOW005", f"parameter {i} is not an array")
        if argument.uses:
            yield i, argument


__all__ = ["Held", "Lazy", "View", "arguments", "store", "transfer"]

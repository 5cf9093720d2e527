"""Emit large dots with a right operand in SBUF panels and a streamed left operand.

The left operand is read once for each panel, so it is first stored to HBM with its contraction on
partitions, tile by tile, as the loops read it.
"""

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.linear import DotOp
from neuronir.passes.lowering.conversion.by_rows import rows_first
from neuronir.passes.lowering.layouts.demand import contraction, inner_tile
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, join, row_major
from neuronir.passes.lowering.layouts.values import Partition
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.lowering.streaming.loop_op import make_loop
from neuronir.passes.lowering.streaming.tiles import Tile, tile_form, tile_value


def pack_left(state: Lowering, op: DotOp) -> SSAValue | None:
    """Store the left operand of a dot to HBM with its contraction on partitions, and return it.

    Returns None if it already has that order or its factors do not divide.
    """
    ssa = op.operands[0]
    value = state.value(ssa)
    limit = state.machine.partitions
    atoms, _ = contraction(op, 0)
    partition = inner_tile(atoms, limit)[0]
    taken = (*ints(op.lhs_batch_dims), *ints(op.lhs_contracting_dims))
    free = [d for d in range(len(value.shape)) if d not in taken]
    dim = max(free, key=lambda d: value.shape[d], default=-1)
    if dim < 0 or value.shape[dim] % limit or any(a.ragged for a, _ in partition):
        return None
    if rows_first(state.machine, value, state.converter.in_hbm(value), partition) is None:
        return None
    _pack(state, ssa, dim, partition)
    return ssa


def _pack(state: Lowering, ssa: SSAValue, dim: int, partition: Partition) -> None:
    value, converter, emitter = state.value(ssa), state.converter, state.emitter
    rows = state.machine.partitions
    rounds = value.shape[dim] // rows
    converter.settle(value)
    forms = list(converter.source_forms(value))
    body = Block(arg_types=[IndexType()])
    tile = Tile(rows, rows, 0, body.args[0])
    emitter.enter()
    piece = tile_value(value, dim, tile, forms)
    chip = converter.ensure(piece, partition, rows)
    whole = _packed_form(state, ssa, dim, partition, rows)
    target = tile_form(whole, value.shape, dim, tile)
    assert target is not None
    converter.transfer(target, chip, load=False)
    make_loop(emitter, rounds, body)
    value.forms.insert(0, whole)


def _packed_form(state: Lowering, ssa: SSAValue, dim: int, partition: Partition, rows: int) -> Form:
    """Create an HBM variable: tiles outermost, then partitions, then the rest, then the rows."""
    value = state.value(ssa)
    strides = row_major(value.shape)
    low = strides[dim]
    cuts = {c for a, _ in partition for c in (a.stride, a.end)}
    rest: list[Atom] = []
    for d, n in enumerate(value.shape):
        if d == dim or n == 1:
            continue
        bounds = sorted({strides[d], strides[d] * n, *(c for c in cuts if _in(c, strides[d], n))})
        for lower, upper in zip(bounds, bounds[1:], strict=False):
            part = atom(upper // lower, lower)
            if not any(p.stride <= lower < p.end for p, _ in partition):
                rest.insert(0, part)
    order = [
        atom(value.shape[dim] // rows, low * rows),
        *(a for a, _ in partition),
        *sorted(rest, key=lambda a: -a.stride),
        atom(rows, low),
    ]
    pairs: list[tuple[Atom, int]] = []
    step = 1
    for a in reversed(order):
        pairs.insert(0, (a, step))
        step *= a.size
    shape = [a.size for a in order]
    buffer = state.emitter.variable("packed", "scratch", shape, value.dtype)
    return Form(buffer, (), join(pairs), hbm=True)


def _in(cut: int, stride: int, size: int) -> bool:
    return stride < cut < stride * size

"""Emit tile loops: a group of ops around values that do not fit in SBUF, tile by tile.

The ops of a group are copied at the size of one tile, with their operands as block arguments, and
lowered by the usual rules into the body of an `scf.for`. Tiles are loaded from HBM addresses that
move with the iteration, and stored in the same way; nc-pipeline overlaps the iterations. Whole
values are created once, outside of the loop.
"""

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.control_flow import TupleOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.passes.lowering.conversion.memory import result_in_hbm, store
from neuronir.passes.lowering.conversion.special import mark_special
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.values import new_value
from neuronir.passes.lowering.products.blocked import lower_blocked
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.lowering.streaming.dims import WHOLE, tiled_copy, tiled_type
from neuronir.passes.lowering.streaming.group import Group, inner_bytes
from neuronir.passes.lowering.streaming.loop_op import make_loop
from neuronir.passes.lowering.streaming.tiles import Tile, tile_form, tile_value
from neuronir.passes.statistics import record


def lower_group(state: Lowering, group: Group) -> None:
    """Emit the loop over the tiles of a group, and a shorter last iteration for a remainder."""
    state.emitter.source = group.ops[0]
    if group.blocked:
        _lower_product(state, group.ops[0])
        return
    record("lower-hlo-to-nc", "depth-first fusion: groups")
    text = "depth-first fusion: bytes that are not written and read again"
    record("lower-hlo-to-nc", text, inner_bytes(group))
    sources = {v: _sources(state, group, v) for v in group.inputs()}
    targets = {v: result_in_hbm(state, v) for v in group.outputs()}
    special: set[SSAValue] = set()
    rounds, rest = divmod(group.extent, group.rows)
    if rounds > 1:
        body = Block(arg_types=[IndexType()])
        state.emitter.enter()
        tile = Tile(group.rows, group.rows, 0, body.args[0])
        special |= _round(state, group, tile, sources, targets)
        make_loop(state.emitter, rounds, body)
    else:
        tile = Tile(group.rows, group.rows)
        special |= _round(state, group, tile, sources, targets)
    if rest:
        _round(state, group, Tile(group.rows, rest, rounds), sources, targets)
    for ssa, form in targets.items():
        _set_in_hbm(state, ssa, form, ssa in special)
    state.done.update(group.ops)


def _set_in_hbm(state: Lowering, ssa: SSAValue, form: Form, special: bool) -> None:
    value = new_value(state.shape(ssa), state.dtype(ssa))
    value.forms.append(form)
    value.special = special
    state.set(ssa, value)


def _lower_product(state: Lowering, op: Operation) -> None:
    """Emit a dot of two matrices, block by block."""
    assert isinstance(op, DotOp)
    ssa = op.results[0]
    target = result_in_hbm(state, ssa)
    lower_blocked(state, op, target)
    _set_in_hbm(state, ssa, target, False)
    mark_special(state, op)
    state.done.add(op)


def _sources(state: Lowering, group: Group, ssa: SSAValue) -> list[Form]:
    """Return the copies of an input in which its tiles are visible."""
    value = state.value(ssa)
    converter = state.converter
    converter.settle(value)
    if group.tiling.get(ssa, WHOLE) == WHOLE or value.scalar is not None:
        return []
    if value.lazy is not None and not value.forms:
        value = value.lazy[0]
    forms = list(converter.source_forms(value))
    if not any(f.hbm for f in forms):
        forms.append(converter.in_hbm(value))
    return forms


def _round(
    state: Lowering,
    group: Group,
    tile: Tile,
    sources: dict[SSAValue, list[Form]],
    targets: dict[SSAValue, Form],
) -> set[SSAValue]:
    """Lower the ops of the group for one tile; return results that may contain infinities or
    NaN.
    """
    inputs = list(sources)
    block = Block(arg_types=[tiled_type(v, _dim(group, v), tile.rows) for v in inputs])
    mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for v, argument in zip(inputs, block.args, strict=True):
        state.set(argument, tile_value(state.value(v), _dim(group, v), tile, sources[v]))
    for op in group.ops:
        block.add_op(tiled_copy(op, group.tiling, tile.rows, mapping))
    last = TupleOp.create(operands=[mapping[v] for v in targets], result_types=[])
    block.add_op(last)
    state.lower.block(state, block)
    for v, form in targets.items():
        target = tile_form(form, state.shape(v), _dim(group, v), tile)
        assert target is not None
        store(state, state.value(mapping[v]), target)
    return {v for v in targets if state.value(mapping[v]).may_be_special()}


def _dim(group: Group, ssa: SSAValue) -> int:
    return group.tiling.get(ssa, WHOLE)

"""tile-expand-composites: expand composites that are not single instructions.

At the tiled level softmax and the norms are ordinary reductions and elementwise ops, which are
tiled, fused and laid out with their neighbours. Nested reductions, which hlo passes split to get
rows for the partitions, are merged again, because layouts handle that here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.elementwise import AddOp
from neuronir.dialects.hlo.reduction import ReduceOp
from neuronir.dialects.hlo.unary import CopyOp, NegateOp
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.dtypes import is_float
from neuronir.dialects.support.loops import LoopOp, body_of, is_body
from neuronir.dialects.support.walking import walk
from neuronir.dialects.tile.rules import combiner, shape_of
from neuronir.passes.hlo.inline import move_block
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.hlo.support.walk import erase_dead, functions
from neuronir.passes.lowering.products.epilogue import COMPOSITES
from neuronir.passes.tile.carried_types import carry_converted
from neuronir.passes.tile.casts import cast_at_once, cast_before_select
from neuronir.passes.tile.concatenations import join_by_transfers, slice_pieces
from neuronir.passes.tile.counted_loops import write_loops
from neuronir.passes.tile.expand_convolutions import expand_convolution
from neuronir.passes.tile.expand_recurrences import expand_recurrence
from neuronir.passes.tile.expand_windows import expand_window
from neuronir.passes.tile.factors import join_factors
from neuronir.passes.tile.fit import check_elements
from neuronir.passes.tile.float_extremes import reduce_in_floats
from neuronir.passes.tile.float_indices import compare_in_floats
from neuronir.passes.tile.group import is_source, is_view, views_between
from neuronir.passes.tile.lift_slices import lift_slices, slice_arguments
from neuronir.passes.tile.one_hot import scatter_as_one_hot
from neuronir.passes.tile.row_composites import ROWS
from neuronir.passes.tile.scales import scale_behind, scale_in_front
from neuronir.passes.tile.split_slices import split_slices
from neuronir.passes.tile.spread import spread_long
from neuronir.passes.tile.whole import whole

KEPT = frozenset(COMPOSITES)
"""Composites that one ACT instruction computes."""


@dataclass(frozen=True)
class TileExpandCompositesPass(ModulePass):
    """Expand composites that no single instruction computes, and merge nested reductions.

    Softmax, layer norm and RMS norm become reductions and elementwise ops, so that neighbouring
    ops can be tiled and fused with each part. Each user of a view (a broadcast, reshape,
    transpose, iota or constant) gets its own view, because two users may need different parts.
    Loops with a known or computed trip count become `scf.for`, all others `scf.while`. Where the
    image or the result of a convolution has few features, taps and blocks of positions become
    features, which lie on partitions. A convolution of a dilated image is split by phases.
    """

    name = "tile-expand-composites"
    target: str = field(
        default="",
        metadata={
            "help": "machine; default: the module attribute nc.machine. Without a machine, rows of "
            "arguments are always concatenated on the chip"
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        attribute = op.attributes.get("nc.machine")
        chosen = self.target or (attribute.data if isinstance(attribute, StringAttr) else "")
        partitions = get_machine(chosen).partitions if chosen else 0
        for function in functions(op):
            check_elements(function)
            block = function.body.block
            write_loops(block)
            for loop in [o for o in walk(function) if isinstance(o, scf.ForOp)]:
                carry_converted(loop)
            for one in list(loop_bodies(block)):
                for inner in list(one.ops):
                    expand_recurrence(inner)
            nested = list(loop_bodies(block))
            for one in nested:
                expand(one, partitions)
            copy_results(block)
            for one in nested:
                copy_tables(one)
                separate_views(one)
                for inner in reversed(list(one.ops)):
                    erase_dead(inner)


def loop_bodies(block: Block) -> Iterator[Block]:
    """Rewrite a block, and the bodies of its loops."""
    yield block
    for op in block.ops:
        if isinstance(op, LoopOp):
            yield from loop_bodies(body_of(op))


def expand(block: Block, partitions: int) -> None:
    """Expand the composites of one block, for a machine of so many partitions (0: unknown)."""
    for inner in list(block.ops):
        if isinstance(inner, CompositeOp) and inner.kind.data not in (*KEPT, *ROWS):
            value = move_block(inner.regions[0].block, list(inner.operands), inner)
            inner.results[0].replace_all_uses_with(value)
            inner.detach()
            inner.erase()
    for inner in list(block.ops):
        if isinstance(inner, ReduceOp):
            join_reductions(inner)
    for inner in list(block.ops):
        slice_pieces(inner)
    if not is_body(block):
        join_by_transfers(block, partitions)
    for inner in list(block.ops):
        spread_long(inner)
    for inner in list(block.ops):
        scatter_as_one_hot(inner)
        expand_convolution(inner)
        expand_window(inner)
    if is_body(block):
        split_slices(block)
    else:
        lift_slices(block)
        slice_arguments(block)
    compare_in_floats(block)
    reduce_in_floats(block)
    for inner in list(block.ops):
        if inner.name == "hlo.dot":
            scale_behind(inner)
    for inner in list(block.ops):
        scale_in_front(inner)
    for inner in list(block.ops):
        if inner.name == "hlo.subtract":
            add_negation(inner)
    for inner in list(block.ops):
        join_factors(inner)
    for inner in list(block.ops):
        cast_before_select(inner)
    for inner in list(block.ops):
        cast_at_once(inner)
    for inner in reversed(list(block.ops)):
        erase_dead(inner)


def join_reductions(op: ReduceOp) -> None:
    """Merge a reduction of a reduction, and the reshape in between, into one."""
    while True:
        inner = op.operands[0].owner
        if not isinstance(inner, ReduceOp) or len(op.operands) != 2 or len(inner.operands) != 2:
            break
        if (
            not combiner(op)
            or combiner(op) != combiner(inner)
            or not inner.results[0].has_one_use()
        ):
            break
        if not _same_number(op.operands[1], inner.operands[1]):
            break
        kept = [
            d for d in range(len(shape_of(inner.operands[0]))) if d not in ints(inner, "dimensions")
        ]
        dims = sorted([*ints(inner, "dimensions"), *(kept[d] for d in ints(op, "dimensions"))])
        op.operands[0] = inner.operands[0]
        op.properties["dimensions"] = i64_array(dims)
        erase_dead(inner)
    source = op.operands[0].owner
    if isinstance(source, Operation) and source.name == "hlo.reshape" and len(op.operands) == 2:
        through = _through(source, ints(op, "dimensions"))
        if through is not None and op.results[0].type == _reduced(source.operands[0], through, op):
            op.operands[0] = source.operands[0]
            op.properties["dimensions"] = i64_array(through)
            erase_dead(source)


def _reduced(value: SSAValue, dims: list[int], op: Operation) -> object:
    shape = [n for d, n in enumerate(shape_of(value)) if d not in dims]
    return TensorType(element(op.results[0]), shape)


def add_negation(op: Operation) -> None:
    """Rewrite x - broadcast(y) as x + broadcast(-y), which is equal.

    ACT can add as part of an instruction, and y is small.
    """
    wide = op.operands[1].owner
    if not isinstance(wide, Operation) or wide.name != "hlo.broadcast":
        return
    small = wide.operands[0]
    if not is_float(element(small)) or prod(shape_of(small)) == 1:
        return
    block = op.parent
    assert block is not None
    negated = NegateOp.create(operands=[small], result_types=[small.type])
    copy = wide.clone({small: negated.results[0]})
    new = AddOp.create(
        operands=[op.operands[0], copy.results[0]], result_types=[op.results[0].type]
    )
    for each in (negated, copy, new):
        each.location = op.location
        block.insert_op_before(each, op)
    op.results[0].replace_all_uses_with(new.results[0])
    erase_dead(op)


def _same_number(left: SSAValue, right: SSAValue) -> bool:
    if left is right:
        return True
    a, b = left.owner, right.owner
    if not isinstance(a, Operation) or not isinstance(b, Operation):
        return False
    return a.name == b.name == "hlo.constant" and a.properties == b.properties


def _through(reshape: Operation, dims: tuple[int, ...]) -> list[int] | None:
    """Map the dimensions `dims` of a reduced reshape to dimensions of the reshape's operand.

    Returns None if only a part of a dimension is reduced.
    """
    before, after = shape_of(reshape.operands[0]), shape_of(reshape.results[0])
    out: list[int] = []
    j = 0
    for i, n in enumerate(before):
        rows: list[int] = []
        m = 1
        while m < n and j < len(after):
            rows.append(j)
            m *= after[j]
            j += 1
        if m != n:
            return None
        while j < len(after) and after[j] == 1 and n != 1:
            rows.append(j)
            j += 1
        reduced = {d in dims for d in rows if after[d] > 1}
        if len(reduced) > 1:
            return None
        if True in reduced:
            out.append(i)
    return out


def copy_tables(block: Block) -> None:
    """Materialise a transposed array that an op without a tiling reads, so that PE transposes it.

    Such an op reads rows of HBM, of which a view would make single elements.
    """
    for op in list(block.ops):
        if not whole(op) or is_source(op):
            continue
        for i, v in enumerate(op.operands):
            if not isinstance(v.owner, Operation) or not any(map(_turns, views_between(v))):
                continue
            copy = CopyOp.create(operands=[v], result_types=[v.type])
            copy.location = v.owner.location
            block.insert_op_before(copy, op)
            op.operands[i] = copy.results[0]


def _turns(view: Operation) -> bool:
    """Return whether a view makes another dimension than the last one the innermost."""
    if view.name != "hlo.transpose":
        return False
    shape, order = shape_of(view.results[0]), ints(view, "permutation")
    moving = [d for d, n in zip(order, shape, strict=True) if n > 1]
    return bool(moving) and moving[-1] != max(moving)


def copy_results(block: Block) -> None:
    """Materialise a permuted or broadcast result, so that it is tiled with its producer."""
    assert block.last_op is not None
    work = [block.last_op]
    while work:
        op = work.pop()
        for i, v in enumerate(op.operands):
            maker = v.owner
            if not isinstance(maker, Operation):
                continue
            if maker.name == "hlo.tuple":
                work.append(maker)
            elif any(view.name in ("hlo.transpose", "hlo.broadcast") for view in views_between(v)):
                copy = CopyOp.create(operands=[v], result_types=[v.type])
                copy.location = maker.location
                block.insert_op_before(copy, block.last_op if op is block.last_op else op)
                op.operands[i] = copy.results[0]


def separate_views(block: Block) -> None:
    """Give every reader of a view its own view."""
    for op in reversed(list(block.ops)):
        for i, v in enumerate(op.operands):
            maker = v.owner
            if not isinstance(maker, Operation) or not is_view(maker) or is_source(maker):
                continue
            if v.has_one_use():
                continue
            copy = maker.clone()
            block.insert_op_before(copy, op)
            op.operands[i] = copy.results[0]
            _separate(block, copy)


def _separate(block: Block, op: Operation) -> None:
    """Do the same for the operand of a new view."""
    for i, v in enumerate(op.operands):
        maker = v.owner
        if isinstance(maker, Operation) and is_view(maker) and not v.has_one_use():
            copy = maker.clone()
            block.insert_op_before(copy, op)
            op.operands[i] = copy.results[0]
            _separate(block, copy)

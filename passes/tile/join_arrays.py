"""Let loops insert their tiles into a concatenation instead of into separate arrays."""

from xdsl.dialects import scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.tile.ops import EmptyOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import integer


def join_arrays(block: Block) -> int:
    """Rewrite concatenations of arrays that one loop assembles; return their number.

    Each array was stored to HBM, and loaded to be stored again in its place:

        %a, %b = scf.for ... (%x = %e, %y = %f)        %r = scf.for ... (%x = %e)
          %1 = tensor.insert_slice %s into %x[%i, 0]     %1 = tensor.insert_slice %s into %x[%i, 0]
          %2 = tensor.insert_slice %t into %y[%i, 0] ->  %2 = tensor.insert_slice %t into %1[%i, n]
          scf.yield %1, %2                               scf.yield %2
        %r = hlo.concatenate %a, %b dimension = 1
    """
    count = 0
    for op in [op for op in block.ops if op.name == "hlo.concatenate"]:
        loop = op.operands[0].owner
        if not isinstance(loop, scf.ForOp) or loop.parent is not block:
            continue
        inserts = [_insert(v, loop, integer(op, "dimension")) for v in op.operands]
        found = [one for one in inserts if one is not None]
        if len(found) == len(inserts) == len(set(op.operands)):
            _join(op, loop, found)
            count += 1
    return count


def _insert(value: SSAValue, loop: scf.ForOp, dim: int) -> InsertSliceOp | None:
    """Return the only insertion into an array in HBM that only the concatenation reads."""
    if not isinstance(value, OpResult) or value.op is not loop or not value.has_one_use():
        return None
    begin = loop.iter_args[value.index]
    made = begin.owner
    if not isinstance(made, EmptyOp) or made.memory.data != "hbm" or not begin.has_one_use():
        return None
    argument = loop.body.block.args[value.index + 1]
    insert = argument.get_user_of_unique_use()
    last = loop.body.block.last_op
    if not isinstance(insert, InsertSliceOp) or insert.dest is not argument or last is None:
        return None
    if last.operands[value.index] is not insert.result or not insert.result.has_one_use():
        return None
    whole = ints(insert.static_sizes)[dim] == shape_of(value)[dim]
    return insert if whole and ints(insert.static_offsets)[dim] != DYNAMIC_INDEX else None


def _join(op: Operation, loop: scf.ForOp, inserts: list[InsertSliceOp]) -> None:
    """Rebuild the loop with one array in place of the operands of the concatenation."""
    dim, type_ = integer(op, "dimension"), op.results[0].type
    body, start = loop.body.block, 0
    for value, insert in zip(op.operands, inserts, strict=True):
        offsets = list(ints(insert.static_offsets))
        offsets[dim] += start
        start += shape_of(value)[dim]
        insert.properties["static_offsets"] = DenseArrayBase.from_list(i64, offsets)
    numbers = [v.index for v in op.operands if isinstance(v, OpResult)]
    begin = EmptyOp.make("hbm", type_)
    begin.location = op.location
    assert loop.parent is not None
    loop.parent.insert_op_before(begin, loop)
    current: SSAValue = body.insert_arg(type_, len(body.args))
    for one in [o for o in body.ops if o in inserts]:
        assert isinstance(one, InsertSliceOp)
        current = _into(one, current)
    last = body.last_op
    assert last is not None
    kept = [k for k in range(len(loop.iter_args)) if k not in numbers]
    last.operands = [*(last.operands[k] for k in kept), current]
    for one in inserts:
        _erase(one)
    inits = [*(loop.iter_args[k] for k in kept), begin.tensor]
    empties = [loop.iter_args[k].owner for k in numbers]
    for k in sorted(numbers, reverse=True):
        argument: BlockArgument = body.args[k + 1]
        body.erase_arg(argument)
    low, high, step = loop.lb, loop.ub, loop.step
    loop.body.detach_block(body)
    new = scf.ForOp(low, high, step, inits, Region(body))
    new.location = loop.location
    loop.parent.insert_op_before(new, loop)
    op.results[0].replace_all_uses_with(new.results[-1])
    for k, result in zip(kept, new.results, strict=False):
        loop.results[k].replace_all_uses_with(result)
    for old in (op, loop, *empties):
        assert isinstance(old, Operation)
        _erase(old)


def _into(insert: InsertSliceOp, array: SSAValue) -> SSAValue:
    """Repeat an insertion, into another array."""
    new = InsertSliceOp.build(
        operands=[insert.source, array, insert.offsets, insert.sizes, insert.strides],
        result_types=[array.type],
        properties=insert.properties,
    )
    new.location = insert.location
    assert insert.parent is not None
    insert.parent.insert_op_before(new, insert)
    return new.result


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()

"""Assemble an array where it is inserted, instead of copying it there."""

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, IntegerAttr, i64
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.tile.ops import EmptyOp


def insert_in_place(block: Block) -> int:
    """Let loops insert their tiles into the array that theirs is inserted into; return how often.

        %a = scf.for ... (%x = %e)                   %r = scf.for ... (%x = %f)
          %1 = tensor.insert_slice %t into %x[%i]      %1 = tensor.insert_slice %t into %x[%i + n]
          scf.yield %1                            ->   scf.yield %1
        %r = tensor.insert_slice %a into %f[n]

    Both arrays are in HBM.
    """
    places = {op: i for i, op in enumerate(block.ops)}
    count = 0
    for op in list(places):
        if not isinstance(op, InsertSliceOp) or op.offsets:
            continue
        loop = op.source.owner
        if isinstance(loop, scf.ForOp) and loop.parent is block and _begun(op, loop, places):
            assert isinstance(op.source, OpResult)
            insert = _insertion(loop, op.source.index)
            if insert is not None and op.source.has_one_use():
                _assemble(loop, op.source.index, op)
                count += 1
    return count


def _begun(op: InsertSliceOp, loop: scf.ForOp, places: dict[Operation, int]) -> bool:
    """Return whether the array that an op inserts into is in HBM, and is there before a loop."""
    begin = op.dest.owner
    if isinstance(begin, EmptyOp) and begin.tensor.has_one_use():
        if begin.memory.data == "hbm" and places[begin] > places[loop]:
            begin.detach()
            assert loop.parent is not None
            loop.parent.insert_op_before(begin, loop)
        return begin.memory.data == "hbm"
    array: SSAValue = op.dest
    while isinstance(array.owner, InsertSliceOp | scf.ForOp) and array.owner.parent is op.parent:
        if places[array.owner] >= places[loop] or not array.has_one_use():
            return False
        assert isinstance(array, OpResult)
        owner = array.owner
        array = owner.dest if isinstance(owner, InsertSliceOp) else owner.iter_args[array.index]
    return isinstance(array.owner, EmptyOp) and array.owner.memory.data == "hbm"


def _insertion(loop: scf.ForOp, index: int) -> InsertSliceOp | None:
    """Return the only insertion into an array that loops assemble in HBM from nothing."""
    begin = loop.iter_args[index].owner
    if not isinstance(begin, EmptyOp) or begin.memory.data != "hbm":
        return None
    return _inside(loop, index) if begin.tensor.has_one_use() else None


def _inside(loop: scf.ForOp, index: int) -> InsertSliceOp | None:
    argument, last = loop.body.block.args[index + 1], loop.body.block.last_op
    if not argument.has_one_use() or last is None or not last.operands[index].has_one_use():
        return None
    made, user = last.operands[index], next(iter(argument.uses)).operation
    if made.owner is not user:
        return None
    if isinstance(user, InsertSliceOp):
        return user if user.dest is argument else None
    if isinstance(user, scf.ForOp) and isinstance(made, OpResult):
        return _inside(user, made.index) if user.iter_args[made.index] is argument else None
    return None


def _assemble(loop: scf.ForOp, index: int, op: InsertSliceOp) -> None:
    """Let a loop begin with the array that an op inserts its result into."""
    empty = loop.iter_args[index].owner
    assert isinstance(empty, Operation)
    loop.operands[index + 3] = op.dest
    _widen(loop, index, op)
    op.result.replace_all_uses_with(loop.results[index])
    for old in (op, empty):
        old.detach()
        old.erase()


def _widen(loop: scf.ForOp, index: int, op: InsertSliceOp) -> None:
    """Carry an array of the type of an insertion's result through a loop, and move its tiles."""
    type_ = op.result.type
    argument = loop.body.block.args[index + 1]
    argument._type = type_  # pyright: ignore[reportPrivateUsage]
    loop.results[index]._type = type_  # pyright: ignore[reportPrivateUsage]
    user = next(iter(argument.uses)).operation
    if isinstance(user, scf.ForOp):
        _widen(user, list(user.iter_args).index(argument), op)
        return
    assert isinstance(user, InsertSliceOp)
    _move(user, ints(op.static_offsets))
    user.result._type = type_  # pyright: ignore[reportPrivateUsage]


def _move(insert: InsertSliceOp, by: Sequence[int]) -> None:
    """Move an insertion along each dimension."""
    static = list(ints(insert.static_offsets))
    moving = 0
    for d, n in enumerate(by):
        if static[d] != DYNAMIC_INDEX:
            static[d] += n
            continue
        if n:
            number = arith.ConstantOp(IntegerAttr(n, IndexType()))
            total = arith.AddiOp(insert.offsets[moving], number)
            for new in (number, total):
                assert insert.parent is not None
                insert.parent.insert_op_before(new, insert)
            insert.operands[2 + moving] = total.result
        moving += 1
    insert.properties["static_offsets"] = DenseArrayBase.from_list(i64, static)

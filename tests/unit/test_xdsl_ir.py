"""The functions of xDSL that are replaced do what xDSL's own do."""

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerAttr, UnknownLoc, i32, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.core import SSAValues

from neuronir import _xdsl  # noqa: F401  (replaces them)
from neuronir.dialects.hlo.elementwise import AddOp


def values(count: int) -> list[SSAValue]:
    return list(test.TestOp.create(result_types=[i32] * count).results)


def users(value: SSAValue) -> list[tuple[object, int]]:
    return [(use.operation, use.index) for use in value.uses]


def test_an_op_is_made_of_what_is_given() -> None:
    a, b = values(2)
    region = Region(Block())
    op = test.TestOp.create(
        operands=[a, b, a],
        result_types=[i32, i64],
        properties={"p": IntegerAttr(1, 32)},
        attributes={"q": IntegerAttr(2, 32)},
        regions=[region],
    )
    assert tuple(op.operands) == (a, b, a)
    assert users(a) == [(op, 2), (op, 0)]
    assert [r.type for r in op.results] == [i32, i64]
    assert [(r.owner, r.index) for r in op.results] == [(op, 0), (op, 1)]
    assert isinstance(op.location, UnknownLoc)
    assert region.parent is op
    bare = test.TestOp.create()
    assert bare.properties == bare.attributes == {}
    assert bare.properties is not test.TestOp.create().properties


def test_operands_are_read_and_replaced() -> None:
    a, b, c = values(3)
    op = test.TestOp.create(operands=[a, b, c])
    assert op.operands[0] is a
    assert op.operands[-1] is c
    assert isinstance(op.operands[1:], SSAValues)
    assert tuple(op.operands[1:]) == (b, c)
    op.operands = op.operands[1:]
    assert tuple(op.operands) == (b, c)
    assert users(a) == []
    assert users(b) == [(op, 0)]
    op.operands[1] = a
    assert users(c) == []
    assert users(a) == [(op, 1)]


def test_all_uses_get_another_value() -> None:
    a, b = values(2)
    first, second = test.TestOp.create(operands=[a, b, a]), test.TestOp.create(operands=[a])
    a.name_hint = "name"
    a.replace_all_uses_with(a)
    assert len(users(a)) == 3
    a.replace_all_uses_with(b)
    assert users(a) == []
    assert sorted((op is second, index) for op, index in users(b)) == [
        (False, 0),
        (False, 1),
        (False, 2),
        (True, 0),
    ]
    assert tuple(first.operands) == (b, b, b)
    assert b.name_hint == "name"


def test_a_value_that_is_used_cannot_be_erased() -> None:
    (a,) = values(1)
    user = test.TestOp.create(operands=[a])
    with pytest.raises(ValueError, match="still has uses"):
        a.owner.erase()
    user.erase()
    a.owner.erase()


def test_an_op_may_leave_its_block_while_the_block_is_walked() -> None:
    block = Block([test.TestOp.create() for _ in range(4)])
    seen = []
    for op in block.ops:
        seen.append(op)
        op.detach()
    assert len(seen) == 4
    assert block.is_empty


def test_an_op_is_in_one_block_and_not_in_itself() -> None:
    op = test.TestOp.create(regions=[Region(Block())])
    with pytest.raises(ValueError, match="contained in the operation"):
        op.regions[0].block.add_op(op)
    Block().add_op(op)
    with pytest.raises(ValueError, match="already attached"):
        Block().add_op(op)


def test_ops_and_values_are_told_apart_by_identity() -> None:
    a, b = values(2)
    one, other = (AddOp.create(operands=[a, b], result_types=[i32]) for _ in range(2))
    assert one == one
    assert one != other
    assert len({one, other, one}) == 2
    assert len({a, b, a}) == 2


def test_an_implicit_builder_gets_what_is_made() -> None:
    block = Block()
    with ImplicitBuilder(block):
        op = AddOp.create(operands=values(2), result_types=[i32])
    assert op.parent is block
    assert AddOp.create(operands=values(2), result_types=[i32]).parent is None


def test_a_region_whose_ops_read_ahead_is_cloned() -> None:
    """As graph regions may: the copy reads its own ops, also from inside of a nested region."""
    first, second = test.TestOp.create(result_types=[i32]), test.TestOp.create(result_types=[i32])
    inner = test.TestOp.create(operands=[second.results[0]])
    outer = test.TestOp.create(regions=[Region(Block([inner]))])
    region = Region(Block([first, outer, second]))
    first.operands = [second.results[0]]
    copy = region.clone()
    a, b, c = copy.block.ops
    assert a.operands[0] is c.results[0]
    (read,) = b.regions[0].block.ops
    assert read.operands[0] is c.results[0]
    assert len(users(second.results[0])) == 2

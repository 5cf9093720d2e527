"""Ops of our dialects, and walks and copies of ours, do what xDSL's own do."""

from typing import Any

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, UnknownLoc, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)

from neuronir.dialects.hlo.elementwise import AddOp
from neuronir.dialects.support.cloning import clone, clone_region
from neuronir.dialects.support.ops import NeuronOp
from neuronir.dialects.support.walking import ops_of, walk, walk_in


@irdl_op_definition
class AnyOp(NeuronOp):
    """An op of ours with anything in it."""

    name = "unit.any"
    ins = var_operand_def()
    outs = var_result_def()
    bodies = var_region_def()
    p = opt_prop_def(IntegerAttr)
    mode = prop_def(StringAttr, default_value=StringAttr("usual"))


KINDS: list[Any] = [AnyOp, test.TestOp]
"""An op of ours and one of xDSL's own, which have to behave alike."""


def values(count: int, kind: Any = AnyOp) -> list[SSAValue]:
    return list(kind.create(result_types=[i32] * count).results)


def users(value: SSAValue) -> list[tuple[object, int]]:
    return [(use.operation, use.index) for use in value.uses]


@pytest.mark.parametrize("kind", KINDS)
def test_an_op_is_made_of_what_is_given(kind: Any) -> None:
    a, b = values(2)
    region = Region(Block())
    op = kind.create(
        operands=[a, b, a],
        result_types=[i32, i64],
        properties={"p": IntegerAttr(1, 32)},
        attributes={"q": IntegerAttr(2, 32)},
        regions=[region],
    )
    assert tuple(op.operands) == (a, b, a)
    assert users(a) == [(op, 2), (op, 0)]
    assert op.operand_types == (i32, i32, i32)
    assert op.result_types == (i32, i64)
    assert [(r.owner, r.index) for r in op.results] == [(op, 0), (op, 1)]
    assert isinstance(op.location, UnknownLoc)
    assert region.parent is op
    bare = kind.create()
    assert bare.attributes == {}
    assert bare.properties is not kind.create().properties


def test_a_property_that_is_absent_gets_its_default() -> None:
    assert AnyOp.create().mode == StringAttr("usual")
    assert AnyOp.create(properties={"mode": StringAttr("other")}).mode == StringAttr("other")


@pytest.mark.parametrize("kind", KINDS)
def test_operands_are_read_and_replaced(kind: Any) -> None:
    a, b, c = values(3)
    op = kind.create(operands=[a, b, c])
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("user", KINDS)
def test_all_uses_get_another_value(kind: Any, user: Any) -> None:
    a, b = values(2, kind)
    first, second = user.create(operands=[a, b, a]), user.create(operands=[a])
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
    user = AnyOp.create(operands=[a])
    with pytest.raises(ValueError, match="still has uses"):
        a.owner.erase()
    user.erase()
    a.owner.erase()


def test_an_op_may_leave_its_block_while_the_block_is_walked() -> None:
    block = Block([AnyOp.create() for _ in range(4)])
    seen = []
    for op in ops_of(block):
        seen.append(op)
        op.detach()
    assert len(seen) == 4
    assert block.is_empty


@pytest.mark.parametrize("kind", KINDS)
def test_an_op_is_in_one_block_and_not_in_itself(kind: Any) -> None:
    op = kind.create(regions=[Region(Block())])
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


def nested() -> tuple[ModuleOp, SSAValue]:
    """A module with ops of ours and of xDSL's in several blocks, and a value that they read."""
    (outside,) = values(1)
    block = Block(arg_types=[i64])
    block.args[0].name_hint = "argument"
    made = AnyOp.create(operands=[outside, block.args[0]], result_types=[i32])
    made.results[0].name_hint = "made"
    inner = Block([test.TestOp.create(operands=[made.results[0], outside])])
    body = Region([Block([AnyOp.create(operands=[made.results[0]])]), inner])
    holder = test.TestOp.create(result_types=[i32], regions=[body, Region(Block())])
    block.add_ops([made, holder, AnyOp.create(operands=[holder.results[0], made.results[0]])])
    return ModuleOp(Region(Block([AnyOp.create(regions=[Region(block)])]))), outside


def places_of_uses(module: ModuleOp) -> list[list[tuple[int, int]]]:
    """The users of every value by number in the order of a walk, and the operand's number."""
    order = {op: i for i, op in enumerate(module.walk())}
    blocks = [block for op in order for region in op.regions for block in region.blocks]
    made = [*(r for op in order for r in op.results), *(a for b in blocks for a in b.args)]
    return [[(order[use.operation], use.index) for use in value.uses] for value in made]


def test_a_walk_gives_what_xdsl_gives() -> None:
    module, _ = nested()
    assert list(walk(module)) == list(module.walk())
    assert list(walk_in(module.body.block)) == list(module.body.block.walk())


def test_a_copy_is_equal_and_reads_its_own_values() -> None:
    module, outside = nested()
    (other,) = values(1)
    mapping = {outside: other}
    copy = clone(module, mapping)
    assert copy.is_structurally_equivalent(module, {other: outside})
    assert places_of_uses(copy) == places_of_uses(module.clone())
    names = [[r.name_hint for op in walk(m) for r in op.results] for m in (copy, module)]
    assert names[0] == names[1]
    assert copy.body.block.first_op is not None
    assert copy.body.block.first_op.regions[0].block.args[0].name_hint == "argument"
    assert {owner for op in walk(copy) for v in op.operands if (owner := v.owner)}.isdisjoint(
        walk(module)
    )
    assert mapping[next(r for op in walk(module) for r in op.results)].owner in set(walk(copy))


@pytest.mark.parametrize("kind", KINDS)
def test_a_region_whose_ops_read_ahead_is_copied(kind: Any) -> None:
    """As graph regions may: the copy reads its own ops, also from inside of a nested region."""
    first, second = kind.create(result_types=[i32]), kind.create(result_types=[i32])
    inner = kind.create(operands=[second.results[0]])
    outer = kind.create(regions=[Region(Block([inner]))])
    region = Region(Block([first, outer, second]))
    first.operands = [second.results[0]]
    holder: Operation = kind.create(regions=[region])
    copies = [clone_region(region), clone(holder).regions[0], holder.clone().regions[0]]
    for copy in copies:
        a, b, c = copy.block.ops
        assert a.operands[0] is c.results[0]
        (read,) = b.regions[0].block.ops
        assert read.operands[0] is c.results[0]
    assert len(users(second.results[0])) == 2

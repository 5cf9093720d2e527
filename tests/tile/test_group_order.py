"""The order of groups while they are fused, against a search of all groups."""

import random

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, Operation, SSAValue

from neuronir.passes.tile.group_order import GroupOrder, Members

TYPE = TensorType(f32, [4])


def ops(rng: random.Random, count: int) -> list[Operation]:
    """Ops that read up to three of those before them."""
    block = Block(arg_types=[TYPE])
    values: list[SSAValue] = [*block.args]
    for _ in range(count):
        operands = rng.sample(values, min(len(values), rng.randint(1, 3)))
        op = test.TestOp(operands, result_types=[TYPE])
        block.add_op(op)
        values.append(op.results[0])
    return list(block.ops)


def readers(order: GroupOrder, group: Members) -> set[Members]:
    users = (use.operation for op in group for r in op.results for use in r.uses)
    return {order.members[user] for user in users} - {group}


def reached(order: GroupOrder, group: Members) -> set[Members]:
    found: set[Members] = set()
    work = [group]
    while work:
        new = readers(order, work.pop()) - found
        found |= new
        work += new
    return found


@pytest.mark.parametrize("seed", range(20))
def test_groups_between_are_found_while_groups_are_fused(seed: int) -> None:
    rng = random.Random(seed)
    nodes = ops(rng, 40)
    order = GroupOrder(nodes)
    for _ in range(30):
        left = order.members[rng.choice(nodes)]
        later = sorted(readers(order, left), key=lambda g: min(map(nodes.index, g)))
        if not later:
            continue
        right = rng.choice(later)
        between = order.between(left, right)
        every = set(order.members.values())
        assert set(between) == {g for g in reached(order, left) if right in reached(order, g)}
        assert all(a not in reached(order, b) for a, b in zip(between, between[1:], strict=False))
        assert all(group not in reached(order, group) for group in every)
        if len(between) < 4:
            both = frozenset().union(left, *between, right)
            order.fuse([left, *between, right], both)
            assert all(order.members[op] is both for op in both)

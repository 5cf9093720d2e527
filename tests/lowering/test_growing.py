"""Which ops a group of tiles grows along."""

import random

import pytest
from xdsl.ir import Operation

from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.hlo.support.walk import entry
from neuronir.passes.lowering.streaming import groups
from neuronir.passes.lowering.streaming.group import Group, in_order
from neuronir.passes.lowering.streaming.growing import Graph
from tests.lowering.helpers import at_hlo
from tests.lowering.test_streaming import small

TEXT = """HloModule m
ENTRY main {
  x = f32[512,1024] parameter(0)
  a = f32[512,1024] tanh(x)
  b = f32[512,1024] exponential(a)
  c = f32[512,1024] add(a, b)
  ROOT d = f32[512,1024] negate(c)
}"""


def test_ops_of_another_group_stay_there() -> None:
    """Those on the way between two members too: what comes after them is left out then."""
    function = entry(at_hlo(TEXT))
    assert function is not None
    block = function.body.block
    graph = Graph(block, small(16))
    tanh, exponential, *_ = graph.ops
    first = graph.spread(tanh, tanh.results[0], 0)
    assert first is not None
    members, _ = graph.grow(tanh, first)
    assert members == set(graph.ops)
    graph.taken.add(exponential)
    members, tiling = graph.grow(tanh, first)
    assert members == {tanh}
    assert set(tiling) == {*tanh.operands, *tanh.results}


def _random_graph(seed: int) -> Graph:
    """40 ops, each of two of the eight values before it."""
    choose = random.Random(seed)
    lines = ["  v0 = f32[8] parameter(0)", "  v1 = f32[8] parameter(1)"]
    for i in range(2, 42):
        near = range(max(0, i - 8), i)
        lines.append(f"  v{i} = f32[8] add(v{choose.choice(near)}, v{choose.choice(near)})")
    results = ", ".join(f"v{i}" for i in range(2, 42))
    root = f"  ROOT r = ({', '.join(['f32[8]'] * 40)}) tuple({results})"
    text = "\n".join(["HloModule m", "ENTRY main {", *lines, root, "}"])
    function = entry(import_hlo_text(text))
    assert function is not None
    return Graph(function.body.block, small(16))


def _users(graph: Graph) -> dict[Operation, set[Operation]]:
    """All ops that depend on each op."""
    found: dict[Operation, set[Operation]] = {}
    for op in reversed(graph.ops):
        direct = {use.operation for use in op.results[0].uses} & graph.index.keys()
        found[op] = direct.union(*(found[user] for user in direct))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_what_lies_between_members(seed: int) -> None:
    graph = _random_graph(seed)
    users = _users(graph)
    choose = random.Random(seed)
    for count in range(1, 6):
        members = set(choose.sample(graph.ops, count))
        after = set().union(*(users[m] for m in members))
        expected = {op for op in after - members if users[op] & members}
        assert set(graph._between(members)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_groups_that_need_each_other_are_refused(seed: int) -> None:
    """As the order of the whole program says, though only a part of it is looked at."""
    graph = _random_graph(seed)
    block = graph.ops[0].parent
    assert block is not None
    finder = groups._Finder(block, small(16))
    choose = random.Random(seed)
    free = set(graph.ops)
    found: list[Group] = []
    verdicts: list[bool] = []
    for _ in range(12):
        first = choose.randrange(len(graph.ops) - 4)
        some = [op for op in graph.ops[first : first + 8] if op in free]
        members = set(choose.sample(some, min(2, len(some))))
        if not members or graph._between(members):
            continue
        group = Group(sorted(members, key=graph.index.__getitem__), {}, 0, 0)
        expected = bool(in_order(graph.ops, [*found, group]))
        assert finder._add(group) == expected
        verdicts.append(expected)
        if expected:
            found.append(group)
            free -= members
    assert any(verdicts)

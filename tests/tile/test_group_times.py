"""Times of groups: one elementwise op of a kind stands for all, and each nest has its own."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from neuronir.driver.weights import entry_function
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.tile.group import Group, Loop, is_view, make_group
from neuronir.passes.tile.times import GroupTimes
from neuronir.targets.registry import get_target

MODULE = import_hlo_text(
    """HloModule m
ENTRY e {
  x = f32[300,900] parameter(0)
  y = f32[900] parameter(1)
  a = f32[900] add(y, y)
  c = f32[900] add(a, y)
  b = f32[300,900] broadcast(c), dimensions={1}
  d = f32[300,900] add(x, b)
  f = f32[300,900] add(d, x)
  g = f32[300,900] divide(d, f)
  p = pred[300,900] compare(g, x), direction=LT
  ROOT h = f32[300,900] select(p, g, d)
}
""",
    "test.hlo",
)
TIMES = GroupTimes(get_target("trn1").machine, frozenset())


def group(module: ModuleOp = MODULE) -> Group:
    """All ops of a program, with nothing known of them."""
    ops = [op for op in entry_function(module).body.block.ops if op.name != "func.return"]
    found = make_group([op for op in ops if not is_view(op)], {op: i for i, op in enumerate(ops)})
    assert found is not None
    return found


def nests() -> list[tuple[Loop, ...]]:
    """Loops over rows, columns and both."""
    rows, columns = group().related.leaves(group().outputs[0])
    row, column = Loop(rows, 300, 64), Loop(columns, 900, 128)
    return [(), (row,), (column,), (row, column), (column, row)]


@pytest.mark.parametrize("loops", nests())
def test_work_is_that_of_each_op(loops: tuple[Loop, ...]) -> None:
    tiled = group().with_loops(loops)
    alone = [TIMES.alone(op, tiled) for op in tiled.ops if not is_view(op)]
    assert TIMES.of(tiled).vector == sum(alone)
    assert len(set(alone)) > 3  # ops on a row, on all elements, and slower ones


def test_loops_do_not_keep_what_others_have_found() -> None:
    first = group()
    for loops in nests():
        tiled = first.with_loops(loops)
        assert TIMES.of(tiled) == TIMES.of(group().with_loops(loops))
        first = tiled


def test_tiles_of_all_values_are_counted() -> None:
    """64 rows of 900, each on two partitions: five values of 4 bytes and one of 1, twice because
    iterations overlap. The three rows that all iterations share lie on 100 partitions."""
    _, (row,), *_ = nests()
    assert TIMES.of(group().with_loops((row,))).bytes == 2 * (5 * 4 + 1) * 450 + 3 * 4 * 9


def test_two_iterations_do_not_overlap() -> None:
    """Two take longer than four, which have the same work in all."""
    rows, _ = group().related.leaves(group().outputs[0])
    two, four = (group().with_loops((Loop(rows, 300, tile),)) for tile in (150, 75))
    assert TIMES.of(two).total > TIMES.of(four).total


def test_heads_inside_of_rows_are_stored_with_them() -> None:
    """A partition then has its rows of all heads in one piece."""

    def stored(shape: str, order: str) -> float:
        text = f"""HloModule m
ENTRY e {{
  q = bf16[12,512,32] parameter(0)
  k = bf16[12,32,32] parameter(1)
  a = f32[12,512,32] dot(q, k), lhs_batch_dims={{0}}, rhs_batch_dims={{0}},
    lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}
  t = f32[{shape}] transpose(a), dimensions={{{order}}}
  ROOT r = f32[{shape}] tanh(t)
}}
"""
        return TIMES.of(group(import_hlo_text(text, "test.hlo"))).dma

    assert stored("512,12,32", "1,0,2") < 0.9 * stored("12,512,32", "0,1,2")

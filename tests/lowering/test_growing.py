"""Which ops a group of tiles grows along."""

from neuronir.passes.hlo.support.walk import entry
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

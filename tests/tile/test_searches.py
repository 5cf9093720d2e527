"""A search of groups in less room starts from what the one before found, with the same groups."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.tile.group import Group, make_group
from neuronir.passes.tile.searches import searches_kept
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry

REGISTRY = Registry.discover()
ROOMS = (80, 20, 5, 20)
"""In percent; the last one is more than the one before."""
PRODUCT = """HloModule m
ENTRY e {
  x = f32[4096,256] parameter(0)
  y = f32[256,4096] parameter(1)
  z = f32[4096,4096] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[4096,4096] tanh(z)
  ROOT u = f32[4096,4096] transpose(t), dimensions={1,0}
}
"""
ELEMENTWISE = """HloModule m
ENTRY e {
  x = f32[300,900] parameter(0)
  y = f32[900] parameter(1)
  b = f32[300,900] broadcast(y), dimensions={1}
  r = f32[300,900] atan2(x, b)
  s = f32[300,900] add(r, x)
  ROOT t = (f32[300,900], f32[300,900]) tuple(r, s)
}
"""
NORM = """HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[300,9000] parameter(0)
  w = f32[9000,200] parameter(1)
  z = f32[] constant(0)
  q = f32[300,9000] multiply(x, x)
  s = f32[300] reduce(q, z), dimensions={1}, to_apply=add
  r = f32[300] rsqrt(s)
  b = f32[300,9000] broadcast(r), dimensions={0}
  y = f32[300,9000] multiply(x, b)
  ROOT d = f32[300,200] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""

SOFTMAX = """HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[2000,9000] parameter(0)
  y = f32[2000,9000] parameter(1)
  z = f32[] constant(0)
  p = f32[2000,9000] exponential(x)
  q = f32[2000,9000] multiply(p, y)
  s = f32[2000] reduce(q, z), dimensions={1}, to_apply=add
  b = f32[2000,9000] broadcast(s), dimensions={0}
  d = f32[2000,9000] divide(q, b)
  ROOT t = f32[2000,9000] tanh(d)
}
"""
"""A group of all of it needs whole rows."""


def fused(module: ModuleOp, percent: int) -> str:
    """A copy of a program after tile-fuse with a room."""
    copy = module.clone()
    pipeline = f"tile-expand-composites,tile-fuse{{target=trn1 room={percent}}}"
    for one in parse_pipeline(pipeline, REGISTRY.passes, REGISTRY.pipelines):
        one.apply(REGISTRY.context(), copy)
    copy.attributes.pop("tile.room")  # how much of a room the search has used
    return str(copy)


def lowered(text: str) -> ModuleOp:
    """A program in phase hlo."""
    module = import_hlo_text(text, "test.hlo")
    for one in parse_pipeline("@trn1:hlo", REGISTRY.passes, REGISTRY.pipelines):
        one.apply(REGISTRY.context(), module)
    return module


@pytest.mark.parametrize("text", [PRODUCT, ELEMENTWISE, NORM, SOFTMAX])
def test_groups_are_the_same(text: str) -> None:
    module = lowered(text)
    alone = [fused(module, percent) for percent in ROOMS]
    with searches_kept():
        assert [fused(module, percent) for percent in ROOMS] == alone
    assert len(set(alone)) > 2


def test_fewer_groups_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def counted(ops: Sequence[Operation], order: Mapping[Operation, int]) -> Group | None:
        nonlocal made
        made += 1
        return make_group(ops, order)

    monkeypatch.setattr("neuronir.passes.tile.grouping.make_group", counted)
    module, counts = lowered(ELEMENTWISE), []
    for context in (nullcontext(), searches_kept()):
        made = 0
        with context:
            for percent in ROOMS:
                fused(module, percent)
        counts.append(made)
    assert counts[1] < 0.9 * counts[0]

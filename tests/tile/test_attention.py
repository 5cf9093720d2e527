"""Attention with masks, in its sizes and types, at every phase."""

import pytest

from tests.differential.stages import failures
from tests.tile.test_found import arguments

MASKS = {
    "none": "masked = {t}[{h},{s},{n}] copy(scores)",
    "causal": """at = s32[{s},{n}] iota(), iota_dimension=0
  to = s32[{s},{n}] iota(), iota_dimension=1
  p = pred[{s},{n}] compare(at, to), direction=GE
  masks = pred[{h},{s},{n}] broadcast(p), dimensions={{1,2}}
  masked = {t}[{h},{s},{n}] select(masks, scores, lows)""",
    "hidden": """w = s32[{n}] parameter(3)
  z = s32[] constant(0)
  zs = s32[{n}] broadcast(z), dimensions={{}}
  p = pred[{n}] compare(w, zs), direction=EQ
  masks = pred[{h},{s},{n}] broadcast(p), dimensions={{2}}
  masked = {t}[{h},{s},{n}] select(masks, lows, scores)""",
    "added": """w = {t}[{s},{n}] parameter(3)
  masks = {t}[{h},{s},{n}] broadcast(w), dimensions={{1,2}}
  masked = {t}[{h},{s},{n}] add(scores, masks)""",
}
PROGRAM = """HloModule m
max {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] maximum(a, b)
}}
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}
ENTRY e {{
  q = {t}[{h},{s},{d}] parameter(0)
  k = {t}[{h},{n},{d}] parameter(1)
  v = {t}[{h},{n},{d}] parameter(2)
  products = {t}[{h},{s},{n}] dot(q, k), lhs_batch_dims={{0}}, rhs_batch_dims={{0}},
    lhs_contracting_dims={{2}}, rhs_contracting_dims={{2}}
  factor = {t}[] constant({factor})
  factors = {t}[{h},{s},{n}] broadcast(factor), dimensions={{}}
  scores = {t}[{h},{s},{n}] multiply(products, factors)
  low = {t}[] constant(-1e4)
  lows = {t}[{h},{s},{n}] broadcast(low), dimensions={{}}
  {mask}
  least = {t}[] constant(-inf)
  top = {t}[{h},{s}] reduce(masked, least), dimensions={{2}}, to_apply=max
  tops = {t}[{h},{s},{n}] broadcast(top), dimensions={{0,1}}
  shifted = {t}[{h},{s},{n}] subtract(masked, tops)
  raised = {t}[{h},{s},{n}] exponential(shifted)
  wide = f32[{h},{s},{n}] convert(raised)
  zero = f32[] constant(0)
  total = f32[{h},{s}] reduce(wide, zero), dimensions={{2}}, to_apply=add
  sum = {t}[{h},{s}] convert(total)
  sums = {t}[{h},{s},{n}] broadcast(sum), dimensions={{0,1}}
  shares = {t}[{h},{s},{n}] divide(raised, sums)
  ROOT r = {t}[{h},{s},{d}] dot(shares, v), lhs_batch_dims={{0}}, rhs_batch_dims={{0}},
    lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}
}}
"""


def attention(mask: str, dtype: str, sizes: tuple[int, int, int, int], factor: float) -> str:
    """Heads, queries, keys and features; scores times a factor, masked, and their softmax."""
    names = dict(zip("hsnd", sizes, strict=True))
    body = MASKS[mask].format(t=dtype, **names)
    return PROGRAM.format(t=dtype, mask=body, factor=factor, **names)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize(
    ("sizes", "factor"), [((2, 256, 256, 64), 0.125), ((3, 100, 130, 72), -0.118)]
)
def test_masked(mask: str, dtype: str, sizes: tuple[int, int, int, int], factor: float) -> None:
    """A power of two scales the smaller operand, another number the scores; bf16 and f16 stay in
    f32 between the products."""
    text = attention(mask, dtype, sizes, factor)
    phases = ("tiled", "virtual", "binary")
    assert not failures(text, arguments(text), "matmult", None, phases)

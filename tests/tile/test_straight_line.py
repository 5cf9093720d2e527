"""Code outside of loops: pieces, buffers that are written over, and values where they belong."""

import re
from math import prod

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, MemRefType

from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.attributes import PatternAttr
from neuronir.dialects.tile.rules import shape_of
from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.tile.test_found import arguments

PADDED = """
HloModule m

ENTRY e {
  x = f32[1,500,64] parameter(0)
  w = f32[2,64,64] parameter(1)
  v = f32[64,64] parameter(2)
  c = f32[1,500,64] convolution(x, w), window={size=2 pad=8_0 rhs_dilate=8}, dim_labels=b0f_0io->b0f
  d = f32[1,500,64] dot(x, v), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  ROOT r = f32[1,500,64] multiply(c, d)
}
"""
JOINED = """
HloModule m

ENTRY e {
  x = f32[1024,96] parameter(0)
  y = f32[1024,33] parameter(1)
  a = f32[1024,96] tanh(x)
  b = f32[1024,33] exponential(y)
  c = f32[1024,129] concatenate(a, b), dimensions={1}
  ROOT r = f32[1024,129] multiply(c, c)
}
"""
WRITTEN_OVER = """
HloModule m

ENTRY e {
  x = f32[640,96] parameter(0)
  y = f32[640,96] parameter(1)
  a = f32[640,96] tanh(x)
  b = f32[640,96] multiply(a, y)
  c = f32[640,96] cosine(b)
  t = f32[96,640] transpose(b), dimensions={1,0}
  d = f32[640,96] transpose(t), dimensions={1,0}
  e = f32[640,96] add(d, c)
  f = f32[640,96] maximum(e, a)
  ROOT r = f32[640,96] exponential(f)
}
"""
LONG_ROWS = """
HloModule m

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b)
}

ENTRY e {
  x = f32[4,2049] parameter(0)
  k = f32[] constant(-inf)
  y = f32[4,2049] tanh(x)
  m = f32[4] reduce(y, k), dimensions={1}, to_apply=max
  n = f32[4] negate(m)
  b = f32[4,2049] broadcast(n), dimensions={0}
  ROOT r = f32[4,2049] add(y, b)
}
"""
GROUPS = """
HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b)
}

ENTRY e {
  x = f32[30,50,24,5] parameter(0)
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  s = f32[24] reduce(x, zero), dimensions={0,1,3}, to_apply=add
  m = f32[24] reduce(x, low), dimensions={0,1,3}, to_apply=max
  t = f32[24] multiply(s, m)
  w = f32[30,50,24,5] broadcast(t), dimensions={2}
  d = f32[30,50,24,5] subtract(x, w)
  q = f32[30,50,24,5] multiply(d, d)
  ROOT r = f32[24] reduce(q, zero), dimensions={0,1,3}, to_apply=add
}
"""


@pytest.mark.parametrize("text", [PADDED, JOINED, WRITTEN_OVER, GROUPS])
@pytest.mark.parametrize("cast", ["none", "matmult"])
def test_agrees(text: str, cast: str) -> None:
    """The interpreter, the tiled module, the nc module and the binary agree."""
    assert not failures(text, arguments(text), cast, None, ("tiled", "virtual", "binary"))


def buffers(text: str) -> list[int]:
    """Bytes of a partition of the buffers in SBUF of a program on tiles."""
    options = CompileOptions(compile_to="virtual", tiling="always")
    module = compile_text(text, "trn1", options).module
    found = []
    for op in module.walk():
        if op.name == "nc.alloc" and "sbuf" in str(op.results[0].type):
            type_ = op.results[0].type
            assert isinstance(type_, MemRefType)
            shape = type_.get_shape()
            found.append(int(np.prod(shape[1:])))
    return found


def test_a_padded_value_is_made_in_its_place() -> None:
    """The image of the convolution has other readers, and no buffer beside the padded one."""
    assert sum(n >= 500 for n in buffers(PADDED)) == 1


WINDOWS = """
HloModule m

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] maximum(a, b)
}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  x = f32[W,T,C] parameter(0)
  w = f32[C,3C] parameter(1)
  o = f32[C,C] parameter(2)
  qkv = f32[W,T,3C] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  parts = f32[W,T,3,H,D] reshape(qkv)
  heads = f32[3,W,H,T,D] transpose(parts), dimensions={2,0,3,1,4}
  q1 = f32[1,W,H,T,D] slice(heads), slice={[0:1],[0:W],[0:H],[0:T],[0:D]}
  q = f32[W,H,T,D] reshape(q1)
  k1 = f32[1,W,H,T,D] slice(heads), slice={[1:2],[0:W],[0:H],[0:T],[0:D]}
  k = f32[W,H,T,D] reshape(k1)
  v1 = f32[1,W,H,T,D] slice(heads), slice={[2:3],[0:W],[0:H],[0:T],[0:D]}
  v = f32[W,H,T,D] reshape(v1)
  s = f32[W,H,T,T] dot(q, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,1},
      lhs_contracting_dims={3}, rhs_contracting_dims={3}
  low = f32[] constant(-inf)
  m = f32[W,H,T] reduce(s, low), dimensions={3}, to_apply=max
  mw = f32[W,H,T,T] broadcast(m), dimensions={0,1,2}
  d = f32[W,H,T,T] subtract(s, mw)
  e = f32[W,H,T,T] exponential(d)
  zero = f32[] constant(0)
  t = f32[W,H,T] reduce(e, zero), dimensions={3}, to_apply=add
  tw = f32[W,H,T,T] broadcast(t), dimensions={0,1,2}
  p = f32[W,H,T,T] divide(e, tw)
  y = f32[W,H,T,D] dot(p, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,1},
      lhs_contracting_dims={3}, rhs_contracting_dims={2}
  z = f32[W,T,H,D] transpose(y), dimensions={0,2,1,3}
  r = f32[W,T,C] reshape(z)
  ROOT out = f32[W,T,C] dot(r, o), lhs_contracting_dims={2}, rhs_contracting_dims={0}
}
"""


def windows(count: int, tokens: int, heads: int, depth: int) -> str:
    """Attention inside of windows, of heads of `depth` features."""
    numbers = {"3C": 3 * heads * depth, "C": heads * depth, "W": count, "T": tokens}
    text = WINDOWS
    for name, n in {**numbers, "H": heads, "D": depth}.items():
        text = re.sub(rf"(?<=[\[,:]){name}(?=[\],])", str(n), text)
    return text


@pytest.mark.parametrize("sizes", [(4, 64, 4, 32), (6, 49, 3, 32), (4, 25, 2, 64), (3, 40, 5, 16)])
def test_windows_agree(sizes: tuple[int, int, int, int]) -> None:
    """Products whose batch lies on partitions beside what is contracted, or beside their rows."""
    text = windows(*sizes)
    assert not failures(text, arguments(text), "matmult", None, ("tiled", "virtual", "binary"))


def test_heads_stay_on_their_partitions() -> None:
    """Heads of 32 features: scores read them where the projection has left them, and the second
    product writes them where the next projection reads them."""
    options = CompileOptions(compile_to="virtual", tiling="always")
    module = compile_text(windows(8, 64, 4, 32), "trn1", options).module
    starts = set()
    for op in module.walk():
        patterns = op.properties.get("patterns")
        if op.name == "nc.matmul" and isinstance(patterns, ArrayAttr):
            stationary = patterns.data[1]
            assert isinstance(stationary, PatternAttr)
            if stationary.data.partitions == 32:
                starts.add(stationary.data.start)
    assert starts == {0, 32, 64, 96}


def test_conversions_of_parts() -> None:
    """Queries, keys and values are products of their own, converted as they leave PSUM."""
    module = compile_text(
        windows(8, 64, 4, 32), "trn1", CompileOptions(compile_to="tiled", tiling="always")
    ).module
    casts = [op for op in module.walk() if op.name == "hlo.convert"]
    assert sum(isinstance(op.operands[0].owner, DotOp) for op in casts) == 4
    assert not any(op.operands[0].owner.name == "hlo.slice" for op in casts)  # type: ignore[union-attr]


SCALED = """
HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY e {
  x = f32[2,20,30,8,6] parameter(0)
  g = f32[48] parameter(1)
  zero = f32[] constant(0)
  q = f32[2,20,30,8,6] multiply(x, x)
  s = f32[2,8] reduce(q, zero), dimensions={1,2,4}, to_apply=add
  r = f32[2,8] rsqrt(s)
  rw = f32[2,20,30,8,6] broadcast(r), dimensions={0,3}
  n = f32[2,20,30,8,6] multiply(x, rw)
  f = f32[2,20,30,48] reshape(n)
  gw = f32[2,20,30,48] broadcast(g), dimensions={3}
  ROOT y = f32[2,20,30,48] multiply(f, gw)
}
"""


@pytest.mark.parametrize("cast", ["none", "matmult"])
def test_factors_are_joined(cast: str) -> None:
    """The scale of each group and of each feature is one factor of the large value."""
    assert not failures(SCALED, arguments(SCALED), cast, None, ("tiled", "virtual", "binary"))
    module = compile_text(
        SCALED, "trn1", CompileOptions(compile_to="tiled", tiling="always")
    ).module
    large = 2 * 20 * 30 * 48
    products = [
        op
        for op in module.walk()
        if op.name == "hlo.multiply" and prod(shape_of(op.results[0])) == large
    ]
    assert len(products) == 2  # the square, and the scale


TURNED = """
HloModule m

ENTRY e {
  x = f32[3,64,40] parameter(0)
  w = f32[40,96] parameter(1)
  d = f32[3,64,96] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  ROOT t = f32[64,96,3] transpose(d), dimensions={1,2,0}
}
"""


def test_a_result_is_made_in_its_order() -> None:
    """What leaves in another order is taken out of PSUM in that order, and not copied again."""
    assert not failures(TURNED, arguments(TURNED), "matmult", None, ("tiled", "virtual", "binary"))
    assert sum(n >= 3 * 96 for n in buffers(TURNED)) == 1


PLACES = """
HloModule m

ENTRY e {
  x = f32[28,28,32] parameter(0)
  w = f32[32,32] parameter(1)
  ROOT d = f32[28,28,32] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
}
"""


def test_rows_of_a_product_lie_as_in_hbm() -> None:
    """Each partition has seven places of an image row, one behind the other, and is stored as one
    run."""
    assert not failures(PLACES, arguments(PLACES), "matmult", None, ("tiled", "virtual", "binary"))
    options = CompileOptions(compile_to="tiled", tiling="always")
    module = compile_text(PLACES, "trn1", options).module
    (dot,) = (op for op in module.walk() if op.name == "hlo.dot")
    assert "[28p4], [4p1, 7f32], [32f1]" in str(dot.results[0].type)


def test_reductions_in_pieces_change_their_sign() -> None:
    """The maximum of a softmax over 2,049 columns was added: the quotients were right by chance."""
    x = np.random.default_rng(0).standard_normal((4, 2049)).astype(np.float32)
    y = np.tanh(x)
    want = {"out0": y - y.max(axis=1, keepdims=True)}
    assert not failures(LONG_ROWS, [x], "none", want, ("tiled", "virtual", "binary"))

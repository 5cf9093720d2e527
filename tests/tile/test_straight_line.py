"""Code outside of loops: pieces, buffers that are written over, and values where they belong."""

import numpy as np
import pytest
from xdsl.dialects.builtin import MemRefType

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

"""Operations on arrays without elements have results of the right shape."""

import numpy as np

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.semantics.linear_algebra import cholesky, householder_qr, lu
from neuronir.frontends.hlo_text import import_hlo_text

_ARGMAX = """HloModule argmax

larger {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  c = pred[] compare(a, b), direction=GE
  x = f32[] select(c, a, b)
  y = s32[] select(c, i, j)
  ROOT r = (f32[], s32[]) tuple(x, y)
}

ENTRY main {
  p = f32[3,0,16] parameter(0)
  q = s32[3,0,16] parameter(1)
  z = f32[] constant(0)
  w = s32[] constant(0)
  ROOT r = (f32[0,16], s32[0,16]) reduce(p, q, z, w), dimensions={0}, to_apply=larger
}
"""


def test_several_operands_are_reduced_to_nothing() -> None:
    args = [np.zeros((3, 0, 16), np.float32), np.zeros((3, 0, 16), np.int32)]
    results = [np.asarray(x) for x in interpret(import_hlo_text(_ARGMAX, "argmax.hlo"), args)]
    assert [x.shape for x in results] == [(0, 16), (0, 16)]


def test_matrices_without_elements_are_factored() -> None:
    a = np.zeros((2, 0, 0), np.float32)
    assert cholesky(a).shape == (2, 0, 0)
    assert [x.shape for x in lu(a)] == [(2, 0, 0), (2, 0), (2,)]
    assert [x.shape for x in householder_qr(a)] == [(2, 0, 0), (2, 0)]

"""Norms of rows in more pieces than their length says: their dimensions do not divide a piece."""

import numpy as np

from tests.differential.stages import failures
from tests.lowering.helpers import entry

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

"""


def test_groups_of_uneven_pieces() -> None:
    """51 places of 20 features are three pieces of at most 512 elements, not two."""
    x = np.random.default_rng(3).standard_normal((51, 4, 20)).astype(np.float32)
    text = entry(
        "x = f32[51,4,20] parameter(0)",
        "zero = f32[] constant(0)",
        "sum = f32[4] reduce(x, zero), dimensions={0,2}, to_apply=add",
        "n = f32[] constant(1020)",
        "ns = f32[4] broadcast(n), dimensions={}",
        "mean = f32[4] divide(sum, ns)",
        "means = f32[51,4,20] broadcast(mean), dimensions={1}",
        "centred = f32[51,4,20] subtract(x, means)",
        "squares = f32[51,4,20] multiply(centred, centred)",
        "total = f32[4] reduce(squares, zero), dimensions={0,2}, to_apply=add",
        "variance = f32[4] divide(total, ns)",
        "e = f32[] constant(1e-5)",
        "es = f32[4] broadcast(e), dimensions={}",
        "shifted = f32[4] add(variance, es)",
        "inverse = f32[4] rsqrt(shifted)",
        "inverses = f32[51,4,20] broadcast(inverse), dimensions={1}",
        "r = f32[51,4,20] multiply(centred, inverses)",
    )
    assert not failures(text.replace("ENTRY", f"{ADD}ENTRY"), [x])

"""Normalisation over two dimensions at once, with a scale for each place."""

import numpy as np

from tests.differential.stages import failures
from tests.lowering.helpers import entry


def test_scale_along_two_dimensions() -> None:
    """The scale runs along both: its elements are not those of one row repeated."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 3, 5)).astype(np.float32)
    scale = rng.standard_normal((3, 5)).astype(np.float32)
    text = entry(
        "x = f32[2,3,5] parameter(0)",
        "w = f32[3,5] parameter(1)",
        "zero = f32[] constant(0)",
        "squares = f32[2,3,5] multiply(x, x)",
        "total = f32[2] reduce(squares, zero), dimensions={1,2}, to_apply=add",
        "n = f32[] constant(15)",
        "ns = f32[2] broadcast(n), dimensions={}",
        "mean = f32[2] divide(total, ns)",
        "e = f32[] constant(1e-5)",
        "es = f32[2] broadcast(e), dimensions={}",
        "shifted = f32[2] add(mean, es)",
        "inverse = f32[2] rsqrt(shifted)",
        "inverses = f32[2,3,5] broadcast(inverse), dimensions={0}",
        "normal = f32[2,3,5] multiply(x, inverses)",
        "ws = f32[2,3,5] broadcast(w), dimensions={1,2}",
        "r = f32[2,3,5] multiply(normal, ws)",
    )
    lines = ("a = f32[] parameter(0)", "b = f32[] parameter(1)", "ROOT c = f32[] add(a, b)")
    add = "add {\n  " + "\n  ".join(lines) + "\n}\n\n"
    assert not failures(text.replace("ENTRY", f"{add}ENTRY"), [x, scale])

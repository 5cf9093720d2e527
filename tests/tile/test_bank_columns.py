"""Columns of products and convolutions in banks of PSUM, beside copies with other digits."""

import numpy as np
import pytest

from tests.differential.stages import stages
from tests.oracle import run_xla

PROGRAMS: dict[str, tuple[list[tuple[int, ...]], str]] = {
    "convolution of prime rows": (
        [(1, 31, 31, 40), (3, 3, 40, 130), (1, 29, 29, 130)],
        "c = f32[1,29,29,130] convolution(p0, p1), window={size=3x3}, dim_labels=b01f_01io->b01f\n"
        "  ROOT r = f32[1,29,29,130] add(c, p2)",
    ),
    "depthwise": (
        [(2, 41, 41, 24), (3, 3, 1, 24), (2, 37, 37, 24)],
        "c = f32[2,37,37,24] convolution(p0, p1), window={size=3x3 rhs_dilate=2x2}, "
        "dim_labels=b01f_01io->b01f, feature_group_count=24\n"
        "  ROOT r = f32[2,37,37,24] multiply(c, p2)",
    ),
    "product of odd rows": (
        [(7, 30, 23), (23, 100), (7, 31, 100)],
        "z = f32[] constant(0)\n"
        "  a = f32[7,31,23] pad(p0, z), padding=0_0x0_1x0_0\n"
        "  d = f32[7,31,100] dot(a, p1), lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
        "  ROOT r = f32[7,31,100] add(d, p2)",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_as_xla(name: str) -> None:
    shapes, body = PROGRAMS[name]
    lines = [
        f"p{i} = f32[{','.join(map(str, shape))}] parameter({i})" for i, shape in enumerate(shapes)
    ]
    text = "HloModule m\n\nENTRY e {\n  " + "\n  ".join([*lines, body]) + "\n}\n"
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    (wanted,) = run_xla(text, args)
    *_, stage = stages(text, args, "none", ("tiled", "binary"))
    (found,) = stage.outputs
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)

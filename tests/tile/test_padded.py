"""Padded values: loads beside their padding, and the order of their digits."""

import numpy as np
import pytest

from tests.differential.stages import failures

WINDOWS = """HloModule m

ENTRY e {
  x = f32[2,37,19,23] parameter(0)
  w = f32[37,1,3,3] parameter(1)
  ROOT r = f32[2,37,19,23] convolution(x, w), window={size=3x3 pad=1_1x1_1},
    dim_labels=bf01_oi01->bf01, feature_group_count=37
}
"""

KERNEL = """HloModule m

ENTRY e {
  x = f32[2,37,19,23] parameter(0)
  g = f32[2,37,19,23] parameter(1)
  ROOT r = f32[3,3,1,37] convolution(x, g), window={size=19x23 pad=1_1x1_1},
    dim_labels=fb01_io01->01bf, batch_group_count=37
}
"""

LONG = """HloModule m

ENTRY e {
  x = f32[2,40,42,96] parameter(0)
  g = f32[2,40,42,96] parameter(1)
  ROOT r = f32[3,3,1,96] convolution(x, g), window={size=40x42 pad=1_1x1_1},
    dim_labels=f01b_i01o->01bf, batch_group_count=96
}
"""
SHAPES = {
    WINDOWS: ((2, 37, 19, 23), (37, 1, 3, 3)),
    KERNEL: ((2, 37, 19, 23), (2, 37, 19, 23)),
    LONG: ((2, 40, 42, 96), (2, 40, 42, 96)),
}


@pytest.mark.parametrize("text", SHAPES)
def test_every_phase_agrees(text: str) -> None:
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape).astype(np.float32) for shape in SHAPES[text]]
    assert not failures(text, args, "none", None, ("tiled", "virtual", "binary"))

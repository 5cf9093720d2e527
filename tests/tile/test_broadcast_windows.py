"""Convolutions of broadcasts: every element of a window is at its own address."""

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.oracle import run_xla

IMAGE = """HloModule m
ENTRY e {
  x = f32[] parameter(0)
  image = f32[64,6,31,2] broadcast(x), dimensions={}
  kernel = f32[5,1,64,16] parameter(1)
  ROOT r = f32[3,26,4,16] convolution(image, kernel),
    window={size=5x1 pad=-1_0x1_0 lhs_dilate=1x2}, dim_labels=fb01_01io->b01f, batch_group_count=2
}
"""
BOTH = """HloModule m
ENTRY e {
  x = f32[2,16,7] parameter(0)
  image = f32[2,64,16,7] broadcast(x), dimensions={0,2,3}
  y = f32[96] parameter(1)
  kernel = f32[96,1,2,5] broadcast(y), dimensions={0}
  ROOT r = f32[1,96,6,2] convolution(image, kernel),
    window={size=1x5 stride=3x3 rhs_reversal=1x0}, dim_labels=bf01_o0i1->1f0b,
    feature_group_count=32
}
"""


@pytest.mark.parametrize(
    ("text", "shapes"), [(IMAGE, ((), (5, 1, 64, 16))), (BOTH, ((2, 16, 7), (96,)))]
)
def test_every_phase_gives_what_xla_gives(text: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(0)
    args = [np.asarray(rng.normal(size=s), np.float32) for s in shapes]
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, "none", want, ("tiled", "virtual", "binary"))

"""Convolutions with what is fused into them, against the interpreter."""

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry

PHASES = ("virtual", "binary")


def _residual_block(cast: str, more: str) -> str:
    features = ",".join(str(0.25 * k - 3) for k in range(160))
    return entry(
        "x = f32[1,6,6,32] parameter(0)",
        "w = f32[3,3,32,160] parameter(1)",
        "r = f32[1,6,6,160] parameter(2)",
        "v = f32[1,1,160,40] parameter(3)",
        f"b = f32[160] constant({{{features}}})",
        "c = f32[1,6,6,160] convolution(x, w), window={size=3x3 pad=1_1x1_1}, "
        "dim_labels=b01f_01io->b01f",
        "bb = f32[1,6,6,160] broadcast(b), dimensions={3}",
        "d = f32[1,6,6,160] add(c, bb)",
        "e = f32[1,6,6,160] add(d, r)",
        "z = f32[] constant(0)",
        "zz = f32[1,6,6,160] broadcast(z), dimensions={}",
        f"f = f32[1,6,6,160] {more}",
        "n = f32[1,6,6,40] convolution(f, v), window={size=1x1}, dim_labels=b01f_01io->b01f",
        "s = f32[1,6,6,160] multiply(f, r)",
        "t = (f32[1,6,6,40], f32[1,6,6,160]) tuple(n, s)",
    )


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("more", ["maximum(e, zz)", "tanh(e)", "copy(e)"])
def test_a_block_with_a_bias_and_a_residual(cast: str, more: str) -> None:
    rng = np.random.default_rng(0)
    shapes = ((1, 6, 6, 32), (3, 3, 32, 160), (1, 6, 6, 160), (1, 1, 160, 40))
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    assert not failures(_residual_block(cast, more), args, cast, phases=PHASES)

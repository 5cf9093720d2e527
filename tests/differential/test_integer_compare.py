"""Comparisons of any 32-bit integers with indices, which are taken in fp32, at every phase."""

import numpy as np
import pytest

from tests.differential.stages import stages

EDGES = [0, 1, 5, 199, 200, 2**24 - 1, 2**24, 2**24 + 1, 2**31 - 1]
COMPARE = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


@pytest.mark.parametrize("direction", COMPARE)
@pytest.mark.parametrize("number", [2**24 - 1, 2**24 + 1, 2**31 - 1])
def test_integers_and_a_constant(number: int, direction: str) -> None:
    near = [number - 2, number - 1, number, 2**24, -number]
    x = np.resize(np.array(near, np.int32), (32, 128))
    text = f"""HloModule m

ENTRY e {{
  x = s32[32,128] parameter(0)
  c = s32[] constant({number})
  cs = s32[32,128] broadcast(c), dimensions={{}}
  ROOT p = pred[32,128] compare(x, cs), direction={direction}
}}
"""
    found = COMPARE[direction](x.astype(np.int64), number)
    for stage in stages(text, [x], phases=("tiled", "binary")):
        assert np.array_equal(stage.outputs[0], found), stage.phase


@pytest.mark.parametrize("direction", COMPARE)
@pytest.mark.parametrize("kind", ["s32", "u32"])
def test_integers_and_indices(kind: str, direction: str) -> None:
    edges = EDGES + ([-n for n in EDGES] + [-(2**31)] if kind == "s32" else [2**31, 2**32 - 1])
    y = np.resize(np.array(edges, np.int64), 64).astype(np.int32 if kind == "s32" else np.uint32)
    text = f"""HloModule m

ENTRY e {{
  y = {kind}[64] parameter(0)
  w = f32[64,200] parameter(1)
  ys = {kind}[64,200] broadcast(y), dimensions={{0}}
  i = {kind}[64,200] iota(), iota_dimension=1
  c = pred[64,200] compare(ys, i), direction={direction}
  z = f32[] constant(0)
  zs = f32[64,200] broadcast(z), dimensions={{}}
  ROOT s = f32[64,200] select(c, w, zs)
}}
"""
    w = np.random.default_rng(0).standard_normal((64, 200)).astype(np.float32)
    found = COMPARE[direction](y.astype(np.int64)[:, None], np.arange(200))
    for stage in stages(text, [y, w], phases=("tiled", "binary")):
        assert np.array_equal(stage.outputs[0], np.where(found, w, 0)), stage.phase

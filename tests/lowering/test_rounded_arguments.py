"""Arguments that are rounded to a narrow type and back lose their bits on both paths."""

import ml_dtypes
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run

TYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}


@pytest.mark.parametrize("tiling", ["never", "always"])
@pytest.mark.parametrize("narrow", TYPES)
def test_there_and_back(narrow: str, tiling: str) -> None:
    """Transfers convert, but not over a rounding: the other type is one of the rounded values."""
    other = "f16" if narrow == "bf16" else "bf16"
    text = f"""HloModule m
ENTRY e {{
  p = f32[128,64] parameter(0)
  n = {narrow}[128,64] convert(p)
  v = {narrow}[64,128] reshape(n)
  w = f32[64,128] convert(v)
  o = {other}[128,64] convert(n)
  a = f32[64,128] abs(w)
  ROOT r = (f32[64,128], f32[64,128], {other}[128,64]) tuple(a, w, o)
}}
"""
    x = np.random.default_rng(0).standard_normal((128, 64), np.float32)
    options = CompileOptions(auto_cast="none", tiling=tiling)
    program = compile_text(text, "trn1", options).program
    assert program is not None
    found = run(program, [x], get_target("trn1").machine).outputs
    rounded = x.astype(TYPES[narrow]).astype(np.float32)
    wide = rounded.reshape(64, 128)
    for array, expected in zip(found, (np.abs(wide), wide, rounded), strict=True):
        assert np.array_equal(array, expected.astype(array.dtype))

"""Concatenations of slices of arguments, which transfers put together in HBM."""

import numpy as np
import pytest
from ml_dtypes import bfloat16

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures

ROLL = """HloModule m

ENTRY e {
  x = f32[129,901] parameter(0)
  a = f32[3,901] slice(x), slice={[126:129], [0:901]}
  b = f32[126,901] slice(x), slice={[0:126], [0:901]}
  c = f32[129,901] concatenate(a, b), dimensions={0}
  d = f32[129,7] slice(c), slice={[0:129], [894:901]}
  f = f32[129,894] slice(c), slice={[0:129], [0:894]}
  ROOT r = f32[129,901] concatenate(d, f), dimensions={1}
}
"""

REPEATED = """HloModule m

ENTRY e {
  x = bf16[70,257] parameter(0)
  a = bf16[70,200] slice(x), slice={[0:70], [57:257]}
  b = bf16[140,200] concatenate(a, a), dimensions={0}
  c = bf16[35,200] slice(b), slice={[0:70:2], [0:200]}
  t = bf16[35,200] tanh(c)
  ROOT r = (bf16[140,200], bf16[35,200]) tuple(b, t)
}
"""

SPANS = """HloModule m

ENTRY e {
  x = f32[64,300] parameter(0)
  y = f32[64,300] tanh(x)
  c = f32[128,300] concatenate(x, y), dimensions={0}
  d = f32[40,150] slice(c), slice={[50:90], [0:300:2]}
  ROOT r = f32[40,150] exponential(d)
}
"""

SHORT = """HloModule m

ENTRY e {
  x = f32[20000,3] parameter(0)
  a = f32[20000,1] slice(x), slice={[0:20000], [2:3]}
  b = f32[20000,2] slice(x), slice={[0:20000], [0:2]}
  ROOT r = f32[20000,3] concatenate(a, b), dimensions={1}
}
"""


@pytest.mark.parametrize("text", [ROLL, REPEATED, SPANS, SHORT])
def test_every_phase_agrees(text: str) -> None:
    shape, kind = {
        ROLL: ((129, 901), np.float32),
        REPEATED: ((70, 257), bfloat16),
        SPANS: ((64, 300), np.float32),
        SHORT: ((20000, 3), np.float32),
    }[text]
    x = np.random.default_rng(0).standard_normal(shape).astype(kind)
    assert not failures(text, [x], "none", None, ("tiled", "virtual", "binary"))


@pytest.mark.parametrize(("text", "whole"), [(ROLL, 3), (SPANS, 0), (SHORT, 0)])
def test_long_rows_of_arguments_are_moved(text: str, whole: int) -> None:
    options = CompileOptions(compile_to="tiled", tiling="always")
    ops = list(compile_text(text, "trn1", options).module.walk())
    marked = [o for o in ops if o.name == "hlo.concatenate" and "tile.whole" in o.attributes]
    assert len(marked) == whole

"""What is only moved keeps its bits: the sign of zero, and NaN beside numbers."""

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.functional import Options, run

BROADCAST = """HloModule m
ENTRY e {
  x = TYPE[64] parameter(0)
  y = TYPE[300,64] parameter(1)
  b = TYPE[300,64] broadcast(x), dimensions={1}
  ROOT r = TYPE[300,64] maximum(b, y)
}"""
TRANSPOSE = """HloModule m
ENTRY e {
  x = TYPE[128,16,7] parameter(0)
  ROOT t = TYPE[16,7,128] transpose(x), dimensions={1,2,0}
}"""
TYPES = {
    "f32": np.dtype(np.float32),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3),
}


@pytest.mark.parametrize("name", ["f32", "bf16"])
def test_broadcasts(name: str) -> None:
    program = compile_text(
        BROADCAST.replace("TYPE", name), "trn1", CompileOptions(tiling="always")
    ).program
    assert program is not None
    x = np.full(64, -0.0).astype(TYPES[name])
    x[::3] = np.nan
    y = np.full((300, 64), -1.0).astype(TYPES[name])
    (got,) = run(program, [x, y], get_machine("trn1"), Options(races=True)).outputs
    wide = got.astype(np.float32)
    assert np.isnan(wide[:, ::3]).all() and not np.isnan(wide[:, 1::3]).any()
    assert np.signbit(wide[:, 1::3]).all()


@pytest.mark.parametrize("name", sorted(TYPES))
def test_transposes(name: str) -> None:
    program = compile_text(
        TRANSPOSE.replace("TYPE", name), "trn1", CompileOptions(tiling="always")
    ).program
    assert program is not None
    x = np.random.default_rng(0).normal(size=(128, 16, 7)).astype(TYPES[name])
    x[::5, 0] = -0.0
    x[1::7, :, 2] = np.nan
    (got,) = run(program, [x], get_machine("trn1"), Options(races=True)).outputs
    np.testing.assert_array_equal(got.view(np.uint8), x.transpose(1, 2, 0).copy().view(np.uint8))

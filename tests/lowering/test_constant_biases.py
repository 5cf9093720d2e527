"""Constant biases on a machine without fp32 matmuls: PE adds their bf16 parts, exactly."""

import numpy as np
import pytest

from neuronir.api import Executable
from neuronir.driver import CompileOptions, compile_text
from tests.lowering.helpers import entry


@pytest.mark.parametrize("dimension", [0, 1])
def test_eviction_adds_constant_bias_and_applies_function(dimension: int) -> None:
    bias_size = (256, 192)[dimension]
    text = entry(
        "x = f32[128,256] parameter(0)",
        "w = f32[128,192] parameter(1)",
        f"b = f32[{bias_size}] parameter(2)",
        "d = f32[256,192] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        f"v = f32[256,192] broadcast(b), dimensions={{{dimension}}}",
        "s = f32[256,192] add(d, v)",
        "zero = f32[] constant(0)",
        "zeros = f32[256,192] broadcast(zero), dimensions={}",
        "r = f32[256,192] maximum(s, zeros)",
    )
    rng = np.random.default_rng(dimension)
    bias = rng.standard_normal(bias_size).astype(np.float32) * 16
    options = CompileOptions(weights={"arg2": bias}, tiling="never")
    result = compile_text(text, "inf1", options)
    assert result.program is not None
    items = [i for engine in result.program.streams["main"].values() for i in engine]
    assert not [i for i in items if getattr(i, "opcode", "") == "tensor_tensor"]
    x, w = (rng.integers(-3, 4, s).astype(np.float32) for s in ((128, 256), (128, 192)))
    (mine,) = Executable(result.program, result.encoding)(x, w).values()
    broadcast = bias[:, None] if dimension == 0 else bias
    np.testing.assert_array_equal(mine, np.maximum(x.T @ w + broadcast, 0))

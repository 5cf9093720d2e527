"""Kernels at special numbers, and each function of the scalar engine against another one of it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from tests.nc.tiles import compute

F32 = DType.F32
ROW = np.array([[1.0, np.nan, 3.0], [np.inf, 2.0, -np.inf], [-1.0, -2.0, -3.0]], np.float32)
SPECIAL: dict[AluOp, list[float]] = {
    AluOp.MAX: [np.nan, np.inf, -1.0],
    AluOp.MIN: [np.nan, -np.inf, -3.0],
    AluOp.ADD: [np.nan, np.nan, -6.0],
    AluOp.ABS_MAX: [np.nan, np.inf, 3.0],
}


@pytest.mark.parametrize("op", SPECIAL)
@pytest.mark.parametrize("engine", [Engine.DVE, Engine.POOL])
def test_reductions_keep_nan(op: AluOp, engine: Engine) -> None:
    (out,) = compute(
        "tensor_reduce", engine, [((3, 1), F32)], [(ROW, F32)], {"op": int(op), "axes": 1}
    )
    np.testing.assert_array_equal(out[:, 0], SPECIAL[op])
    columns = np.ascontiguousarray(ROW.T)
    (out,) = compute(
        "partition_all_reduce", Engine.POOL, [((3, 3), F32)], [(columns, F32)], {"op": int(op)}
    )
    np.testing.assert_array_equal(out, np.broadcast_to(SPECIAL[op], (3, 3)))


@pytest.mark.parametrize("op", [AluOp.MAX, AluOp.MIN, AluOp.ADD])
@pytest.mark.parametrize("engine", [Engine.DVE, Engine.POOL])
def test_pairs_keep_nan(op: AluOp, engine: Engine) -> None:
    x = np.array([[np.nan, 1.0, np.nan, np.inf]], np.float32)
    y = np.array([[1.0, np.nan, np.nan, 1.0]], np.float32)
    (out,) = compute(
        "tensor_tensor", engine, [((1, 4), F32)], [(x, F32), (y, F32)], {"op": int(op)}
    )
    assert np.isnan(out[0, :3]).all() and not np.isnan(out[0, 3])
    (out,) = compute(
        "dma", Engine.DMA0, [((1, 4), F32)], [(y, F32)], {"accumulate": int(op)}, start=[x]
    )
    assert np.isnan(out[0, :3]).all() and not np.isnan(out[0, 3])


FUNCTIONS: dict[Activation, Callable[[float], float]] = {
    Activation.COPY: lambda x: x,
    Activation.SQUARE: lambda x: x * x,
    Activation.SIGMOID: lambda x: 1 / (1 + math.exp(-x)),
    Activation.RELU: lambda x: max(x, 0.0),
    Activation.GELU: lambda x: x * math.erfc(-x / math.sqrt(2)) / 2,
    # Hendrycks and Gimpel (2016), equation 2.
    Activation.GELU_TANH: lambda x: (
        x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    Activation.SILU: lambda x: x / (1 + math.exp(-x)),
    Activation.TANH: math.tanh,
    Activation.SOFTPLUS: lambda x: math.log1p(math.exp(x)),
    Activation.MISH: lambda x: x * math.tanh(math.log1p(math.exp(x))),
    Activation.ERF: math.erf,
    Activation.EXP: math.exp,
    Activation.LOG: lambda x: math.log(x) if x > 0 else math.nan,
    Activation.SIN: math.sin,
    Activation.ARCTAN: math.atan,
    Activation.SQRT: lambda x: math.sqrt(x) if x >= 0 else math.nan,
    Activation.RSQRT: lambda x: 1 / math.sqrt(x) if x > 0 else math.nan,
    Activation.RECIPROCAL: lambda x: 1 / x,
    Activation.SIGN: lambda x: math.copysign(1.0, x),
    Activation.ABS: abs,
}


@pytest.mark.parametrize("func", Activation)
def test_each_function_at_each_tenth(func: Activation) -> None:
    x = (np.arange(-60, 60, dtype=np.float32) + np.float32(0.5)) / np.float32(10)
    (out,) = compute(
        "activation",
        Engine.ACT,
        [((1, x.size), F32), None],
        [(x[None], F32), None, None],
        {"func": int(func), "scale": 1.0, "bias": 0.0},
    )
    expected: Any = [FUNCTIONS[func](float(v)) for v in x]
    np.testing.assert_allclose(out[0], expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("target", [DType.I8, DType.U8, DType.I16, DType.I32, DType.U32])
def test_conversions_drop_the_fraction(target: DType) -> None:
    x = np.array([[0.5, 0.999, 1.5, 2.5, 2.9999, 126.7, -0.5, -0.999]], np.float32)
    for opcode, engine in (("tensor_copy", Engine.DVE), ("dma", Engine.DMA0)):
        (out,) = compute(opcode, engine, [((1, 8), target)], [(x, F32)])
        assert out[0].tolist() == [0, 0, 1, 2, 2, 126, 0, 0]


def test_remainders_have_the_sign_of_the_dividend() -> None:
    x = np.array([[5.5, -5.5, 5.5, -5.5]], np.float32)
    y = np.array([[2.0, 2.0, -2.0, -2.0]], np.float32)
    params: dict[str, int | float] = {"op": int(AluOp.MOD)}
    (out,) = compute("tensor_tensor", Engine.DVE, [((1, 4), F32)], [(x, F32), (y, F32)], params)
    assert out[0].tolist() == [1.5, -1.5, 1.5, -1.5]

"""What instructions compute, against independent formulas."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from neuronir.dialects.nc.semantics import SemanticError
from neuronir.dialects.nc.semantics.convert import converted
from neuronir.dialects.nc.semantics.erf import erf, erfc
from neuronir.dialects.support.tf32 import round_tf32
from tests.nc.tiles import compute

F32, BF16, I32, U32 = DType.F32, DType.BF16, DType.I32, DType.U32
RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def test_matmul_of_bf16_is_exact_for_small_integers() -> None:
    a = RNG.integers(-8, 8, (128, 4, 32)).astype(ml_dtypes.bfloat16)
    b = RNG.integers(-8, 8, (128, 512)).astype(ml_dtypes.bfloat16)
    start = floats(128, 512)
    (once,) = compute("matmul", Engine.PE, [((128, 512), F32)], [(a, BF16), (b, BF16)])
    expected = a.reshape(128, 128).astype(np.int64).T @ b.astype(np.int64)
    assert np.array_equal(once, expected)
    (sums,) = compute(
        "matmul",
        Engine.PE,
        [((128, 512), F32)],
        [(a, BF16), (b, BF16)],
        {"accumulate": 1},
        start=[start],
    )
    assert np.array_equal(sums, start + expected.astype(np.float32))


def test_matmul_of_fp32_keeps_all_bits_and_tf32_does_not() -> None:
    a = np.full((1, 1), 1 + 2.0**-20, np.float32)
    one = np.ones((1, 1), np.float32)
    (full,) = compute("matmul", Engine.PE, [((1, 1), F32)], [(a, F32), (one, F32)])
    (short,) = compute("matmul", Engine.PE, [((1, 1), F32)], [(a, DType.TF32), (one, DType.TF32)])
    assert full[0, 0] == a[0, 0] and short[0, 0] == 1


def test_tf32_rounds_to_nearest_even() -> None:
    unit = 2.0**-10
    values = np.array([1 + unit / 2, 1 + 3 * unit / 2, 1 + unit * 0.51, np.inf, -0.0], np.float32)
    assert round_tf32(values).tolist() == [1, 1 + 2 * unit, 1 + unit, np.inf, 0]
    assert np.isnan(round_tf32(np.array([np.nan], np.float32)))[0]


def test_pe_transpose_spreads_nan() -> None:
    x = floats(4, 3)
    (clean,) = compute("transpose", Engine.PE, [((3, 4), F32)], [(x, F32)])
    assert np.array_equal(clean, x.T)
    x[1, 2] = np.inf
    (dirty,) = compute("transpose", Engine.PE, [((3, 4), F32)], [(x, F32)])
    assert np.isnan(dirty[2, [0, 2, 3]]).all() and dirty[2, 1] == np.inf
    assert np.array_equal(dirty[:2], x.T[:2])
    (later,) = compute("transpose", Engine.PE, [((3, 4), F32)], [(x, F32)], generation=3)
    assert np.array_equal(later, x.T)


def test_dve_transpose_is_bit_exact() -> None:
    x = RNG.integers(0, 1 << 16, (32, 32)).astype(np.uint16).view(ml_dtypes.bfloat16)
    (out,) = compute("transpose_dve", Engine.DVE, [((32, 32), BF16)], [(x, BF16)])
    assert np.array_equal(out.view(np.uint16), x.view(np.uint16).T)


def test_erf_is_exact_in_fp32() -> None:
    x = np.concatenate([np.linspace(-6, 6, 20001), [27.0, -30.0]])
    exact = np.array([math.erf(v) for v in x])
    assert np.max(np.abs(erf(x) - exact)) < 1e-15
    tail = np.array([math.erfc(v) for v in x])
    np.testing.assert_allclose(erfc(x), tail, rtol=1e-13)
    assert (
        erf(np.array([np.inf, -np.inf])).tolist() == [1, -1]
        and np.isnan(erf(np.array([np.nan])))[0]
    )


ACTIVATIONS: dict[Activation, Callable[[Any], Any]] = {
    Activation.SIGMOID: lambda x: 1 / (1 + np.exp(-x)),
    Activation.GELU: lambda x: (
        0.5 * x * np.array([math.erfc(-v / 2**0.5) for v in x.flat]).reshape(x.shape)
    ),
    Activation.SILU: lambda x: x / (1 + np.exp(-x)),
    Activation.TANH: np.tanh,
    Activation.SOFTPLUS: lambda x: np.log(1 + np.exp(x)),
    Activation.MISH: lambda x: x * np.tanh(np.log(1 + np.exp(x))),
    Activation.EXP: np.exp,
    Activation.RELU: lambda x: np.maximum(x, 0),
    Activation.SQUARE: np.square,
    Activation.ABS: np.abs,
    Activation.SIGN: np.sign,
}


@pytest.mark.parametrize("func", ACTIVATIONS)
def test_activation(func: Activation) -> None:
    x, scale, bias = floats(8, 16), floats(8, 1), floats(8, 1)
    out, total = compute(
        "activation",
        Engine.ACT,
        [((8, 16), F32), ((8, 1), F32)],
        [(x, F32), (scale, F32), (bias, F32)],
        {"func": int(func)},
    )
    argument = (x * scale + bias).astype(np.float64)
    expected = ACTIVATIONS[func](argument)
    np.testing.assert_allclose(out, expected, rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(total[:, 0], expected.sum(axis=1), rtol=1e-5, atol=1e-5)


def test_activation_flags_arguments_outside_its_range() -> None:
    warnings: list[str] = []
    x = np.array([[1.0, -3.0, 0.5]], np.float32)
    compute(
        "activation",
        Engine.ACT,
        [((1, 3), F32), None],
        [(x, F32), None, None],
        {"func": int(Activation.SQRT)},
        warnings=warnings,
    )
    assert len(warnings) == 1 and warnings[0].startswith("1 arguments of sqrt outside")


def test_integers_are_exact_on_pool_and_rounded_on_dve() -> None:
    a = np.array([[2**24 + 1, 2**31 - 1]], np.int32)
    b = np.array([[2, 1]], np.int32)
    exact, rounded = (
        compute(
            "tensor_tensor",
            engine,
            [((1, 2), I32)],
            [(a, I32), (b, I32)],
            {"op": int(AluOp.ADD)},
        )[0]
        for engine in (Engine.POOL, Engine.DVE)
    )
    assert exact.tolist() == [[2**24 + 3, -(2**31)]]
    assert rounded.tolist() == [[2**24 + 2, 2**31 - 1]]


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.int32, (1, 4)), hnp.arrays(np.int32, (1, 4)))
def test_pool_integer_operators(a: np.ndarray, b: np.ndarray) -> None:
    def wrap(v: int) -> int:
        return (v + 2**31) % 2**32 - 2**31

    def quotient(x: int, y: int) -> int:
        return -1 if y == 0 else wrap(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1))

    def remainder(x: int, y: int) -> int:
        return x if y == 0 else int(math.copysign(1, x)) * (abs(x) % abs(y))

    formulas: dict[AluOp, Callable[[int, int], int]] = {
        AluOp.MULTIPLY: lambda x, y: wrap(x * y),
        AluOp.SUBTRACT: lambda x, y: wrap(x - y),
        AluOp.DIVIDE: quotient,
        AluOp.MOD: remainder,
        AluOp.IS_LT: lambda x, y: int(x < y),
        AluOp.MAX: max,
    }
    for op, formula in formulas.items():
        (out,) = compute(
            "tensor_tensor", Engine.POOL, [((1, 4), I32)], [(a, I32), (b, I32)], {"op": int(op)}
        )
        assert out[0].tolist() == [formula(int(x), int(y)) for x, y in zip(a[0], b[0], strict=True)]


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.uint32, (1, 4)), st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_bit_operators_are_exact_on_both_engines(a: np.ndarray, amounts: list[int]) -> None:
    b = np.array([amounts], np.uint32)
    formulas: dict[AluOp, Callable[[int, int], int]] = {
        AluOp.BITWISE_AND: lambda x, y: x & y,
        AluOp.BITWISE_XOR: lambda x, y: x ^ y,
        AluOp.SHIFT_LEFT: lambda x, y: (x << y) & 0xFFFFFFFF,
        AluOp.SHIFT_RIGHT_LOGICAL: lambda x, y: x >> y,
        AluOp.SHIFT_RIGHT_ARITHMETIC: lambda x, y: ((x - (x >> 31 << 32)) >> y) & 0xFFFFFFFF,
    }
    for engine in (Engine.DVE, Engine.POOL):
        for op, formula in formulas.items():
            (out,) = compute(
                "tensor_tensor", engine, [((1, 4), U32)], [(a, U32), (b, U32)], {"op": int(op)}
            )
            assert out[0].tolist() == [
                formula(int(x), y) for x, y in zip(a[0], amounts, strict=True)
            ]


def test_tensor_scalar_and_scalar_tensor_tensor() -> None:
    x, t, a = floats(4, 6), floats(4, 6), floats(4, 1)
    params: dict[str, int | float] = {
        "op0": int(AluOp.SUBTRACT),
        "reverse0": 1,
        "op1": int(AluOp.MAX),
        "imm1": 0.25,
    }
    (out,) = compute(
        "tensor_scalar", Engine.DVE, [((4, 6), F32)], [(x, F32), (a, F32), None], params
    )
    assert np.array_equal(out, np.maximum(a - x, np.float32(0.25)))
    (out,) = compute(
        "scalar_tensor_tensor",
        Engine.DVE,
        [((4, 6), BF16)],
        [(x, F32), (a, F32), (t, F32)],
        {"op0": int(AluOp.MULTIPLY), "op1": int(AluOp.ADD)},
    )
    assert np.array_equal(out, (x * a + t).astype(ml_dtypes.bfloat16))


def test_comparisons_and_logic_give_ones_and_zeros() -> None:
    a = np.array([[1.0, 2.0, 0.0, np.nan]], np.float32)
    b = np.array([[1.0, 1.0, 3.0, np.nan]], np.float32)
    expected = {
        AluOp.IS_EQ: [1, 0, 0, 0],
        AluOp.IS_NE: [0, 1, 1, 1],
        AluOp.IS_GE: [1, 1, 0, 0],
        AluOp.LOGICAL_AND: [1, 1, 0, 1],
        AluOp.LOGICAL_XOR: [0, 0, 1, 0],
    }
    for op, values in expected.items():
        (out,) = compute(
            "tensor_tensor",
            Engine.DVE,
            [((1, 4), DType.BOOL)],
            [(a, F32), (b, F32)],
            {"op": int(op)},
        )
        assert out[0].tolist() == values, op


def test_bit_operators_do_not_mix_with_arithmetic() -> None:
    x = np.zeros((1, 2), np.int32)
    params: dict[str, int | float] = {
        "op0": int(AluOp.BITWISE_AND),
        "imm0": 3.0,
        "op1": int(AluOp.ADD),
        "imm1": 1.0,
    }
    with pytest.raises(SemanticError, match="bit operators cannot be mixed"):
        compute("tensor_scalar", Engine.DVE, [((1, 2), I32)], [(x, I32), None, None], params)


def test_conversions_saturate_truncate_and_overflow() -> None:
    x = np.array([1.9, -1.9, 300.0, -300.0, np.nan, np.inf], np.float32)
    assert converted(x, DType.I8).tolist() == [1, -1, 127, -128, 0, 127]
    assert converted(x, DType.U8).tolist() == [1, 0, 255, 0, 0, 255]
    top = np.array([3.4e38, 1e5], np.float32)
    assert np.isinf(converted(top, BF16).astype(np.float32)[0])
    assert np.isinf(converted(top, DType.F16)).all()
    assert np.isinf(converted(top, DType.F8E4M3).astype(np.float32)).all()
    wide = np.array([1e30, -1e30], np.float32)
    assert converted(wide, I32).tolist() == [2**31 - 1, -(2**31)]
    assert converted(wide, DType.I64).tolist() == [2**63 - 1, -(2**63)]


def test_copy_is_bit_exact_and_integers_do_not_round() -> None:
    bits = RNG.integers(0, 1 << 32, (2, 8), dtype=np.uint32)
    nans = bits.view(np.float32)
    (out,) = compute("tensor_copy", Engine.DVE, [((2, 8), F32)], [(nans, F32)])
    assert np.array_equal(out.view(np.uint32), bits)
    values = np.array([[2**24 + 1, -5]], np.int32)
    (out,) = compute("tensor_copy", Engine.DVE, [((1, 2), DType.I16)], [(values, I32)])
    assert out.tolist() == [[1, -5]]


def test_copy_predicated_keeps_the_others() -> None:
    p = np.array([[0, 1, 2]], np.uint8)
    src, old = floats(1, 3), floats(1, 3)
    for invert in (0, 1):
        (out,) = compute(
            "copy_predicated",
            Engine.DVE,
            [((1, 3), F32)],
            [(p, DType.U8), (src, F32)],
            {"invert": invert},
            start=[old],
        )
        assert np.array_equal(out, np.where((p != 0) != bool(invert), src, old))


def test_reduce_scan_and_partition_reduce() -> None:
    x = RNG.integers(-9, 9, (3, 4, 5)).astype(np.float32)
    (out,) = compute(
        "tensor_reduce",
        Engine.DVE,
        [((3, 4), F32)],
        [(x, F32)],
        {"op": int(AluOp.ADD), "axes": 1, "negate": 1},
    )
    assert np.array_equal(out, -x.sum(axis=2))
    (out,) = compute(
        "tensor_reduce",
        Engine.DVE,
        [((3, 1), F32)],
        [(x, F32)],
        {"op": int(AluOp.MAX), "axes": 2},
    )
    assert np.array_equal(out[:, 0], x.max(axis=(1, 2)))
    a, b = floats(2, 5), floats(2, 5)
    (out,) = compute(
        "tensor_tensor_scan",
        Engine.DVE,
        [((2, 5), F32)],
        [(a, F32), (b, F32), None],
        {"op0": int(AluOp.MULTIPLY), "op1": int(AluOp.ADD), "initial": 2.0},
    )
    running = np.full(2, 2, np.float32)
    for i in range(5):
        running = a[:, i] * running + b[:, i]
        assert np.array_equal(out[:, i], running)
    (out,) = compute(
        "partition_all_reduce",
        Engine.POOL,
        [((3, 4, 5), F32)],
        [(x, F32)],
        {"op": int(AluOp.MAX)},
    )
    assert np.array_equal(out, np.broadcast_to(x.max(axis=0), x.shape))


@pytest.mark.parametrize("size", [1, 7, 512])
def test_bn_stats_and_aggr_give_mean_and_variance(size: int) -> None:
    x = floats(4, size)
    (stats,) = compute("bn_stats", Engine.DVE, [((4, 6), F32)], [(x, F32)])
    assert np.array_equal(stats[:, 0] + stats[:, 3], np.full(4, size))
    np.testing.assert_allclose(stats[:, 1], x[:, ::2].mean(axis=1), rtol=1e-5, atol=1e-6)
    (both,) = compute("bn_aggr", Engine.DVE, [((4, 2), F32)], [(stats, F32)])
    np.testing.assert_allclose(both[:, 0], x.mean(axis=1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(both[:, 1], x.var(axis=1), rtol=1e-5, atol=1e-6)


def test_max8_find_and_replace_with_equal_values() -> None:
    x = np.array([[5, 1, 7, 5, 3, 7, 0, 2, 4, 6]], np.float32)
    (top,) = compute("max8", Engine.DVE, [((1, 8), F32)], [(x, F32)])
    assert top[0].tolist() == [7, 7, 6, 5, 5, 4, 3, 2]
    top[0, 7] = 99
    (index,) = compute("find_index8", Engine.DVE, [((1, 8), U32)], [(x, F32), (top, F32)])
    assert index[0].tolist() == [2, 5, 9, 0, 3, 8, 4, 0xFFFFFFFF]
    (left,) = compute(
        "match_replace8", Engine.DVE, [((1, 10), F32)], [(x, F32), (top, F32)], {"value": -1.0}
    )
    assert left[0].tolist() == [-1, 1, -1, -1, -1, -1, 0, 2, -1, -1]


def test_iota_and_affine_select() -> None:
    params: dict[str, int | float] = {"base": 3, "channel_multiplier": -2, "step0": 10, "step1": 1}
    (out,) = compute("iota", Engine.POOL, [((4, 2, 3), I32)], [], params)
    p, i, j = np.meshgrid(range(4), range(2), range(3), indexing="ij")
    assert np.array_equal(out, 3 - 2 * p + 10 * i + j)
    x = floats(4, 4)
    (out,) = compute(
        "affine_select",
        Engine.POOL,
        [((4, 4), F32)],
        [(x, F32)],
        {"op": int(AluOp.IS_GE), "fill": -1.0, "base": 0, "channel_multiplier": 1, "step0": -1},
    )
    assert np.array_equal(out, np.where(np.tri(4, dtype=bool), x, np.float32(-1)))


def test_gathers_and_scatters() -> None:
    x = floats(2, 5)
    index = np.array([[4, 0, 4], [1, 2, 3]], np.uint16)
    (out,) = compute("n_gather", Engine.POOL, [((2, 3), F32)], [(x, F32), (index, DType.U16)])
    assert np.array_equal(out, np.take_along_axis(x, index.astype(int), 1))
    table, rows = floats(6, 4), np.array([[5], [0], [5]], np.int32)
    params: dict[str, int | float] = {"row_stride": 16, "rows": 6}
    (out,) = compute(
        "dma_gather", Engine.DMA0, [((3, 4), F32)], [(table, F32), (rows, I32)], params, table=1
    )
    assert np.array_equal(out, table[[5, 0, 5]])
    with pytest.raises(SemanticError, match="index 6 .partition 1. is outside"):
        wrong = np.array([[5], [6], [5]], np.int32)
        compute(
            "dma_gather",
            Engine.DMA0,
            [((3, 4), F32)],
            [(table, F32), (wrong, I32)],
            params,
            table=1,
        )
    values = floats(3, 4)
    dropped = np.array([[5], [-1], [5]], np.int32)
    (out,) = compute(
        "dma_scatter",
        Engine.DMA0,
        [((6, 4), F32)],
        [(values, F32), (dropped, I32)],
        {**params, "accumulate": int(AluOp.ADD)},
        start=[table],
        table=0,
    )
    expected = table.copy()
    expected[5] = (table[5] + values[0]) + values[2]
    assert np.array_equal(out, expected)


def test_dma_casts_reshapes_and_accumulates() -> None:
    x = floats(4, 6)
    (out,) = compute("dma", Engine.DMA0, [((2, 3, 4), BF16)], [(x, F32)])
    assert np.array_equal(out, x.astype(ml_dtypes.bfloat16).reshape(2, 3, 4))
    start = floats(4, 6)
    (out,) = compute(
        "dma",
        Engine.DMA0,
        [((4, 6), F32)],
        [(x, F32)],
        {"accumulate": int(AluOp.MIN)},
        start=[start],
    )
    assert np.array_equal(out, np.minimum(start, x))


def test_shapes_that_do_not_fit_are_errors() -> None:
    with pytest.raises(SemanticError, match="partitions x elements"):
        compute("tensor_copy", Engine.DVE, [((2, 3), F32)], [(floats(2, 4), F32)])
    with pytest.raises(SemanticError, match="the product is 3 x 5"):
        compute("matmul", Engine.PE, [((3, 4), F32)], [(floats(2, 3), F32), (floats(2, 5), F32)])

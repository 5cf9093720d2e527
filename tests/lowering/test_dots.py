"""Dots that are no matmuls of the tensor engine as they stand: integers, and many tiny ones."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.frontends.hlo_text import import_hlo_text
from tests.differential.stages import failures
from tests.lowering.helpers import Array, entry, run

TYPES = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "s32": np.int32, "u32": np.uint32}


def _whole(dtype: type, shape: tuple[int, ...], seed: int) -> Array:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(info.min, info.max, shape, endpoint=True)
    drawn.flat[:2] = info.min, info.max
    return drawn.astype(dtype)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("s8", "s8", "s32"),
        ("u8", "s8", "s32"),
        ("s32", "s32", "s32"),
        ("u32", "u32", "u32"),
        ("s8", "s8", "s8"),
        ("s16", "s16", "s32"),
        ("s32", "s8", "s32"),
    ],
)
def test_integer_dot_is_exact(left: str, right: str, result: str) -> None:
    """Every bit, modulo the width of the result, with sums far above 2^24."""
    k = 600
    text = entry(
        f"a = {left}[33,{k}] parameter(0)",
        f"b = {right}[{k},40] parameter(1)",
        f"d = {result}[33,40] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
    )
    a, b = _whole(TYPES[left], (33, k), 1), _whole(TYPES[right], (k, 40), 2)
    wanted = (a.astype(np.int64).astype(np.uint64) @ b.astype(np.int64).astype(np.uint64)).astype(
        np.dtype(TYPES[result])
    )
    (mine,) = run(text, [a, b])
    np.testing.assert_array_equal(mine, wanted)


def test_integer_dot_with_zero_points() -> None:
    """Differences of bytes are exact in bf16: one product, not sixteen."""
    text = entry(
        "a = u8[5,64] parameter(0)",
        "b = u8[64,7] parameter(1)",
        "wa = s32[5,64] convert(a)",
        "wb = s32[64,7] convert(b)",
        "z = s32[] constant(128)",
        "za = s32[5,64] broadcast(z), dimensions={}",
        "zb = s32[64,7] broadcast(z), dimensions={}",
        "ca = s32[5,64] subtract(wa, za)",
        "cb = s32[64,7] subtract(wb, zb)",
        "d = s32[5,7] dot(ca, cb), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    a, b = _whole(np.uint8, (5, 64), 1), _whole(np.uint8, (64, 7), 2)
    (mine,) = run(text, [a, b])
    np.testing.assert_array_equal(mine, (a.astype(np.int32) - 128) @ (b.astype(np.int32) - 128))


def test_batched_integer_dot() -> None:
    text = entry(
        "a = s32[3,5,20] parameter(0)",
        "b = s32[20,3,6] parameter(1)",
        "d = s32[3,5,6] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
        "rhs_batch_dims={1}, rhs_contracting_dims={0}",
    )
    args = [_whole(np.int32, (3, 5, 20), 1), _whole(np.int32, (20, 3, 6), 2)]
    wanted = interpret(import_hlo_text(text, "t.hlo"), args)
    np.testing.assert_array_equal(run(text, args)[0], wanted[0])


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("type_", ["f32", "bf16"])
def test_many_tiny_dots(cast: str, type_: str) -> None:
    """2,048 products of 2 x 3 by 3 x 1: elementwise work, not 2,048 matmuls."""
    import ml_dtypes

    text = entry(
        f"a = {type_}[64,3,32,2] parameter(0)",
        f"b = {type_}[32,64,3] parameter(1)",
        f"d = {type_}[64,32,2] dot(a, b), lhs_batch_dims={{0,2}}, lhs_contracting_dims={{1}}, "
        "rhs_batch_dims={1,0}, rhs_contracting_dims={2}",
    )
    rng = np.random.default_rng(0)
    dtype = np.float32 if type_ == "f32" else ml_dtypes.bfloat16
    args = [rng.standard_normal(s).astype(dtype) for s in ((64, 3, 32, 2), (32, 64, 3))]
    assert failures(text, args, cast) == []

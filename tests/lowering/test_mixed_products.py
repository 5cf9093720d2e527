"""Products of f32 with a narrower floating type, in fp32 and by default, at each optlevel."""

import ml_dtypes
import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import Array, at_hlo, entry

NARROW = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f8e5m2": ml_dtypes.float8_e5m2}


def _array(shape: tuple[int, ...], dtype: str) -> Array:
    values = np.random.default_rng(11).standard_normal(shape).astype(np.float32)
    return values.astype(NARROW.get(dtype, np.float32))


def _dot(left: str, right: str, source: str = "") -> tuple[str, list[Array]]:
    """A dot of two types; its right operand is converted from `source` where that is given."""
    lines = [f"a = {left}[15,19] parameter(0)"]
    if source:
        lines += [f"b = {source}[19,17] parameter(1)", f"c = {right}[19,17] convert(b)"]
    else:
        lines += [f"c = {right}[19,17] parameter(1)"]
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = entry(*lines, f"r = f32[15,17] dot(a, c), {dims}")
    return text, [_array((15, 19), left), _array((19, 17), source or right)]


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize("wide_first", [False, True])
def test_dot(narrow: str, wide_first: bool, cast: str) -> None:
    text, args = _dot("f32", narrow) if wide_first else _dot(narrow, "f32")
    assert not failures(text, args, cast)


@pytest.mark.parametrize("source", ["bf16", "f16"])
def test_dot_of_what_was_narrow(source: str) -> None:
    """Both operands stay narrow: a conversion to f32 makes no new values."""
    text, args = _dot("bf16", "f32", source)
    assert not failures(text, args, "none")
    assert "hlo.convert" not in str(at_hlo(text))


def test_dot_of_what_was_of_8_bits() -> None:
    """No tensor engine takes f8e5m2: the operand is multiplied as the f32 that it was made."""
    text, args = _dot("bf16", "f32", "f8e5m2")
    assert not failures(text, args, "none")


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("types", [("bf16", "f32"), ("f32", "f16")])
@pytest.mark.parametrize("groups", [1, 4])
def test_convolution(types: tuple[str, str], groups: int, cast: str) -> None:
    text = entry(
        f"x = {types[0]}[2,9,9,8] parameter(0)",
        f"w = {types[1]}[3,3,{8 // groups},12] parameter(1)",
        "r = f32[2,7,7,12] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f, "
        f"feature_group_count={groups}",
    )
    args = [_array((2, 9, 9, 8), types[0]), _array((3, 3, 8 // groups, 12), types[1])]
    assert not failures(text, args, cast)


def test_batch_of_tiny_dots() -> None:
    text = entry(
        "a = bf16[40,3,4] parameter(0)",
        "b = f32[40,4,2] parameter(1)",
        "r = f32[40,3,2] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    )
    assert not failures(text, [_array((40, 3, 4), "bf16"), _array((40, 4, 2), "f32")], "none")

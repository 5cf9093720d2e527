"""Convolutions that were refused or crashed, against XLA's CPU backend."""

from typing import Any

import numpy as np
import pytest

from tests.differential.test_found import check, entry

FORMS = {
    "usual": ("[2,9,5]", "[3,5,4]", "[2,7,4]", "size=3", "b0f_0io->b0f"),
    "input dilation": (
        "[2,9,5]",
        "[3,5,4]",
        "[2,17,4]",
        "size=3 pad=1_1 lhs_dilate=2",
        "b0f_0io->b0f",
    ),
    "groups": ("[2,9,6]", "[3,2,6]", "[2,7,6]", "size=3", "b0f_0io->b0f, feature_group_count=3"),
    "many features": ("[1,4,200]", "[3,200,2]", "[1,2,2]", "size=3", "b0f_0io->b0f"),
}
TYPES: dict[str, Any] = {"s32": np.int32, "s8": np.int8, "u16": np.uint16}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["s32 s32", "s8 s32", "u16 u32"])
@pytest.mark.parametrize("target", ["trn1", "inf1"])
@pytest.mark.thin(2)
def test_convolutions_of_integers(form: str, kind: str, target: str) -> None:
    """Results wrap."""
    given, made = kind.split()
    left, right, result, window, labels = FORMS[form]
    text = entry(
        f"  x = {given}{left} parameter(0)\n  w = {given}{right} parameter(1)\n"
        f"  ROOT r = {made}{result} convolution(x, w), window={{{window}}}, dim_labels={labels}"
    )
    rng, limits = np.random.default_rng(2), np.iinfo(TYPES[given])
    sizes = (tuple(map(int, dims[1:-1].split(","))) for dims in (left, right))
    args = [rng.integers(limits.min, limits.max, size, endpoint=True) for size in sizes]
    check(text, [a.astype(TYPES[given]) for a in args], target=target)


def test_a_convolution_of_an_enlarged_image() -> None:
    """Each row and column of the image is there twice: its dimensions are in pieces."""
    text = entry("""
  x = f32[1,4,4,160] parameter(0)
  k = f32[3,3,160,8] parameter(1)
  a = f32[1,4,2,4,160] broadcast(x), dimensions={0,1,3,4}
  b = f32[1,8,4,160] reshape(a)
  c = f32[1,8,4,2,160] broadcast(b), dimensions={0,1,2,4}
  d = f32[1,8,8,160] reshape(c)
  ROOT r = f32[1,8,8,8] convolution(d, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
""")
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype(np.float32) for s in ((1, 4, 4, 160), (3, 3, 160, 8))]
    check(text, args, rtol=4e-6)

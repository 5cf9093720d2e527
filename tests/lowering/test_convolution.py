"""Convolutions with what is fused into them, against the interpreter."""

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry

PHASES = ("virtual", "binary")


def _residual_block(cast: str, more: str) -> str:
    features = ",".join(str(0.25 * k - 3) for k in range(160))
    return entry(
        "x = f32[1,6,6,32] parameter(0)",
        "w = f32[3,3,32,160] parameter(1)",
        "r = f32[1,6,6,160] parameter(2)",
        "v = f32[1,1,160,40] parameter(3)",
        f"b = f32[160] constant({{{features}}})",
        "c = f32[1,6,6,160] convolution(x, w), window={size=3x3 pad=1_1x1_1}, "
        "dim_labels=b01f_01io->b01f",
        "bb = f32[1,6,6,160] broadcast(b), dimensions={3}",
        "d = f32[1,6,6,160] add(c, bb)",
        "e = f32[1,6,6,160] add(d, r)",
        "z = f32[] constant(0)",
        "zz = f32[1,6,6,160] broadcast(z), dimensions={}",
        f"f = f32[1,6,6,160] {more}",
        "n = f32[1,6,6,40] convolution(f, v), window={size=1x1}, dim_labels=b01f_01io->b01f",
        "s = f32[1,6,6,160] multiply(f, r)",
        "t = (f32[1,6,6,40], f32[1,6,6,160]) tuple(n, s)",
    )


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("more", ["maximum(e, zz)", "tanh(e)", "copy(e)"])
def test_a_block_with_a_bias_and_a_residual(cast: str, more: str) -> None:
    rng = np.random.default_rng(0)
    shapes = ((1, 6, 6, 32), (3, 3, 32, 160), (1, 6, 6, 160), (1, 1, 160, 40))
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    assert not failures(_residual_block(cast, more), args, cast, phases=PHASES)


KINDS = (
    # image, filter, result, window, labels, groups
    ("2,9,9,24", "3,3,1,24", "2,9,9,24", "3x3 pad=1_1x1_1", "b01f_01io->b01f", "f24"),
    (
        "1,10,10,144",
        "3,3,1,288",
        "1,5,5,288",
        "3x3 stride=2x2 pad=0_1x0_1",
        "b01f_01io->b01f",
        "f144",
    ),
    ("2,64,8,8", "128,2,3,3", "2,128,6,6", "3x3", "bf01_oi01->bf01", "f32"),
    ("1,4,4,400", "1,1,200,400", "1,4,4,400", "1x1", "b01f_01io->b01f", "f2"),
    ("1,4,4,262", "2,2,131,262", "1,3,3,262", "2x2", "b01f_01io->b01f", "f2"),
    ("1,7,7,26", "3,3,2,39", "1,5,5,39", "3x3", "b01f_01io->b01f", "f13"),
    ("1,12,131", "5,1,131", "1,8,131", "5", "b0f_0io->b0f", "f131"),
    ("6,9,9,4", "3,3,4,12", "2,7,7,12", "3x3", "b01f_01io->b01f", "b3"),
    ("16,9,9,2", "7,7,2,16", "1,3,3,16", "7x7", "b01f_01io->b01f", "b16"),
    ("2,5,5,8", "3,3,8,4", "2,9,9,4", "3x3 pad=1_1x1_1 lhs_dilate=2x2", "b01f_01io->b01f", "f1"),
    ("2,5,5,8", "3,3,8,4", "2,11,11,8", "3x3 pad=2_2x2_2 lhs_dilate=2x2", "b01f_01oi->b01f", "f2"),
    ("2,9,9,8", "3,3,8,4", "2,5,5,4", "3x3 rhs_dilate=2x2", "b01f_01io->b01f", "f1"),
    ("2,9,9,2", "3,4,2,4", "2,7,6,4", "3x4 rhs_reversal=1x1", "b01f_01io->b01f", "f1"),
    ("9,2,5,9", "3,3,5,40", "7,2,40,7", "3x3", "0bf1_01io->0bf1", "f1"),
    ("2,30,3", "5,3,8", "2,13,8", "5 stride=2", "b0f_0io->b0f", "f1"),
    ("1,4,5,6,3", "3,3,3,3,8", "1,2,3,4,8", "3x3x3", "b012f_012io->b012f", "f1"),
    ("1,6,6,6,8", "3,3,3,1,8", "1,4,4,4,8", "3x3x3", "b012f_012io->b012f", "f8"),
)


def _one(kind: tuple[str, ...], constant: bool) -> tuple[str, list[np.ndarray]]:
    image, filter_, result, window, labels, group = kind
    name = {"f": "feature_group_count", "b": "batch_group_count"}[group[0]]
    rng = np.random.default_rng(1)
    args = [
        rng.standard_normal([int(n) for n in s.split(",")]).astype(np.float32)
        for s in (image, filter_)
    ]
    lines = [f"x = f32[{image}] parameter(0)"]
    if constant:
        lines.append(f"w = f32[{filter_}] constant({_nested(args.pop())})")
    else:
        lines.append(f"w = f32[{filter_}] parameter(1)")
    lines.append(
        f"c = f32[{result}] convolution(x, w), window={{size={window}}}, dim_labels={labels}, "
        f"{name}={group[1:]}"
    )
    return entry(*lines), args


def _nested(array: np.ndarray) -> str:
    if array.ndim == 0:
        return repr(float(array))
    return "{" + ",".join(_nested(a) for a in array) + "}"


@pytest.mark.parametrize("kind", KINDS)
def test_groups(kind: tuple[str, ...]) -> None:
    text, args = _one(kind, False)
    assert not failures(text, args, phases=PHASES)


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[5], KINDS[7]])
def test_groups_of_a_constant_filter(kind: tuple[str, ...]) -> None:
    text, args = _one(kind, True)
    assert not failures(text, args, "matmult", phases=("binary",))


LARGE = (
    ("1,128,128,3", "7,7,3,8", "1,64,64,8", "7x7 stride=2x2 pad=3_3x3_3", "b01f_01io->b01f", "f1"),
    ("2,3,120,90", "8,3,3,3", "2,8,120,90", "3x3 pad=1_1x1_1", "bf01_oi01->bf01", "f1"),
    ("1,200,99,4", "5,5,4,8", "1,100,98,8", "5x5 stride=2x1 pad=2_1x3_0", "b01f_01io->b01f", "f1"),
    ("1,128,130,2", "3,5,2,8", "1,122,61,8", "3x5 stride=1x2 rhs_dilate=3x2 rhs_reversal=1x1",
     "b01f_01io->b01f", "f1"),
    ("1,256,128,1", "8,4,1,8", "1,66,50,8", "8x4 stride=4x3 pad=6_6x12_13",
     "b01f_01io->b01f", "f1"),
)  # fmt: skip


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("kind", LARGE)
def test_taps_packed_with_few_features(kind: tuple[str, ...], cast: str) -> None:
    for constant in (False, True):
        text, args = _one(kind, constant)
        assert not failures(text, args, cast, phases=PHASES)


def test_a_residual_that_is_read_again_is_not_written_over() -> None:
    """The first block's result may replace the residual only where nothing needs that later."""
    lines = (
        "x = f32[1,6,6,64] parameter(0)",
        "w = f32[1,1,64,64] parameter(1)",
        "r = f32[1,6,6,64] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f",
        "c = f32[1,6,6,64] convolution(r, w), window={size=1x1}, dim_labels=b01f_01io->b01f",
        "d = f32[1,6,6,64] add(c, r)",
        "e = f32[1,6,6,64] convolution(d, w), window={size=1x1}, dim_labels=b01f_01io->b01f",
        "f = f32[1,6,6,64] add(e, d)",
        "v = f32[1,3,6,64] slice(r), slice={[0:1], [0:3], [0:6], [0:64]}",
        "t = (f32[1,6,6,64], f32[1,3,6,64]) tuple(f, v)",
    )
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype(np.float32) / 8 for s in ((1, 6, 6, 64), (1, 1, 64, 64))]
    assert not failures(entry(*lines), args, phases=PHASES)


HALVES = (
    # image, window, rows and columns of the result
    ("1,12,12", "3x3 pad=1_1x1_1", "12,12"),
    ("2,14,10", "3x3 pad=1_1x1_1", "14,10"),
    ("1,13,12", "3x3 stride=2x2 pad=1_2x1_1", "7,6"),
    ("3,16,11", "3x3 stride=2x1 pad=0_1x1_1", "8,11"),
    ("1,16,11", "3x3 pad=2_2x1_1 rhs_dilate=2x1", "16,11"),
    ("1,50,40", "3x3 pad=1_1x1_1 rhs_reversal=1x1", "50,40"),
)


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize(("image", "window", "size"), HALVES)
def test_halves_of_rows_with_half_the_features(
    image: str, window: str, size: str, cast: str
) -> None:
    rng = np.random.default_rng(2)
    batch = image.split(",")[0]
    filter_ = rng.standard_normal((3, 3, 64, 64)).astype(np.float16).astype(np.float32)
    shape = f"{batch},{size}"
    lines = (
        f"x = f32[{image},64] parameter(0)",
        f"w = f32[3,3,64,64] constant({_nested(filter_)})",
        "v = f32[1,1,64,160] parameter(1)",
        "b = f32[64] parameter(2)",
        f"c = f32[{shape},64] convolution(x, w), window={{size={window}}}, "
        "dim_labels=b01f_01io->b01f",
        f"bb = f32[{shape},64] broadcast(b), dimensions={{3}}",
        f"d = f32[{shape},64] add(c, bb)",
        f"t = f32[{shape},64] tanh(d)",
        f"r = f32[{shape},160] convolution(t, v), window={{size=1x1}}, dim_labels=b01f_01io->b01f",
    )
    dims = [int(n) for n in image.split(",")]
    shapes = ([*dims, 64], [1, 1, 64, 160], [64])
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    assert not failures(entry(*lines), args, cast, phases=PHASES)


@pytest.mark.parametrize(
    ("size", "pad", "result"),
    [
        ("2x3", "0_0x3_-1", "1,1,1"),  # nothing of the image is left
        ("1x1", "-1_-1x0_0", "1,0,1"),
        ("2x1", "-1_2x-2_1", "2,6,1"),
    ],
)
def test_negative_padding_cuts_the_image(size: str, pad: str, result: str) -> None:
    rows, columns, _ = map(int, result.split(","))
    height = rows + int(size[0]) - 1 - sum(map(int, pad.split("x")[0].split("_")))
    width = columns + int(size[2]) - 1 - sum(map(int, pad.split("x")[1].split("_")))
    text = entry(
        f"x = f32[1,{height},{width},3] parameter(0)",
        f"w = f32[{size[0]},{size[2]},3,5] parameter(1)",
        f"c = f32[1,{rows},{columns},5] convolution(x, w), window={{size={size} pad={pad}}}, "
        "dim_labels=b01f_01io->b01f",
    )
    rng = np.random.default_rng(0)
    shapes = ((1, height, width, 3), (int(size[0]), int(size[2]), 3, 5))
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    assert not failures(text, args, phases=PHASES)

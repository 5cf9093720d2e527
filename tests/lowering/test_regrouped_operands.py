"""Operands that are computed on the chip and whose dimensions divide the elements otherwise than
their copy does: 6 x 120 of 5 x 48 x 3, or input features that two groups were joined to."""

from math import prod

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry

# contracted, factors of the operand as computed, their order in memory (0: contracted), regrouped
OPERANDS = (
    (200, (5, 48, 3), (1, 3, 2, 0), 6),
    (32, (3, 144), (1, 2, 0), 2),
    (256, (5, 100, 3), (3, 1, 2, 0), 12),
    (128, (4, 33), (1, 0, 2), 3),
    (40, (86, 3), (2, 1, 0), 2),
)
PRODUCTS = {
    # x, result, dimension numbers of x and of w[k, b, g]
    "moving": ("16,{k}", "16,{b},{g}", "x, w", (1, 0), ()),
    "stationary": ("16,{k}", "{b},{g},16", "w, x", (0, 1), ()),
    "batch": ("{b},100,{k}", "{b},100,{g}", "x, w", (2, 0), (0, 1)),
    "turned": ("{b},100,{k}", "{b},{g},100", "w, x", (0, 2), (1, 0)),
}


@pytest.mark.parametrize("made", ["negate", "copy"])
@pytest.mark.parametrize("kind", PRODUCTS)
@pytest.mark.parametrize("operand", OPERANDS, ids=lambda o: "x".join(map(str, o[1])))
@pytest.mark.thin(3)
def test_products(
    operand: tuple[int, tuple[int, ...], tuple[int, ...], int], kind: str, made: str
) -> None:
    k, factors, order, b = operand
    g = prod(factors) // b
    x, result, operands, contracting, batch = PRODUCTS[kind]
    dims = (k, *factors)
    stored = ",".join(str(dims[d]) for d in order)
    back = ",".join(str(order.index(d)) for d in range(len(dims)))
    x, result = (text.format(k=k, b=b, g=g) for text in (x, result))
    numbers = (
        f"lhs_contracting_dims={{{contracting[0]}}}, rhs_contracting_dims={{{contracting[1]}}}"
    )
    if batch:
        numbers += f", lhs_batch_dims={{{batch[0]}}}, rhs_batch_dims={{{batch[1]}}}"
    text = entry(
        f"x = f32[{x}] parameter(0)",
        f"p = f32[{stored}] parameter(1)",
        f"e = f32[{stored}] {made}(p)",
        f"t = f32[{','.join(map(str, dims))}] transpose(e), dimensions={{{back}}}",
        f"w = f32[{k},{b},{g}] reshape(t)",
        f"d = f32[{result}] dot({operands}), {numbers}",
    )
    rng = np.random.default_rng(0)
    args = [
        rng.standard_normal(tuple(map(int, s.split(",")))).astype(np.float32) for s in (x, stored)
    ]
    assert not failures(text, args)


@pytest.mark.parametrize(
    ("size", "labels"),
    [
        ("40", "b0f_0oi->b0f"),
        ("4x4", "b01f_01oi->b01f"),
        ("5x8", "b01f_10oi->b01f"),
        ("2x2x2", "b012f_210oi->b012f"),
        ("4x4", "b01f_01io->b01f"),
    ],
)
def test_filters_of_joined_groups(size: str, labels: str) -> None:
    """Output features that lie before the input features: neighbours of a tile are not evenly far
    from each other in the copy of the filter."""
    taps = [int(s) for s in size.split("x")]
    image = [t + 2 for t in taps]
    kernel = labels.split("_")[1].split("-")[0]
    sizes = {"i": 8, "o": 64, **{str(i): t for i, t in enumerate(taps)}}
    shape = [sizes[c] for c in kernel]
    text = entry(
        f"x = f32[{','.join(map(str, (2, *image, 16)))}] parameter(0)",
        f"w = f32[{','.join(map(str, shape))}] parameter(1)",
        f"c = f32[2,{','.join('3' for _ in taps)},64] convolution(x, w), window={{size={size}}}, "
        f"dim_labels={labels}, feature_group_count=2",
    )
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype(np.float32) for s in ((2, *image, 16), shape)]
    assert not failures(text, args, phases=("virtual", "binary"))


@pytest.mark.parametrize("order", [(0, 2, 3, 1, 4), (3, 1, 0, 2, 4), (2, 0, 4, 3, 1)])
def test_filters_computed_in_factors(order: tuple[int, ...]) -> None:
    """288 output features as 2 x 144, of which tiles of 96 run over the end of the first half."""
    dims = (2, 2, 24, 2, 144)
    stored = ",".join(str(dims[d]) for d in order)
    back = ",".join(str(order.index(d)) for d in range(5))
    text = entry(
        "x = f32[2,4,4,24] parameter(0)",
        f"p = f32[{stored}] parameter(1)",
        f"e = f32[{stored}] negate(p)",
        f"t = f32[2,2,24,2,144] transpose(e), dimensions={{{back}}}",
        "w = f32[2,2,24,288] reshape(t)",
        "c = f32[2,3,3,288] convolution(x, w), window={size=2x2}, dim_labels=b01f_01io->b01f",
    )
    rng = np.random.default_rng(0)
    shapes = ((2, 4, 4, 24), tuple(dims[d] for d in order))
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    assert not failures(text, args, phases=("virtual", "binary"))


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (2, 1, 0, 3), (3, 2, 1, 0)])
def test_images_computed_in_factors(order: tuple[int, ...]) -> None:
    """Rows of the image as 3 x 4, which lie apart."""
    dims = (3, 4, 9, 16)
    stored = ",".join(str(dims[d]) for d in order)
    back = ",".join(str(order.index(d)) for d in range(4))
    text = entry(
        f"p = f32[{stored}] parameter(0)",
        "w = f32[3,3,16,8] parameter(1)",
        f"e = f32[{stored}] negate(p)",
        f"t = f32[3,4,9,16] transpose(e), dimensions={{{back}}}",
        "x = f32[1,12,9,16] reshape(t)",
        "c = f32[1,10,7,8] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f",
    )
    rng = np.random.default_rng(0)
    shapes = (tuple(dims[d] for d in order), (3, 3, 16, 8))
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    assert not failures(text, args, phases=("virtual", "binary"))


@pytest.mark.parametrize("outer", [3, 129])
def test_padding(outer: int) -> None:
    """Two halves of what was computed as pairs: a copy whose factors do not divide the result's
    was taken for a single element."""
    text = entry(
        f"p = f32[{outer},2,16,8] parameter(0)",
        f"t = f32[{outer},2,8,16] transpose(p), dimensions={{0,1,3,2}}",
        f"r = f32[2,{outer},128] reshape(t)",
        "z = f32[] constant(0)",
        f"q = f32[2,{outer + 1},128] pad(r, z), padding=0_0x0_1x0_0",
    )
    args = [np.random.default_rng(0).standard_normal((outer, 2, 16, 8)).astype(np.float32)]
    assert not failures(text, args)


@pytest.mark.parametrize("regrouped", ["2,{outer},128", "{outer},2,128", "{outer},256"])
@pytest.mark.parametrize("outer", [3, 65])
def test_rows_that_are_scattered(outer: int, regrouped: str) -> None:
    shape = regrouped.format(outer=outer)
    sizes = [int(s) for s in shape.split(",")]
    window = ",".join(str(d) for d in range(1, len(sizes)))
    lines = [
        f"u = f32[{outer},2,16,8] parameter(0)",
        f"i = s32[{sizes[0]},1] iota(), iota_dimension=0",
        f"x = f32[{shape}] parameter(1)",
        f"t = f32[{outer},2,8,16] transpose(u), dimensions={{0,1,3,2}}",
        f"r = f32[{shape}] reshape(t)",
        f"s = f32[{shape}] scatter(x, i, r), update_window_dims={{{window}}}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
        "to_apply=add",
    ]
    head = (
        "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
    )
    text = entry(*lines).replace("\nENTRY", f"\n{head}\nENTRY")
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype(np.float32) for s in ((outer, 2, 16, 8), tuple(sizes))]
    assert not failures(text, args)


MAX = (
    "mx {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, b)\n}\n"
)


def test_windows() -> None:
    """Every second of 9 x 16, which are 72 on partitions."""
    text = entry(
        "x = f32[72,144,2,2] parameter(0)",
        "z = f32[] constant(0)",
        "r = f32[72,2,2] reduce(x, z), dimensions={1}, to_apply=mx",
        "v = f32[9,16,2] reshape(r)",
        "i = f32[] constant(-inf)",
        "w = f32[5,8,2] reduce-window(v, i), window={size=1x2x1 stride=2x2x1}, to_apply=mx",
    ).replace("\nENTRY", f"\n{MAX}\nENTRY")
    args = [np.random.default_rng(0).standard_normal((72, 144, 2, 2)).astype(np.float32)]
    assert not failures(text, args)


def test_elements() -> None:
    """24 factors of rows of 256, wanted as rows of 12."""
    text = entry(
        "x = f32[8,24,16,16] parameter(0)",
        "s = f32[24] parameter(1)",
        "b = f32[8,24,16,16] broadcast(s), dimensions={1}",
        "m = f32[8,24,16,16] multiply(x, b)",
        "r = f32[8,512,12] reshape(m)",
        "i = s32[7] constant({159,123,25,197,332,309,488})",
        "g = f32[8,7,12] gather(r, i), offset_dims={0,2}, collapsed_slice_dims={1}, "
        "start_index_map={1}, index_vector_dim=1, slice_sizes={8,1,12}",
    )
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype(np.float32) for s in ((8, 24, 16, 16), (24,))]
    assert not failures(text, args)

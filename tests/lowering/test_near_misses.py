"""Lowerings where a nearly right one would go wrong; what trn1 makes is compared with XLA."""

import numpy as np
import pytest

from tests.lowering.helpers import Array, run
from tests.oracle import run_xla


def check(text: str, *args: Array, tolerance: float = 2e-6) -> None:
    """The outputs are XLA's within a part of the largest."""
    with np.errstate(all="ignore"):
        expected = run_xla(text, args)
    for found, wanted in zip(run(text, args), expected, strict=True):
        finite = np.isfinite(wanted)
        scale = float(np.abs(wanted[finite]).max(initial=1e-30))
        np.testing.assert_array_equal(found[~finite], wanted[~finite])
        np.testing.assert_allclose(found[finite], wanted[finite], 0, tolerance * scale)


def module(*lines: str, computations: str = "") -> str:
    """HLO text of an entry; the last line is the root."""
    *body, root = lines
    inner = "\n  ".join([*body, f"ROOT {root}"])
    return f"HloModule m\n\n{computations}ENTRY e {{\n  {inner}\n}}\n"


def binary(name: str, opcode: str) -> str:
    """A reducer."""
    return (
        f"{name} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        f"  ROOT c = f32[] {opcode}(a, b)\n}}\n\n"
    )


def normal(*shape: int) -> Array:
    """Numbers."""
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("opcode", ["maximum", "minimum", "add", "multiply"])
@pytest.mark.parametrize("initial", ["0", "1", "-2", "inf", "-inf"])
def test_initial_values(opcode: str, initial: str) -> None:
    """Also of rows whose elements are all less, or all greater."""
    text = module(
        "x = f32[6,5] parameter(0)",
        f"i = f32[] constant({initial})",
        "r = f32[6] reduce(x, i), dimensions={1}, to_apply=f",
        computations=binary("f", opcode),
    )
    x = normal(6, 5)
    x[0], x[1] = -np.abs(x[0]) - 3, np.abs(x[1]) + 3
    check(text, x)


@pytest.mark.parametrize("scale", [-3.0, -1.0, 0.5, 3.0])
def test_softmax_of_a_scaled_value(scale: float) -> None:
    """With a negative factor the maximum comes from the least; exp would overflow there."""
    text = module(
        "x = f32[128,40] parameter(0)",
        f"c = f32[] constant({scale})",
        "s = f32[128,40] broadcast(c), dimensions={}",
        "y = f32[128,40] multiply(x, s)",
        "low = f32[] constant(-inf)",
        "m = f32[128] reduce(y, low), dimensions={1}, to_apply=max",
        "mb = f32[128,40] broadcast(m), dimensions={0}",
        "d = f32[128,40] subtract(y, mb)",
        "e = f32[128,40] exponential(d)",
        "z = f32[] constant(0)",
        "t = f32[128] reduce(e, z), dimensions={1}, to_apply=add",
        "tb = f32[128,40] broadcast(t), dimensions={0}",
        "r = f32[128,40] divide(e, tb)",
        computations=binary("max", "maximum") + binary("add", "add"),
    )
    check(text, 60 * normal(128, 40), tolerance=3e-5)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("product", [True, False])
def test_batch_norm_of_a_small_variance(scaled: bool, shifted: bool, product: bool) -> None:
    """Epsilon belongs to the variance; without an offset the mean is still subtracted."""
    vectors = {"mean": 3.0, "variance": 1e-4}
    vectors |= {"scale": 2.0} if scaled else {}
    vectors |= {"offset": 5.0} if shifted else {}
    lines = ["x0 = f32[4,6,6,8] parameter(0)"]
    for number, name in enumerate(vectors, 1):
        lines += [
            f"{name} = f32[8] parameter({number})",
            f"{name}_b = f32[4,6,6,8] broadcast({name}), dimensions={{3}}",
        ]
    if product:
        lines += [
            f"w = f32[1,1,8,8] parameter({len(vectors) + 1})",
            "x = f32[4,6,6,8] convolution(x0, w), window={size=1x1}, dim_labels=b01f_01io->b01f",
        ]
    else:
        lines.append("x = f32[4,6,6,8] negate(x0)")
    lines += [
        "e = f32[] constant(0.001)",
        "eb = f32[8] broadcast(e), dimensions={}",
        "v = f32[8] add(variance, eb)",
        "d = f32[8] rsqrt(v)",
        f"f = f32[8] {'multiply(d, scale)' if scaled else 'copy(d)'}",
        "fb = f32[4,6,6,8] broadcast(f), dimensions={3}",
        "c = f32[4,6,6,8] subtract(x, mean_b)",
        "y = f32[4,6,6,8] multiply(c, fb)",
    ]
    lines += ["r = f32[4,6,6,8] add(y, offset_b)"] if shifted else []
    rng = np.random.default_rng(3)
    numbers = [(v * rng.uniform(1, 2, 8)).astype(np.float32) for v in vectors.values()]
    weights = [normal(1, 1, 8, 8)] if product else []
    check(module(*lines), normal(4, 6, 6, 8), *numbers, *weights, tolerance=1e-5)


@pytest.mark.parametrize("rows, columns", [(33, 70), (70, 33), (64, 20), (20, 64), (100, 128)])
def test_transposes_with_infinities(rows: int, columns: int) -> None:
    """Blocks of 32 by 32 at the ends of which less is left, in one dimension or both."""
    x = normal(rows, columns)
    x[rows - 1, columns - 1] = x[0, columns - 2] = x[rows - 2, 0] = -np.inf
    text = module(
        f"x = f32[{rows},{columns}] parameter(0)",
        f"c = f32[{rows},{columns}] abs(x)",
        f"t = f32[{columns},{rows}] transpose(c), dimensions={{1,0}}",
        "z = f32[] constant(-inf)",
        f"m = f32[{columns}] reduce(t, z), dimensions={{1}}, to_apply=max",
        f"b = f32[{columns},{rows}] broadcast(m), dimensions={{0}}",
        f"r = f32[{columns},{rows}] add(t, b)",
        computations=binary("max", "maximum"),
    )
    check(text, x)


@pytest.mark.parametrize("operator", ["add", "subtract"])
@pytest.mark.parametrize("function", ["tanh", "maximum"])
def test_product_with_scale_bias_residual_and_function(operator: str, function: str) -> None:
    """The bias varies along partitions or along columns of the product."""
    for side in (0, 1):
        last = (
            "r = f32[96,80] tanh(q)"
            if function == "tanh"
            else "zero = f32[] constant(0)\n  zeros = f32[96,80] broadcast(zero), dimensions={}\n"
            "  ROOT r = f32[96,80] maximum(q, zeros)"
        )
        text = module(
            "x = f32[96,64] parameter(0)",
            "w = f32[64,80] parameter(1)",
            f"b = f32[{(96, 80)[side]}] parameter(2)",
            "y = f32[96,80] parameter(3)",
            "p = f32[96,80] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            "c = f32[] constant(0.125)",
            "cb = f32[96,80] broadcast(c), dimensions={}",
            "s = f32[96,80] multiply(p, cb)",
            f"bb = f32[96,80] broadcast(b), dimensions={{{side}}}",
            "o = f32[96,80] add(s, bb)",
            f"q = f32[96,80] {operator}(o, y)",
            last,
        ).replace("ROOT zero", "zero")
        check(text, normal(96, 64), normal(64, 80), 3 + normal((96, 80)[side]), normal(96, 80))


@pytest.mark.parametrize("start", [-5, 0, 3, 7, 100])
def test_dynamic_slice_beyond_the_ends(start: int) -> None:
    text = module(
        "x = f32[10,16] parameter(0)",
        "i = s32[] parameter(1)",
        "z = s32[] constant(0)",
        "d = f32[4,16] dynamic-slice(x, i, z), dynamic_slice_sizes={4,16}",
        "r = f32[4,16] add(d, d)",
    )
    check(text, normal(10, 16), np.array(start, np.int32))


@pytest.mark.parametrize("low, high, inner", [(-3, 0, 2), (-4, -1, 1), (1, -5, 3), (-6, 2, 2)])
def test_padding_that_cuts_between_inserted_elements(low: int, high: int, inner: int) -> None:
    size = (9 - 1) * (inner + 1) + 1 + low + high
    text = module(
        "x = f32[9,4] parameter(0)",
        "z = f32[] constant(-1)",
        f"r = f32[{size},4] pad(x, z), padding={low}_{high}_{inner}x0_0",
    )
    check(text, normal(9, 4))


@pytest.mark.parametrize("indices", [[-1, 0, 4], [5, 9, 100], [3, 3, -100]])
def test_updates_outside_are_dropped(indices: list[int]) -> None:
    text = module(
        "x = f32[6,8] parameter(0)",
        "i = s32[3,1] parameter(1)",
        "u = f32[3,8] parameter(2)",
        "r = f32[6,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
        computations=binary("add", "add"),
    )
    check(text, normal(6, 8), np.array(indices, np.int32)[:, None], normal(3, 8))


def test_gather_whose_window_moves_in_a_later_dimension() -> None:
    """The table is transposed for it, the dimensions of the result are not."""
    text = module(
        "x = f32[4,10,5] parameter(0)",
        "i = s32[3,1] parameter(1)",
        "r = f32[3,4,2,5] gather(x, i), offset_dims={1,2,3}, collapsed_slice_dims={}, "
        "start_index_map={1}, index_vector_dim=1, slice_sizes={4,2,5}",
    )
    check(text, normal(4, 10, 5), np.array([[0], [8], [3]], np.int32))


def test_gather_from_a_table_that_is_stored_transposed() -> None:
    """Its rows hold the dimensions of the result in another order."""
    numbers = ", ".join(map(str, range(4 * 10 * 5)))
    text = module(
        f"flat = f32[200] constant({{{numbers}}})",
        "x = f32[4,10,5] reshape(flat)",
        "i = s32[3,1] parameter(0)",
        "r = f32[3,4,2,5] gather(x, i), offset_dims={1,2,3}, collapsed_slice_dims={}, "
        "start_index_map={1}, index_vector_dim=1, slice_sizes={4,2,5}",
    )
    check(text, np.array([[0], [8], [3]], np.int32))


def test_gather_of_a_batch_whose_window_moves_in_a_later_dimension() -> None:
    text = module(
        "x = f32[2,6,50] parameter(0)",
        "i = s32[2,64,1] parameter(1)",
        "r = f32[2,64,6,3] gather(x, i), offset_dims={2,3}, collapsed_slice_dims={}, "
        "start_index_map={2}, index_vector_dim=2, slice_sizes={1,6,3}, "
        "operand_batching_dims={0}, start_indices_batching_dims={0}",
    )
    starts = np.random.default_rng(0).integers(0, 48, (2, 64, 1))
    check(text, normal(2, 6, 50), starts.astype(np.int32))


@pytest.mark.parametrize("dims", ["0", "1", "2", "0,2", "0,1,2"])
def test_reversed_views(dims: str) -> None:
    text = module(
        "x = f32[6,5,7] parameter(0)",
        "y = f32[6,5,7] negate(x)",
        f"v = f32[6,5,7] reverse(y), dimensions={{{dims}}}",
        "r = f32[6,5,7] add(v, x)",
    )
    check(text, normal(6, 5, 7))


@pytest.mark.parametrize("dilation, stride", [(2, 1), (3, 2), (1, 2)])
def test_dilated_convolutions(dilation: int, stride: int) -> None:
    size = (12 - (3 - 1) * dilation - 1 + 2) // stride + 1
    text = module(
        "x = f32[2,12,12,8] parameter(0)",
        "w = f32[3,3,8,6] parameter(1)",
        f"r = f32[2,{size},{size},6] convolution(x, w), window={{size=3x3 "
        f"stride={stride}x{stride} pad=1_1x1_1 rhs_dilate={dilation}x{dilation}}}, "
        "dim_labels=b01f_01io->b01f",
    )
    check(text, normal(2, 12, 12, 8), normal(3, 3, 8, 6))


def test_parts_of_a_later_dimension() -> None:
    """Rows of the dimension that indices move are fewer: it is the first one of the transfers."""
    text = module(
        "x = f32[64,20] parameter(0)",
        "i = s32[64,1] parameter(1)",
        "r = f32[64,64,3] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, "
        "start_index_map={1}, index_vector_dim=1, slice_sizes={64,3}",
    )
    starts = np.random.default_rng(0).integers(0, 18, (64, 1))
    check(text, normal(64, 20), starts.astype(np.int32))


@pytest.mark.parametrize("opcode", ["round-nearest-even", "round-nearest-afz", "floor", "ceil"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_rounding_of_products(opcode: str, kind: str) -> None:
    """The sum with 2^10 that rounds to an integer was computed in f32, which did not round."""
    text = module(
        "x = f32[33,40] parameter(0)",
        "y = f32[40,50] parameter(1)",
        f"a = {kind}[33,40] convert(x)",
        f"b = {kind}[40,50] convert(y)",
        f"d = {kind}[33,50] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
        f"e = {kind}[33,50] abs(d)",
        f"f = {kind}[33,50] {opcode}(e)",
        "r = f32[33,50] convert(f)",
    )
    check(text, np.round(4 * normal(33, 40)) / 4, np.round(normal(40, 50)))

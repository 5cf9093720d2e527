"""Infinities in arguments stay where they are: PE transposes would spoil their neighbours."""

import ml_dtypes
import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import Array, entry

CASES = {
    "a transpose": (
        "a = f32[64,96] parameter(0)",
        "t = f32[96,64] transpose(a), dimensions={1,0}",
    ),
    "an addition of a transpose": (
        "a = f32[64,300] parameter(0)",
        "b = f32[300,64] parameter(1)",
        "c = f32[64,300] transpose(b), dimensions={1,0}",
        "d = f32[64,300] add(a, c)",
    ),
    "a mask of scores, keys first": (
        "q = f32[2,60,32] parameter(1)",
        "k = f32[2,70,32] parameter(2)",
        "v = f32[2,70,32] parameter(3)",
        "m = f32[70,60] parameter(0)",
        "s = f32[2,60,70] dot(q, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
        "rhs_batch_dims={0}, rhs_contracting_dims={2}",
        "t = f32[60,70] transpose(m), dimensions={1,0}",
        "b = f32[2,60,70] broadcast(t), dimensions={1,2}",
        "x = f32[2,60,70] add(s, b)",
        "e = f32[2,60,70] exponential(x)",
        "o = f32[2,60,32] dot(e, v), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
        "rhs_batch_dims={0}, rhs_contracting_dims={1}",
    ),
    "a minimum": (
        "a = f32[8,5,33,7] parameter(0)",
        "i = f32[] constant(inf)",
        "m = f32[8,33,7] reduce(a, i), dimensions={1}, to_apply=least",
    ),
    "an exponential, transposed": (
        "a = f32[64,96] parameter(0)",
        "e = f32[64,96] exponential(a)",
        "t = f32[96,64] transpose(e), dimensions={1,0}",
    ),
    "a table of rows, reduced": (
        "a = f32[200,40] parameter(0)",
        "i = s32[33,1] parameter(1)",
        "g = f32[33,40] gather(a, i), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=1, slice_sizes={1,40}",
        "t = f32[40,33] transpose(g), dimensions={1,0}",
        "u = f32[40,33] tanh(t)",
        "r = (f32[40,33], f32[40,33]) tuple(t, u)",
    ),
    "a product of what is finite": (
        "a = f32[64,96] parameter(0)",
        "b = f32[96,32] parameter(1)",
        "t = f32[96,64] transpose(a), dimensions={1,0}",
        "f = pred[96,64] is-finite(t)",
        "c = f32[] constant(0)",
        "z = f32[96,64] broadcast(c), dimensions={}",
        "s = f32[96,64] select(f, t, z)",
        "d = f32[64,32] dot(s, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    ),
    "a product with a number in place of infinity": (
        "a = f32[64,96] parameter(0)",
        "b = f32[96,32] parameter(1)",
        "t = f32[96,64] transpose(a), dimensions={1,0}",
        "c = f32[] constant(-inf)",
        "i = f32[96,64] broadcast(c), dimensions={}",
        "f = pred[96,64] compare(i, t), direction=EQ",
        "m = f32[] constant(-3)",
        "z = f32[96,64] broadcast(m), dimensions={}",
        "s = f32[96,64] select(f, z, t)",
        "d = f32[64,32] dot(s, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    ),
}


LEAST = """
least {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] minimum(a, b)
}
"""


def _text(lines: tuple[str, ...]) -> str:
    return entry(*lines).replace("\n\nENTRY", f"\n{LEAST}\nENTRY")


def _args(lines: tuple[str, ...]) -> list[Array]:
    from neuronir.dialects.hlo.interpreter import entry_signature
    from neuronir.frontends.hlo_text import import_hlo_text

    rng = np.random.default_rng(0)
    out = []
    for shape, dtype in entry_signature(import_hlo_text(_text(lines), "t.hlo")):
        if np.dtype(dtype).kind == "i":
            out.append(rng.integers(0, 200, shape).astype(dtype))
            continue
        x = rng.standard_normal(shape).astype(dtype)
        if not out:
            x[rng.random(shape) < 0.05] = -np.inf
            if not any(" dot(" in line for line in lines):
                x[rng.random(shape) < 0.02] = np.nan
        out.append(x)
    return out


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("case", CASES)
def test_infinities_of_arguments(case: str, cast: str) -> None:
    lines = CASES[case]
    assert failures(_text(lines), _args(lines), cast, None, ("virtual", "binary")) == []


PRODUCT = (
    "a = f32[4,513] parameter(0)",
    "b = f32[4,2] parameter(1)",
    "d = f32[4,513,2] dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={}, "
    "rhs_batch_dims={0}, rhs_contracting_dims={}",
    "s = f32[4,513,1] slice(d), slice={[0:4], [0:513], [1:2]}",
    "v = f32[4,513] reshape(s)",
)


@pytest.mark.parametrize("made", ["rsqrt(v)", "log(v)", "sqrt(v)", "divide(one, v)"])
def test_what_is_made_of_the_result_of_a_product(made: str) -> None:
    """Half of the sums are negative, some are 0: the others keep their values, row by row."""
    text = entry(
        *PRODUCT,
        "c = f32[] constant(1)",
        "one = f32[4,513] broadcast(c), dimensions={}",
        f"r = f32[4,513] {made}",
    )
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape).astype(np.float32) for shape in ((4, 513), (4, 2))]
    args[0][:, ::7] = 0.0
    assert not failures(text, args)


FUSED = {
    "a root": ("r = f32[29,4,2,3] rsqrt(v)",),
    "a root that a cast follows": ("q = f32[29,4,2,3] rsqrt(v)", "r = f16[29,4,2,3] convert(q)"),
    "a cast": (
        "c = f32[] constant(1e6)",
        "m = f32[29,4,2,3] broadcast(c), dimensions={}",
        "p = f32[29,4,2,3] multiply(v, m)",
        "r = f16[29,4,2,3] convert(p)",
    ),
    "a masked bias": (
        "b = f32[3] constant({0, -inf, 1})",
        "m = f32[29,4,2,3] broadcast(b), dimensions={3}",
        "r = f32[29,4,2,3] add(v, m)",
    ),
    "a masked argument": (
        "m = f32[29,4,2,3] parameter(2)",
        "r = f32[29,4,2,3] add(v, m)",
    ),
}
"""What the eviction of a convolution computes."""


@pytest.mark.parametrize("case", FUSED)
def test_what_is_fused_into_a_convolution(case: str) -> None:
    """The result is turned for its memory; each infinity or NaN stays in its place."""
    text = entry(
        "x = f32[2,31,1,48] parameter(0)",
        "k = f32[16,3,3,3] parameter(1)",
        "v = f32[29,4,2,3] convolution(x, k), window={size=3x3 pad=0_0x2_3}, "
        "dim_labels=b01f_i01o->01bf, feature_group_count=3",
        *FUSED[case],
    )
    rng = np.random.default_rng(0)
    shapes = [(2, 31, 1, 48), (16, 3, 3, 3), (29, 4, 2, 3)]
    args = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    args[2][rng.random(args[2].shape) < 0.05] = -np.inf
    assert not failures(text, args[: text.count("parameter(")])


SMALL = {"f8e4m3": (ml_dtypes.float8_e4m3, 200), "f16": (np.float16, 4e4)}


@pytest.mark.parametrize("dtype", SMALL)
def test_products_beyond_the_range_of_a_type(dtype: str) -> None:
    text = entry(*PRODUCT, f"r = {dtype}[4,513] convert(v)")
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(shape).astype(np.float32) for shape in ((4, 513), (4, 2))]
    assert not failures(text, [args[0], args[1] * SMALL[dtype][1]])


@pytest.mark.parametrize("dtype", SMALL)
def test_sums_beyond_the_range_of_a_type(dtype: str) -> None:
    """The argument itself reaches a product, as numbers."""
    lines = (
        f"a = {dtype}[513,5] parameter(0)",
        f"z = {dtype}[] constant(0)",
        f"s = {dtype}[513,5] reduce-window(a, z), window={{size=1x3 pad=0_0x1_1}}, to_apply=sum",
        f"t = {dtype}[5,513] transpose(s), dimensions={{1,0}}",
        f"w = {dtype}[513,2] parameter(1)",
        f"d = {dtype}[5,2] dot(a, w), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}",
        f"r = ({dtype}[5,513], {dtype}[5,2]) tuple(t, d)",
    )
    kind, size = SMALL[dtype]
    total = LEAST.replace("least", "sum").replace("minimum", "add").replace("f32", dtype)
    text = entry(*lines).replace("\n\nENTRY", f"\n{total}\nENTRY")
    rng = np.random.default_rng(0)
    numbers = np.clip(rng.standard_normal((513, 5)), -1, 1) * size
    assert not failures(text, [numbers.astype(kind), np.zeros((513, 2), kind)])

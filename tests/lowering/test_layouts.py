"""Programs whose layouts were once wrong or missing: each was found by a random program."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import entry_signature
from neuronir.frontends.hlo_text import import_hlo_text
from tests.differential.stages import failures
from tests.lowering.helpers import Array, entry

CASES: dict[str, tuple[str, ...]] = {
    "a constant factor and offset along the columns of a product": (
        "a = f32[6,5] parameter(0)",
        "b = f32[5,4] parameter(1)",
        "d = f32[6,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "f = f32[4] constant({2, 3, 4, 5})",
        "g = f32[6,4] broadcast(f), dimensions={1}",
        "h = f32[6,4] multiply(d, g)",
        "o = f32[4] constant({1, -1, 2, 7})",
        "p = f32[6,4] broadcast(o), dimensions={1}",
        "q = f32[6,4] add(h, p)",
        "s = f32[6,4] tanh(q)",
    ),
    "a factor after a scale and an offset": (
        "a = f32[6,5] parameter(0)",
        "b = f32[5,4] parameter(1)",
        "d = f32[6,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "k = f32[] constant(3)",
        "l = f32[6,4] broadcast(k), dimensions={}",
        "m = f32[6,4] multiply(d, l)",
        "o = f32[4] constant({1, -1, 2, 7})",
        "p = f32[6,4] broadcast(o), dimensions={1}",
        "q = f32[6,4] add(m, p)",
        "f = f32[4] constant({2, 3, 4, 5})",
        "g = f32[6,4] broadcast(f), dimensions={1}",
        "h = f32[6,4] multiply(q, g)",
    ),
    "a transpose whose rows cut what a broadcast repeats": (
        "a = f32[2,120] parameter(0)",
        "b = f32[2,120,128] broadcast(a), dimensions={0,1}",
        "s = f32[2,119,128] slice(b), slice={[0:2], [0:119], [0:128]}",
        "v = f32[16,1904] reshape(s)",
        "t = f32[1904,16] transpose(v), dimensions={1,0}",
    ),
    "a factor along the rows of a product": (
        "a = f32[6,5] parameter(0)",
        "b = f32[5,4] parameter(1)",
        "d = f32[6,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "f = f32[6] constant({2, 3, 4, 5, 6, 7})",
        "g = f32[6,4] broadcast(f), dimensions={0}",
        "h = f32[6,4] multiply(d, g)",
    ),
    "a table cut to 50 rows and added to gathered rows of a batch of three": (
        "i = s32[3,50,1] parameter(0)",
        "t = f32[64,160] parameter(1)",
        "w = f32[301,160] parameter(2)",
        "g = f32[3,50,160] gather(w, i), offset_dims={2}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=2, slice_sizes={1,160}",
        "s = f32[50,160] slice(t), slice={[0:50], [0:160]}",
        "b = f32[3,50,160] broadcast(s), dimensions={1,2}",
        "r = f32[3,50,160] add(g, b)",
    ),
    "columns of a product that do not lie in the order of their numbers": (
        "a = f32[1,200] parameter(0)",
        "b = f32[1,200] parameter(1)",
        "c = f32[200,200] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "d = f32[200,40,5] reshape(c)",
        "e = f32[5,1] parameter(2)",
        "f = f32[200,40,1] dot(d, e), lhs_contracting_dims={2}, rhs_contracting_dims={0}",
    ),
    "a constant along the last of two dimensions that are the columns of a product": (
        "a = f32[3,2,4] parameter(0)",
        "b = f32[3,1] parameter(1)",
        "d = f32[1,2,4] dot(b, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "o = f32[4] constant({1, -1, 2, 7})",
        "p = f32[1,2,4] broadcast(o), dimensions={2}",
        "q = f32[1,2,4] add(d, p)",
    ),
    "an argument along the first of two dimensions that are the columns of a product": (
        "a = f32[3,2,4] parameter(0)",
        "b = f32[3,1] parameter(1)",
        "d = f32[1,2,4] dot(b, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "o = f32[2] parameter(2)",
        "p = f32[1,2,4] broadcast(o), dimensions={1}",
        "q = f32[1,2,4] add(d, p)",
    ),
    "a contraction over both dimensions of a product, in tiles that divide neither": (
        "a = f32[1,129] parameter(0)",
        "b = f32[1,200] parameter(1)",
        "c = f32[129,200] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "d = f32[25800] reshape(c)",
        "s = f32[25800] add(d, d)",
        "e = f32[25800,1] parameter(2)",
        "f = f32[1] dot(s, e), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    ),
    "a residual that repeats in other pieces than the columns of a product are evicted in": (
        "a = f32[3,3,63,1] parameter(0)",
        "b = f32[1,1] parameter(1)",
        "c = f32[3,3,63,1] dot(a, b), lhs_contracting_dims={3}, rhs_contracting_dims={0}",
        "d = f32[3,63] parameter(2)",
        "e = f32[3,3,63,1] broadcast(d), dimensions={1,2}",
        "f = f32[3,3,63,1] add(c, e)",
    ),
    "rows of a product whose operand does not lie in their order": (
        "a = f32[65,63,4] parameter(0)",
        "b = f32[2,4] parameter(1)",
        "c = f32[2,65,63] dot(b, a), lhs_contracting_dims={1}, rhs_contracting_dims={2}",
        "d = f32[65,2,1] parameter(2)",
        "e = f32[65,63,1] dot(c, d), lhs_batch_dims={1}, lhs_contracting_dims={0}, "
        "rhs_batch_dims={0}, rhs_contracting_dims={1}",
    ),
    "every third element of a transpose": (
        "a = f32[7,18] parameter(0)",
        "b = f32[18,7] transpose(a), dimensions={1,0}",
        "c = f32[126] reshape(b)",
        "d = f32[42] slice(c), slice={[0:126:3]}",
        "e = f32[42] exponential(d)",
    ),
    "pieces of a weight beside tiles that do not divide the tokens": (
        "a = f32[197,128] parameter(0)",
        "b = f32[128,3072] parameter(1)",
        "c = f32[3072,768] parameter(2)",
        "d = f32[197,3072] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "e = f32[197,768] dot(d, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    "a broadcast whose factors a dense layout does not divide": (
        "a = f32[128] parameter(0)",
        "b = f32[3,128] broadcast(a), dimensions={1}",
    ),
    "a slice of a broadcast": (
        "a = bf16[3] parameter(0)",
        "b = bf16[760,3] broadcast(a), dimensions={1}",
        "c = bf16[380,3] slice(b), slice={[0:760:2], [0:3]}",
    ),
    "a slice that keeps all but the last of a dimension": (
        "a = u8[16] parameter(0)",
        "b = u8[120,16] broadcast(a), dimensions={1}",
        "c = u8[120,15] slice(b), slice={[0:120], [0:15]}",
        "d = u8[120,15] add(c, c)",
    ),
    "a tile of two dimensions seen transposed and backwards": (
        "a = f32[197,2] parameter(0)",
        "b = f32[2,197] transpose(a), dimensions={1,0}",
        "c = f32[2,197] reverse(b), dimensions={0}",
    ),
    "a concatenation whose other dimensions only tile unevenly together": (
        "a = pred[197,3,3] parameter(0)",
        "b = pred[197,3,6] concatenate(a, a), dimensions={2}",
    ),
    "a concatenation along a dimension of one": (
        "a = bf16[120,129,1] parameter(0)",
        "b = bf16[2,120,129,1] broadcast(a), dimensions={1,2,3}",
        "c = bf16[2,120,129,2] concatenate(b, b), dimensions={3}",
    ),
    "a pad that cuts one end and fills the other": (
        "a = s32[128,7,7] parameter(0)",
        "k = s32[] constant(2)",
        "b = s32[128,7,7] pad(a, k), padding=0_0x0_0x1_-1",
    ),
    "a strided slice of the last dimension": (
        "a = s32[760,3,7] parameter(0)",
        "b = s32[1,760,3,7] broadcast(a), dimensions={1,2,3}",
        "c = s32[1,760,3,2] slice(b), slice={[0:1], [0:760], [0:3], [3:7:3]}",
    ),
    "numbers along two dimensions, one transposed": (
        "a = f32[129,197] iota(), iota_dimension=0",
        "b = f32[197,129] transpose(a), dimensions={1,0}",
        "c = f32[197,129] iota(), iota_dimension=0",
        "d = f32[197,129] parameter(0)",
        "e = f32[197,129] add(b, d)",
        "f = f32[197,129] multiply(e, c)",
    ),
    "a contraction of a middle dimension": (
        "a = f32[64,120,2] parameter(0)",
        "b = f32[120,128] parameter(1)",
        "c = f32[64,2,128] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    "a product with two free factors that are not neighbours": (
        "a = bf16[2,2,2] parameter(0)",
        "b = bf16[2,760] parameter(1)",
        "c = bf16[760,2,2] dot(b, a), lhs_contracting_dims={0}, rhs_contracting_dims={1}",
    ),
    "one partition that is written in several steps and does not fit": (
        "a = bf16[760,3,16] parameter(0)",
        "b = bf16[1,760,3,16] reshape(a)",
        "c = bf16[1,760,3,16] negate(b)",
        "d = bf16[1,1] parameter(1)",
        "e = bf16[1,760,3,16] dot(d, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    "a broadcast of a value that is not computed yet": (
        "a = f32[760,7,3] parameter(0)",
        "b = f32[760,7,3] negate(a)",
        "c = f32[760,7,3,2] broadcast(b), dimensions={0,1,2}",
    ),
    "a table whose indexed dimension comes last": (
        "a = f32[10,10,10] parameter(0)",
        "i = s32[4,1] parameter(1)",
        "g = f32[4,10,10] gather(a, i), offset_dims={1,2}, collapsed_slice_dims={2}, "
        "start_index_map={2}, index_vector_dim=1, slice_sizes={10,10,1}",
    ),
    "windows of several rows at an index": (
        "a = f32[40,30] parameter(0)",
        "i = s32[5,2] parameter(1)",
        "g = f32[5,3,4] gather(a, i), offset_dims={1,2}, collapsed_slice_dims={}, "
        "start_index_map={0,1}, index_vector_dim=1, slice_sizes={3,4}",
    ),
    "an update of a part of each row": (
        "a = f32[40,30] parameter(0)",
        "u = f32[3,4] parameter(1)",
        "i = s32[] parameter(2)",
        "z = s32[] constant(2)",
        "d = f32[40,30] dynamic-update-slice(a, u, i, z)",
    ),
    "no elements": (
        "a = f32[5,0] parameter(0)",
        "b = f32[5,3] parameter(1)",
        "c = f32[5,3] concatenate(a, b), dimensions={1}",
    ),
    "a contraction of nothing": (
        "a = f32[5,0] parameter(0)",
        "b = f32[0,7] parameter(1)",
        "c = f32[5,7] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    "bits of a narrower type": (
        "a = u8[6,4] parameter(0)",
        "b = f32[6] bitcast-convert(a)",
        "c = u16[6,2] bitcast-convert(b)",
    ),
}


def _arguments(text: str) -> list[Array]:
    rng = np.random.default_rng(0)
    args: list[Array] = []
    for shape, dtype in entry_signature(import_hlo_text(text, "t.hlo")):
        if dtype.kind in "iub":
            args.append(rng.integers(0, 2 if dtype.kind == "b" else 60, shape).astype(dtype))
        else:
            args.append(rng.standard_normal(shape).astype(np.float32).astype(dtype))
    return args


@pytest.mark.parametrize("case", CASES)
def test_layout(case: str) -> None:
    text = entry(*CASES[case])
    wrong = failures(text, _arguments(text))
    assert not wrong, "\n".join(wrong)


def test_a_full_reduction_of_more_than_one_partition_holds() -> None:
    """What is reduced to one number lies on all partitions: 264 KB do not fit in one."""
    text = """HloModule m

f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}

ENTRY e {
  a = f32[64,8,129] parameter(0)
  b = f32[64,8,129] tanh(a)
  z = f32[] constant(-inf)
  m = f32[] reduce(b, z), dimensions={0,1,2}, to_apply=f
  n = f32[64,8,129] broadcast(m), dimensions={}
  ROOT s = f32[64,8,129] subtract(b, n)
}
"""
    assert failures(text, _arguments(text)) == []


def test_a_piece_of_two_results_is_stored_in_both() -> None:
    text = entry(
        "x = f32[1,33,64] parameter(0)",
        "y = f32[1,33,64] parameter(1)",
        "a = f32[1,33,64] exponential(x)",
        "b = f32[1,33,64] negate(y)",
        "c = f32[1,66,64] concatenate(a, b), dimensions={1}",
        "d = f32[2,33,64] concatenate(b, a), dimensions={0}",
        "t = (f32[1,66,64], f32[2,33,64]) tuple(c, d)",
    )
    args = [np.random.default_rng(i).standard_normal((1, 33, 64), np.float32) for i in (0, 1)]
    assert not failures(text, args, phases=("virtual", "binary"))

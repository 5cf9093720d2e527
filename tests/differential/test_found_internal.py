"""Small programs for which random generation found internal errors."""

from typing import Any

import numpy as np

from neuronir.dialects.support.diagnostics import Message, handling
from tests.differential.test_found import check, entry, floats

TIMES = """times {
  a = f16[] parameter(0)
  b = f16[] parameter(1)
  ROOT c = f16[] multiply(a, b)
}
"""


def test_a_padded_infinity_is_masked() -> None:
    """129 columns become 130; the decomposition of atan2 compares with a splat of infinity."""
    text = entry("""  a = f16[4,16,2] parameter(0)
  b = f16[4,16,129,2] parameter(1)
  c = f32[2,4,129] parameter(2)
  d = f32[2,4,129] dot(a, b), lhs_batch_dims={2,0}, lhs_contracting_dims={1}, rhs_batch_dims={3,0}, rhs_contracting_dims={1}
  e = f32[2,4,129] atan2(d, c)
  f = f32[2,129,4] transpose(c), dimensions={0,2,1}
  ROOT r = (f32[2,4,129], f32[2,129,4]) tuple(e, f)""")  # noqa: E501
    shapes = (4, 16, 2), (4, 16, 129, 2), (2, 4, 129)
    a, b, c = (floats(*shape, seed=k) for k, shape in enumerate(shapes))
    faults: list[Message] = []
    with handling(lambda message: faults.append(message) if message.fault else None):
        check(text, [a.astype("float16"), b.astype("float16"), c], 1e-5, target="inf1")
    assert not faults


def test_two_starts_are_loaded_in_another_order() -> None:
    """nc-schedule exchanges the two loads of registers that the address of the update reads."""
    text = entry("""  a = f32[64] parameter(0)
  low = f32[] parameter(1)
  high = f32[] parameter(2)
  b = f32[64] clamp(low, a, high)
  c = f32[4,1,16,5] parameter(3)
  d = f32[4,1,16,5] log(c)
  e = s32[5,16] parameter(4)
  f = s32[3,1] parameter(5)
  i = u32[] parameter(6)
  j = u32[] parameter(7)
  g = s32[5,16] dynamic-update-slice(e, f, i, j)
  h = u32[65] broadcast(j), dimensions={}
  ROOT r = (f32[64], f32[4,1,16,5], s32[5,16], u32[65]) tuple(b, d, g, h)""")
    a, c = floats(64), np.abs(floats(4, 1, 16, 5)) + 1
    e = np.arange(80, dtype=np.int32).reshape(5, 16)
    f = np.array([[-4], [9], [-5]], np.int32)
    ends = [np.float32(-1), np.float32(2)]
    starts = [np.uint32(2), np.uint32(12)]
    args: list[Any] = [a, *ends, c, e, f, *starts]
    check(text, args, 1e-5, optlevel=3)


def test_the_gaps_of_rows_at_a_computed_start_are_written_in_any_order() -> None:
    """The columns between the rows of the slice are written after it is read."""
    text = entry("""  a = s32[4,511] iota(), iota_dimension=0
  i = s32[] parameter(0)
  j = s32[] constant(191)
  ROOT r = s32[2,256] dynamic-slice(a, i, j), dynamic_slice_sizes={2,256}""")
    check(text, [np.array(1, np.int32)], optlevel=1)


def test_a_scatter_into_nothing() -> None:
    text = entry("""  a = f16[0,3,5] parameter(0)
  i = s16[3] constant({-1, 5, 32767})
  u = f16[1] parameter(1)
  ROOT r = f16[0,3,5] scatter(a, i, u), update_window_dims={0}, inserted_window_dims={0,2}, scatter_dims_to_operand_dims={0,1,2}, index_vector_dim=0, to_apply=times""")  # noqa: E501
    text = text.replace("\nENTRY", f"\n{TIMES}\nENTRY")
    check(text, [np.zeros((0, 3, 5), np.float16), np.ones(1, np.float16)])


def test_starts_of_windows_in_tiles_that_cross_dimensions() -> None:
    """128 of the 16 x 31 x 8 rows are 16 windows of 8, whose starts were refused."""
    text = entry("""  a = s16[16,511] parameter(0)
  i = u32[16,2,31] parameter(1)
  u = s16[16,31,8] parameter(2)
  ROOT r = s16[16,511] scatter(a, i, u), update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=least""")  # noqa: E501
    least = TIMES.replace("times", "least").replace("multiply", "minimum").replace("f16", "s16")
    rng = np.random.default_rng(0)
    sizes = np.array([9, 511]).reshape(1, 2, 1)
    starts = (rng.random((16, 2, 31)) * sizes).astype(np.uint32)
    a, u = (rng.integers(-99, 99, dims).astype(np.int16) for dims in ((16, 511), (16, 31, 8)))
    check(text.replace("\nENTRY", f"\n{least}\nENTRY"), [a, starts, u])

"""Iotas in tiles, against XLA's CPU backend."""

import numpy as np
import pytest

from tests.differential.small_room import small_room
from tests.differential.test_found import check, entry

_ADD = """add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}
"""
_READERS = {
    "reduce": (
        "  e = f32[3,2049] multiply(g, w)\n"
        "  z = f32[] constant(0)\n"
        "  ROOT y = f32[3] reduce(e, z), dimensions={1}, to_apply=add"
    ),
    "transpose": "  ROOT y = f32[2049,3] transpose(g), dimensions={1,0}",
}


@pytest.mark.parametrize("target", ["trn1", "inf1"])
@pytest.mark.parametrize("reader", _READERS)
def test_a_tile_of_a_reshaped_iota(reader: str, target: str) -> None:
    """128 columns of 3 rows are no contiguous part of 6147 numbers."""
    text = entry(
        "  x = f32[3,2049] parameter(0)\n"
        "  w = f32[3,2049] parameter(1)\n"
        "  f = f32[6147] reshape(x)\n"
        "  i = f32[6147] iota(), iota_dimension=0\n"
        "  s = f32[6147] add(f, i)\n"
        "  g = f32[3,2049] reshape(s)\n" + _READERS[reader],
        _ADD,
    )
    columns = np.arange(6147).reshape(3, 2049) % 700
    args = [columns.astype(np.float32), (columns == 5).astype(np.float32)]
    with small_room(0.002):
        check(text, args, target=target, tiling="always")


@pytest.mark.parametrize("kind", ["pred", "f32"])
def test_elements_of_rows_that_no_tile_divides(kind: str) -> None:
    """inf1 gathers by a product with a row of zeros and a one at the number of the element."""
    text = entry(
        f"  x = {kind}[3,2049] parameter(0)\n"
        "  i = s32[511,2] parameter(1)\n"
        f"  ROOT y = {kind}[511] gather(x, i), offset_dims={{}}, collapsed_slice_dims={{0,1}}, "
        "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}"
    )
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (3, 2049)).astype(np.bool_ if kind == "pred" else np.float32)
    at = np.stack([rng.integers(-1, 4, 511), rng.integers(-5, 2060, 511)], 1).astype(np.int32)
    check(text, [x, at], target="inf1")

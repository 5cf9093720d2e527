"""gather, scatter and dynamic slices: tables that are cut, and indices of every type."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.lowering.helpers import entry, run
from tests.oracle import run_xla

Array = NDArray[Any]


def _same(text: str, args: Sequence[Array]) -> None:
    """On the binary as in XLA, every bit."""
    for mine, theirs in zip(run(text, args), run_xla(text, args), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def _literal(array: Array) -> str:
    if array.ndim:
        return "{" + ", ".join(_literal(part) for part in array) + "}"
    return str(array.item())


_CUT = (
    # table, slice sizes, index map, offset and collapsed dimensions
    ((4, 3), "{1,2}", "{0}", "{1}", "{0}"),  # the dimension after the rows
    ((4, 3), "{2,1}", "{1}", "{1}", "{1}"),  # before them
    ((5, 4, 3), "{1,2,2}", "{0}", "{1,2}", "{0}"),  # two dimensions
    ((5, 4, 3), "{2,3,2}", "{0,1}", "{1,2,3}", "{}"),  # beside windows
    ((4, 3), "{2,2}", "{}", "{1,2}", "{}"),  # nothing is indexed
)


@pytest.mark.parametrize(("shape", "sizes", "mapped", "offset", "collapsed"), _CUT)
def test_gather_from_a_constant_that_is_cut(
    shape: tuple[int, ...], sizes: str, mapped: str, offset: str, collapsed: str
) -> None:
    table = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    count = mapped.count(",") + 1 if mapped != "{}" else 0
    windows = [int(n) for n in sizes[1:-1].split(",")]
    kept = [n for d, n in enumerate(windows) if str(d) not in collapsed]
    result = ",".join(str(n) for n in (3, *kept))
    text = entry(
        f"t = s32[{','.join(map(str, shape))}] constant({_literal(table)})",
        f"i = s32[3,{count}] parameter(0)",
        f"g = s32[{result}] gather(t, i), offset_dims={offset}, collapsed_slice_dims={collapsed}, "
        f"start_index_map={mapped}, index_vector_dim=1, slice_sizes={sizes}",
    )
    _same(text, [np.array([[1, 0], [-5, 3], [3, 1]], np.int32)[:, :count]])


_LARGE = np.array([2, 2**31 - 1, 2**31, 2**32 - 1, 2**24 + 1], np.uint32)


@pytest.mark.parametrize("given", ["parameter(1)", f"constant({_literal(_LARGE)})"])
def test_unsigned_indices_of_a_gather_end_at_the_end(given: str) -> None:
    text = entry(
        "t = f32[9,4] parameter(0)",
        f"i = u32[5] {given}",
        "g = f32[5,4] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}",
    )
    table = np.arange(36, dtype=np.float32).reshape(9, 4)
    _same(text, [table, _LARGE] if "parameter" in given else [table])


@pytest.mark.parametrize("second", ["parameter(3)", "constant(4294967295)"])
def test_unsigned_starts_of_an_update_end_at_the_end(second: str) -> None:
    text = entry(
        "p = f32[9,4] parameter(0)",
        "u = f32[2,3] parameter(1)",
        "i = u32[] parameter(2)",
        f"j = u32[] {second}",
        "d = f32[9,4] dynamic-update-slice(p, u, i, j)",
    )
    starts = [np.asarray(n) for n in _LARGE[2:4]]
    args = [np.zeros((9, 4), np.float32), np.ones((2, 3), np.float32), *starts]
    _same(text, args if "parameter" in second else args[:3])

"""Stationary operands with more columns than the array: they are multiplied in parts."""

from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir import SSAValue

from neuronir.api import Executable
from neuronir.dialects.nc.ops import View
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.emitter import column_parts, dense_dims, elements_of_dims
from tests.lowering.helpers import entry

_BUFFER = cast(SSAValue, None)  # no part depends on it


def offsets(view: View) -> list[int]:
    """The elements that a view walks over, in order."""
    found = [view.offset]
    for stride, size in view.free:
        found = [base + stride * i for base in found for i in range(size)]
    return found


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(1, 40)), min_size=1, max_size=3),
    st.sampled_from([32, 64, 128]),
)
def test_parts_are_the_columns(free: list[tuple[int, int]], limit: int) -> None:
    view = View(_BUFFER, 0, 128, tuple(free), 7)
    parts = column_parts(view, limit)
    if parts is None:
        inner = [elements_of_dims(free[i:]) for i in range(1, len(free))]
        assert elements_of_dims(free) > limit
        assert any(limit % each and each % limit for each in inner)
        return
    walked = [offset for _, part in parts for offset in offsets(part)]
    assert walked == offsets(view)
    sizes = [elements_of_dims(part.free) for _, part in parts]
    assert all(0 < size <= limit for size in sizes)
    assert [low for low, _ in parts] == [sum(sizes[:i]) for i in range(len(sizes))]


def test_dense_columns_always_have_parts() -> None:
    for sizes in ((98,), (2, 49), (1, 128)):
        whole = View(_BUFFER, 0, 1, ((1, int(np.prod(sizes))),))
        assert column_parts(whole, 64) is not None
        assert offsets(View(_BUFFER, 0, 1, dense_dims(sizes))) == list(range(int(np.prod(sizes))))


@pytest.mark.parametrize(("groups", "kept", "whole"), [(2, 49, 50), (3, 40, 41), (5, 21, 24)])
@pytest.mark.parametrize("columns", [8, 600])
def test_columns_that_no_pattern_walks_over(
    groups: int, kept: int, whole: int, columns: int
) -> None:
    """A part would end within a row of the slice: the columns are packed before."""
    text = entry(
        f"x = bf16[32,{groups},{whole}] parameter(0)",
        f"w = bf16[32,{columns}] parameter(1)",
        f"s = bf16[32,{groups},{kept}] slice(x), slice={{[0:32], [0:{groups}], [0:{kept}]}}",
        f"d = f32[{groups},{kept},{columns}] dot(s, w), lhs_contracting_dims={{0}}, "
        "rhs_contracting_dims={0}",
    )
    result = compile_text(text, "inf1", CompileOptions())
    assert result.program is not None
    rng = np.random.default_rng(3)
    x, w = (rng.integers(-3, 4, s) for s in ((32, groups, whole), (32, columns)))
    bf16 = np.dtype("bfloat16")
    (mine,) = Executable(result.program, result.encoding)(x.astype(bf16), w.astype(bf16)).values()
    np.testing.assert_array_equal(mine, np.einsum("kgm,kn->gmn", x[:, :, :kept], w))

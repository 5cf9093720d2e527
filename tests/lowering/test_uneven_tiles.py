"""Products along two dimensions of which the inner one is no whole number of tiles: 129 rows are
65 and 64, in each of the outer ones."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry


def _check(lines: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(3)
    args = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    assert not failures(entry(*lines), args)


@pytest.mark.parametrize("outer", [2, 7])
def test_rows_of_a_result_that_the_next_product_contracts(outer: int) -> None:
    """The result lies with the 129 on partitions."""
    _check(
        [
            f"x = f32[{outer},129,16] parameter(0)",
            "v = f32[1,16] parameter(1)",
            f"d = f32[1,{outer},129] dot(v, x), lhs_contracting_dims={{1}}, "
            "rhs_contracting_dims={2}",
            "w = f32[129,129] parameter(2)",
            f"r = f32[1,{outer},129] dot(d, w), lhs_contracting_dims={{2}}, "
            "rhs_contracting_dims={0}",
        ],
        [(outer, 129, 16), (1, 16), (129, 129)],
    )


@pytest.mark.parametrize("outer", [2, 7])
def test_contraction_of_both(outer: int) -> None:
    """A product made for one that contracts the 129 is also contracted along both dimensions."""
    _check(
        [
            f"x = f32[5,{outer},129] parameter(0)",
            "w = f32[129,129] parameter(1)",
            f"d = f32[5,{outer},129] dot(x, w), lhs_contracting_dims={{2}}, "
            "rhs_contracting_dims={0}",
            f"e = f32[5,{outer},129] dot(d, w), lhs_contracting_dims={{2}}, "
            "rhs_contracting_dims={0}",
            f"u = f32[{outer},129,33] parameter(2)",
            "f = f32[5,33] dot(d, u), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}",
            "g = f32[5,33] dot(e, u), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}",
            f"r = (f32[5,{outer},129], f32[5,33], f32[5,33]) tuple(e, f, g)",
        ],
        [(5, outer, 129), (129, 129), (outer, 129, 33)],
    )

"""A column of a bound array: its elements are not neighbours, although it is flat."""

import numpy as np
import pytest

from tests.defects.programs import bound, right
from tests.lowering.helpers import entry


@pytest.mark.parametrize(("low", "column"), [("0_-1_0", 0), ("-1_0_0", 1)])
@pytest.mark.parametrize("rows", [7, 129])
def test_padding_that_leaves_one_column(rows: int, low: str, column: int) -> None:
    text = entry(
        f"p = f32[{rows},2] parameter(0)",
        "z = f32[] parameter(1)",
        f"r = f32[{rows + 1},1] pad(p, z), padding=1_0_0x{low}",
    )
    table = np.random.default_rng(column).standard_normal((rows, 2)).astype(np.float32)
    right(text, [table, np.array(1.5, np.float32)], weights=bound({0: table}))

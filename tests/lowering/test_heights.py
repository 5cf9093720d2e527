"""Constants of different heights, and single rows of values whose rows lie on partitions."""

import numpy as np
import pytest

from neuronir.dialects.nc.structure import AllocOp, VariableOp
from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.lowering.helpers import entry


def _literal(array: np.ndarray) -> str:
    rows = ", ".join("{" + ", ".join(f"{x:.8g}" for x in row) + "}" for row in array)
    return "{" + rows + "}"


def _virtual(text: str) -> list[object]:
    options = CompileOptions(compile_to="virtual", auto_cast="none")
    return list(compile_text(text, "trn1", options).module.walk())


def test_few_rows_that_are_long_take_no_more_partitions() -> None:
    """What is stored beside a short vector on 128 partitions would have as many rows."""
    rng = np.random.default_rng(0)
    w = rng.integers(-8, 8, (16, 8192)).astype(np.float32)
    b = rng.integers(-8, 8, (128, 1)).astype(np.float32)
    text = entry(
        "x = f32[128,16] parameter(0)",
        f"b = f32[128,1] constant({_literal(b)})",
        f"w = f32[16,8192] constant({_literal(w)})",
        "br = f32[128] reshape(b)",
        "bb = f32[128,16] broadcast(br), dimensions={0}",
        "y = f32[128,16] multiply(x, bb)",
        "r = f32[128,8192] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    streams = [
        tuple(op.buffer.type.get_shape())
        for op in _virtual(text)
        if isinstance(op, AllocOp) and op.role is not None and op.role.data == "stream"
    ]
    assert all(rows == 16 for rows, size in streams if size >= 4096), streams
    assert not failures(text, [rng.standard_normal((128, 16)).astype(np.float32)])


@pytest.mark.parametrize("row", [0, 98, 99, 196])
def test_a_row_of_a_value_in_tiles_goes_through_no_scratch(row: int) -> None:
    """197 rows lie on partitions in two tiles; one is the left side of a product."""
    rng = np.random.default_rng(1)
    text = entry(
        "x = f32[197,256] parameter(0)",
        "w = f32[256,256] parameter(1)",
        "t = f32[197,256] tanh(x)",
        "p = f32[197,256] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        f"s = f32[1,256] slice(p), slice={{[{row}:{row + 1}], [0:256]}}",
        "d = f32[1,256] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "r = (f32[197,256], f32[1,256]) tuple(p, d)",
    )
    args = [rng.standard_normal(s).astype(np.float32) for s in ((197, 256), (256, 256))]
    if row == 0:
        kinds = [op.kind.data for op in _virtual(text) if isinstance(op, VariableOp)]
        assert "scratch" not in kinds
    assert not failures(text, args)

"""hlo-gather-to-dot: lookups as products give the same numbers to the last bit."""

from typing import NamedTuple

import numpy as np
import pytest
from ml_dtypes import bfloat16

from neuronir.dialects.hlo.interpreter import interpret
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes

TYPES = {"f32": np.float32, "bf16": bfloat16, "s32": np.int32, "u8": np.uint8, "pred": np.bool_}


class Form(NamedTuple):
    """A gather: shapes, its dimensions as HLO writes them, and the sizes of its windows."""

    table: tuple[int, ...]
    indices: tuple[int, ...]
    result: tuple[int, ...]
    dims: str
    sizes: tuple[int, ...]


def _dims(offset: str, collapsed: str, along: int, vector_dim: int) -> str:
    """The dimension numbers of a gather as HLO writes them."""
    return (
        f"offset_dims={{{offset}}}, collapsed_slice_dims={{{collapsed}}}, "
        f"start_index_map={{{along}}}, index_vector_dim={vector_dim}"
    )


FORMS = {
    "rows": Form((10, 4), (3, 1), (3, 4), _dims("1", "0", 0, 1), (1, 4)),
    "columns": Form((4, 10), (6,), (6, 4), _dims("1", "1", 1, 1), (4, 1)),
    "table's dimension first": Form((10, 4), (2, 3), (4, 2, 3), _dims("0", "0", 0, 2), (1, 4)),
    "planes": Form((3, 10, 2), (5, 1), (3, 5, 2), _dims("0,2", "1", 1, 1), (3, 1, 2)),
    "two dimensions": Form(
        (3, 10, 2),
        (5, 2),
        (5, 2),
        "offset_dims={1}, collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=1",
        (1, 1, 2),
    ),
    "not collapsed": Form((10, 4), (1, 3), (1, 4, 3), _dims("0,1", "", 0, 0), (1, 4)),
}


def _text(form: Form, dtype: str) -> str:
    def shape(dims: tuple[int, ...]) -> str:
        return "[" + ",".join(map(str, dims)) + "]"

    sizes = ",".join(map(str, form.sizes))
    return f"""ENTRY main {{
  t = {dtype}{shape(form.table)} parameter(0)
  i = s32{shape(form.indices)} parameter(1)
  ROOT r = {dtype}{shape(form.result)} gather(t, i), {form.dims}, slice_sizes={{{sizes}}}
}}
"""


def _table(shape: tuple[int, ...], dtype: str) -> Array:
    rng = np.random.default_rng(1)
    numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, shape)
    if dtype in ("s32", "u8", "pred"):
        numbers = rng.integers(0, {"s32": 1 << 30, "u8": 256, "pred": 2}[dtype], shape)
    table: Array = numbers.astype(TYPES[dtype])
    return table


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("form", FORMS)
def test_the_same_numbers(form: str, dtype: str) -> None:
    chosen = FORMS[form]
    module = program(_text(chosen, dtype))
    rng = np.random.default_rng(2)
    args = [_table(chosen.table, dtype), rng.integers(-3, 14, chosen.indices).astype(np.int32)]
    wanted = interpret(module, args)[0]
    run_passes(module, "hlo-gather-to-dot,hlo-dce")
    assert "gather" not in opcodes(module)
    np.testing.assert_array_equal(interpret(module, args)[0], wanted)


def test_windows_of_several_rows_stay() -> None:
    form = Form((10, 4), (3, 1), (3, 2, 4), _dims("1,2", "", 0, 1), (2, 4))
    module = program(_text(form, "f32"))
    run_passes(module, "hlo-gather-to-dot")
    assert opcodes(module)[-1] == "gather"


def _lookup(table: Array, indices: Array, kind: str) -> tuple[Array, Array, list[str]]:
    """What a lookup of rows gives before and after the pass, and the opcodes after it."""
    text = _text(FORMS["rows"], "f32").replace("s32[3,1]", f"{kind}[3,1]")
    module = program(text)
    before = interpret(module, [table, indices])[0]
    run_passes(module, "hlo-gather-to-dot,hlo-dce")
    return before, interpret(module, [table, indices])[0], opcodes(module)


def test_the_largest_numbers_do_not_become_infinite() -> None:
    largest = np.finfo(np.float32).max
    table = np.full((10, 4), largest, np.float32)
    table[::2] = -largest
    before, after, _ = _lookup(table, np.array([[0], [1], [9]], np.int32), "s32")
    np.testing.assert_array_equal(after, before)


def test_large_unsigned_indices_choose_the_last_row() -> None:
    table = np.arange(40, dtype=np.float32).reshape(10, 4)
    before, after, _ = _lookup(table, np.array([[1], [2**31], [2**32 - 1]], np.uint32), "u32")
    np.testing.assert_array_equal(after, before)


def test_a_constant_table_with_infinities_stays() -> None:
    text = """ENTRY main {
  t = f32[3,2] constant({{1, 2}, {-inf, 3}, {4, 5}})
  i = s32[4,1] parameter(0)
  ROOT r = f32[4,2] gather(t, i), offset_dims={1}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}
}
"""
    module = program(text)
    run_passes(module, "hlo-gather-to-dot")
    assert opcodes(module)[-1] == "gather"

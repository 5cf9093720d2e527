"""hlo-gather-to-dot: lookups as products give the same numbers to the last bit."""

from typing import NamedTuple

import numpy as np
import pytest
from ml_dtypes import bfloat16

from neuronir.dialects.hlo.interpreter import interpret
from tests.differential.stages import stages
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes

RNG = np.random.default_rng(3)
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
    "a batch, one row each": Form(
        (7, 10),
        (7, 1, 1),
        (7, 1),
        "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
        "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2",
        (1, 1),
    ),
    "a batch, many rows each": Form(
        (10, 3, 2, 4),
        (5, 1, 3),
        (5, 2, 3, 4),
        "offset_dims={1,3}, collapsed_slice_dims={0}, start_index_map={0}, "
        "operand_batching_dims={1}, start_indices_batching_dims={2}, index_vector_dim=1",
        (1, 1, 2, 4),
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


@pytest.mark.parametrize("count", [3, 9])
def test_windows_of_several_rows(count: int) -> None:
    """A few windows are selected each, the rows of many are looked up."""
    form = Form((10, 4), (count, 1), (count, 2, 4), _dims("1,2", "", 0, 1), (2, 4))
    module = program(_text(form, "f32"))
    args = [_table(form.table, "f32"), np.arange(-1, count - 1, dtype=np.int32)[:, None] * 4]
    wanted = interpret(module, args)[0]
    run_passes(module, "hlo-gather-to-dot,hlo-dce")
    assert ("dot" in opcodes(module)) == (count > 4) and "gather" not in opcodes(module)
    np.testing.assert_array_equal(interpret(module, args)[0], wanted)


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


SPECIAL = np.array([[1, 2], [-np.inf, -0.0], [np.nan, 5], [np.inf, 0.0], [-1e-4, 3]])


def _special_text(dtype: str, table: str) -> str:
    return f"""ENTRY main {{
  t = {dtype}[5,2] {table}
  i = s32[6,1] parameter({int("parameter" in table)})
  ROOT r = {dtype}[6,2] gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,2}}
}}
"""


def _same(found: Array, wanted: Array) -> None:
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("known", [False, True])
def test_infinities_nan_and_negative_zeros_are_found(dtype: str, known: bool) -> None:
    """0 times an infinity is NaN, and 0 + -0 is 0: neither may show."""
    literal = "constant({{1, 2}, {-inf, -0}, {nan, 5}, {inf, 0}, {-1e-4, 3}})"
    module = program(_special_text(dtype, literal if known else "parameter(0)"))
    table = SPECIAL.astype(TYPES[dtype])
    args = [np.array([[2], [0], [3], [1], [4], [1]], np.int32)]
    args = args if known else [table, *args]
    wanted = interpret(module, args)[0]
    run_passes(module, "hlo-gather-to-dot,hlo-dce")
    assert "gather" not in opcodes(module)
    found = interpret(module, args)[0]
    _same(found, wanted)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_infinities_nan_and_negative_zeros_on_inf1(dtype: str) -> None:
    table = np.delete(SPECIAL, 4, axis=0).astype(TYPES[dtype])
    text = "HloModule m\n" + _special_text(dtype, "parameter(0)").replace("[5,2]", "[4,2]")
    args = [table, np.array([[2], [0], [3], [1], [3], [1]], np.int32)]
    (stage,) = stages(text, args, "matmult", ("binary",), target="inf1")
    _same(stage.outputs[0], table[args[1][:, 0]])


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("dims", [(16, 7, 7), (64, 48)])
def test_special_values_of_a_table_by_columns_on_inf1(dtype: str, dims: tuple[int, ...]) -> None:
    """The table is transposed first, where PE would spoil the neighbours of infinities."""
    rank, width = len(dims), dims[-1]
    before, result = (",".join(map(str, (*dims[:-1], n))) for n in (width, 9))
    text = f"""HloModule m
ENTRY main {{
  t = {dtype}[{before}] parameter(0)
  i = s32[9,1] parameter(1)
  ROOT r = {dtype}[{result}] gather(t, i), offset_dims={{{",".join(map(str, range(rank - 1)))}}},
    collapsed_slice_dims={{{rank - 1}}}, start_index_map={{{rank - 1}}}, index_vector_dim=1,
    slice_sizes={{{",".join(map(str, (*dims[:-1], 1)))}}}
}}
"""
    rng = np.random.default_rng(0)
    special = rng.choice([np.inf, -np.inf, np.nan, -0.0], dims)
    table = np.where(rng.random(dims) < 0.2, special, rng.standard_normal(dims))
    table = table.astype(TYPES[dtype])
    places = rng.integers(0, width, (9, 1)).astype(np.int32)
    (stage,) = stages(text, [table, places], "matmult", ("binary",), target="inf1")
    _same(stage.outputs[0], table[..., places[:, 0]])


def test_special_values_of_tables_of_a_batch_on_inf1() -> None:
    """Each table gives one row: the others may not change it."""
    form = FORMS["a batch, one row each"]
    table = RNG.standard_normal(form.table).astype(np.float32)
    places = RNG.integers(0, form.table[1], form.indices).astype(np.int32)
    table[np.arange(5), places[:5, 0, 0]] = np.inf, -np.inf, np.nan, -0.0, 0.0
    (stage,) = stages(
        "HloModule m\n" + _text(form, "f32"), [table, places], "matmult", ("binary",), "inf1"
    )
    _same(stage.outputs[0], np.take_along_axis(table, places[:, :, 0], 1))


def test_a_finite_constant_table_takes_one_product() -> None:
    text = _special_text("bf16", "constant({{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 0}})")
    module = program(text)
    run_passes(module, "hlo-gather-to-dot,hlo-dce")
    assert opcodes(module).count("dot") == 1

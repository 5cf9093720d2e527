"""gather, scatter and dynamic slices: tables that are cut, and indices of every type."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.defects.programs import right
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


def _gather_windows(index: str) -> str:
    return entry(
        "t = u8[2,511,8] parameter(0)",
        f"i = {index}[2,1,2] parameter(1)",
        "g = u8[255,2,7,1] gather(t, i), offset_dims={0,2}, collapsed_slice_dims={0}, "
        "start_index_map={0,1}, index_vector_dim=2, slice_sizes={1,255,7}",
    )


@pytest.mark.parametrize("index", ["s32", "u16"])
def test_windows_whose_rows_no_tile_divides(index: str) -> None:
    table = np.random.default_rng(0).integers(0, 256, (2, 511, 8)).astype(np.uint8)
    dtype = {"s32": np.int32, "u16": np.uint16}[index]
    _same(_gather_windows(index), [table, np.array([[[0, 100]], [[5, 300]]], dtype)])


def _scatter(operand: str, updates: str, index: str, attributes: str, opcode: str) -> str:
    return (
        "HloModule m\n\nr {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        f"  ROOT c = f32[] {opcode}(a, b)\n}}\n\n"
    ) + entry(
        f"p = f32[{operand}] parameter(0)",
        f"i = s32[{index}] parameter(1)",
        f"u = f32[{updates}] parameter(2)",
        f"s = f32[{operand}] scatter(p, i, u), {attributes}, to_apply=r",
    ).removeprefix("HloModule m\n\n")


_SCATTERS = (
    # operand, updates, indices, update window and inserted dimensions, index map
    ("5,1", "6,1", "6,2", "{1}", "{0}", "{0,1}"),  # a dimension of one element
    ("5,4", "6,4", "6,2", "{1}", "{0}", "{1,0}"),  # a whole dimension, indexed first
    ("4,3", "6,4,3", "6,2", "{1,2}", "{}", "{0,1}"),  # all dimensions
    ("5,4,1", "6,4", "6,3", "{1}", "{0,2}", "{0,2,1}"),  # one that is inserted
    ("3,4", "6,1", "6,1", "{1}", "{0}", "{1}"),  # an inserted one without an index
    ("3,400", "6,317", "6,2", "{1}", "{0}", "{0,1}"),  # rows that no tile divides
    ("7,300", "7,6", "6,1", "{0}", "{1}", "{1}"),  # columns
    ("7,30,20", "6,7,4,3", "6,2", "{1,2,3}", "{}", "{2,1}"),  # of each row
)


@pytest.mark.parametrize("opcode", ["add", "minimum"])
@pytest.mark.parametrize(("operand", "updates", "index", "window", "inserted", "mapped"), _SCATTERS)
def test_scatter_drops_windows_that_do_not_fit(
    operand: str, updates: str, index: str, window: str, inserted: str, mapped: str, opcode: str
) -> None:
    attributes = (
        f"update_window_dims={window}, inserted_window_dims={inserted}, "
        f"scatter_dims_to_operand_dims={mapped}, index_vector_dim=1"
    )
    rng = np.random.default_rng(0)
    shapes = [[int(n) for n in s.split(",")] for s in (operand, index, updates)]
    places = rng.integers(0, 2, shapes[1]).astype(np.int32)
    places[3:5] = [[-1], [2**31 - 1]]
    x, u = (rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes[::2])
    _same(_scatter(operand, updates, index, attributes, opcode), [x, places, u])


def test_scatter_at_no_index_goes_to_the_beginning() -> None:
    attributes = (
        "update_window_dims={1}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={}, index_vector_dim=1"
    )
    text = _scatter("3", "2,2", "2,0", attributes, "maximum")
    updates = np.array([[4, 5], [6, 3]], np.float32)
    _same(text, [np.array([1, 9, 2], np.float32), np.zeros((2, 0), np.int32), updates])


@pytest.mark.parametrize("target", ["trn1", "inf1"])
def test_gather_from_nothing(target: str) -> None:
    """A dimension without elements that windows take whole: XLA gives zeros."""
    text = entry(
        "p = f32[0,8,16] parameter(0)",
        "i = s32[3,2,2] parameter(1)",
        "g = f32[16,3,2] gather(p, i), offset_dims={0}, collapsed_slice_dims={0,1}, "
        "start_index_map={0,1}, index_vector_dim=2, slice_sizes={0,1,16}",
    )
    args = [np.zeros((0, 8, 16), np.float32), np.zeros((3, 2, 2), np.int32)]
    right(text, args, target)


@pytest.mark.parametrize(("given", "dims"), [("u8", "3,5,4"), ("f32", "3,5"), ("u16", "3,5,2")])
def test_slice_of_bits_taken_for_another_type(given: str, dims: str) -> None:
    """Rows that are read at run time are of the type that the bits are taken for."""
    text = entry(
        f"p = {given}[{dims}] parameter(0)",
        "b = s32[3,5] bitcast-convert(p)",
        "i = s32[] parameter(1)",
        "j = s32[] parameter(2)",
        "d = s32[2,3] dynamic-slice(b, i, j), dynamic_slice_sizes={2,3}",
    )
    shape = tuple(int(n) for n in dims.split(","))
    types = {"u8": np.uint8, "u16": np.uint16, "f32": np.float32}
    bits = np.random.default_rng(4).integers(0, 1 << 24, shape).astype(types[given])
    _same(text, [bits, np.array(1, np.int32), np.array(2, np.int32)])


def test_a_constant_table_without_elements() -> None:
    """Folded at compile time, as gathers of what is not known are lowered."""
    text = entry(
        "x = f32[2] parameter(0)",
        "t = f32[3,0,4] constant({{}, {}, {}})",
        "i = u8[2,5] constant({{0, 0, 4, 1, 1}, {2, 1, 3, 2, 4}})",
        "g = f32[5,3] gather(t, i), offset_dims={1}, collapsed_slice_dims={1,2}, "
        "start_index_map={2,1}, index_vector_dim=0, slice_sizes={3,0,1}",
        "r = (f32[2], f32[5,3]) tuple(x, g)",
    )
    _same(text, [np.ones(2, np.float32)])


_CENTRAL = (
    # operand, window, dimensions with a start that is data
    ((40, 300), (40, 12), (1,)),  # columns
    ((37, 301), (37, 7), (1,)),
    ((5, 6, 70, 9), (5, 6, 1, 9), (2,)),  # a cache of keys
    ((4, 50, 33), (3, 20, 33), (0, 1)),
    ((4, 50, 33), (4, 20, 11), (1, 2)),
    ((6, 7, 8, 9), (2, 3, 8, 5), (0, 1, 3)),
    ((5000,), (1037,), (0,)),
    ((20000,), (15000,), (0,)),  # longer than a row
)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "s32", "u8"])
@pytest.mark.parametrize(("shape", "window", "dims"), _CENTRAL)
@pytest.mark.thin(2)
def test_slices_and_updates_of_any_dimensions(
    shape: tuple[int, ...], window: tuple[int, ...], dims: tuple[int, ...], dtype: str
) -> None:
    """In the order of the array; starts beyond either end are clamped."""
    rank = range(len(shape))
    starts = ", ".join(f"i{d}" if d in dims else "z" for d in rank)
    kind, part = (f"{dtype}[{','.join(map(str, n))}]" for n in (shape, window))
    sizes = ",".join(map(str, window))
    text = entry(
        f"x = {kind} parameter(0)",
        f"u = {part} parameter(1)",
        "z = s32[] constant(0)",
        *(f"i{d} = s32[] parameter({k + 2})" for k, d in enumerate(dims)),
        f"d = {part} dynamic-slice(x, {starts}), dynamic_slice_sizes={{{sizes}}}",
        f"y = {kind} dynamic-update-slice(x, u, {starts})",
        f"r = ({part}, {kind}) tuple(d, y)",
    )
    rng = np.random.default_rng(1)
    numbers = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "s32": np.int32, "u8": np.uint8}
    x, u = (rng.integers(0, 100, n).astype(numbers[dtype]) for n in (shape, window))
    for place in (-3, 2, 1 << 20):
        _same(text, [x, u, *(np.array(place + k, np.int32) for k, _ in enumerate(dims))])


_INSIDE = (
    # operand, slice sizes, offset and collapsed dimensions, index map, dimensions of the result
    ((8, 300), (8, 1), "{0}", "{1}", (1,), (8, 20)),  # columns
    ((8, 300), (8, 3), "{0,1}", "{}", (1,), (8, 3, 20)),
    ((3, 40, 50), (2, 40, 4), "{0,1,3}", "{}", (0, 2), (2, 40, 20, 4)),
    ((3, 40, 50), (1, 2, 50), "{1,2}", "{0}", (1, 0), (20, 2, 50)),
)


@pytest.mark.parametrize(("shape", "sizes", "offset", "collapsed", "mapped", "result"), _INSIDE)
def test_gathers_along_inner_dimensions(
    shape: tuple[int, ...],
    sizes: tuple[int, ...],
    offset: str,
    collapsed: str,
    mapped: tuple[int, ...],
    result: tuple[int, ...],
) -> None:
    index, out = (",".join(map(str, n)) for n in ((20, len(mapped)), result))
    text = entry(
        f"t = f32[{','.join(map(str, shape))}] parameter(0)",
        f"i = s32[{index}] parameter(1)",
        f"g = f32[{out}] gather(t, i), offset_dims={offset}, collapsed_slice_dims={collapsed}, "
        f"start_index_map={{{','.join(map(str, mapped))}}}, index_vector_dim=1, "
        f"slice_sizes={{{','.join(map(str, sizes))}}}",
    )
    rng = np.random.default_rng(2)
    table = rng.standard_normal(shape).astype(np.float32)
    _same(text, [table, rng.integers(-20, 320, (20, len(mapped))).astype(np.int32)])


_SLICED = """HloModule m

ENTRY e {
  x = f32[9] parameter(0)
  start = u32[] parameter(1)
  y = f32[4] dynamic-slice(x, start), dynamic_slice_sizes={4}
  %s
}
"""


@pytest.mark.parametrize(
    "reader",
    [
        "i = u8[5] constant({0, 1, 1, 3, 0})\n  ROOT r = f32[5,4] gather(y, i), offset_dims={1}, "
        "collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={4}",
        "i = s32[3] constant({2, 0, 7})\n  ROOT r = f32[3] gather(y, i), offset_dims={}, "
        "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
        "ROOT r = u16[4,2] bitcast-convert(y)",
        "second = u32[] parameter(2)\n"
        "  ROOT r = f32[2] dynamic-slice(y, second), dynamic_slice_sizes={2}",
    ],
)
def test_readers_of_a_slice_at_a_computed_start(reader: str) -> None:
    """Its place in HBM is known only at run time."""
    args = [np.arange(9, dtype=np.float32), np.array(3, np.uint32), np.array(1, np.uint32)]
    _same(_SLICED % reader, args[: 3 if "second" in reader else 2])

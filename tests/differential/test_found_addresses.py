"""Computed positions on inf1, whose transfers take none, against XLA's CPU backend."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.differential.test_found import Array, entry
from tests.oracle import run_xla

TYPES: dict[str, Any] = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "s32": np.int32,
    "u16": np.uint16,
    "s8": np.int8,
    "pred": np.bool_,
}


def values(dtype: str, dims: Sequence[int], seed: int = 0) -> Array:
    """All bits of the type: large integers, or floats with infinities, NaN and -0."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(TYPES[dtype])
    if kind.kind == "b":
        return rng.integers(0, 2, dims).astype(kind)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, dims, endpoint=True).astype(kind)
    numbers = rng.standard_normal(dims).astype(np.float32)
    flat = numbers.reshape(-1)
    for k, special in enumerate((np.inf, -np.inf, np.nan, -0.0)):
        flat[k * 5 :: 23] = special
    return numbers.astype(kind)


def _shape(dims: Sequence[int]) -> str:
    return f"[{','.join(map(str, dims))}]"


def check(text: str, *inputs: Sequence[Array], target: str = "inf1") -> None:
    """Assert that a target gives XLA's results for each of `inputs`, but for the bits of NaN."""
    program = compile_text(text, target, CompileOptions(auto_cast="none")).program
    assert program is not None
    used = sorted(v.index for v in program.variables if v.kind == "input")
    machine = get_target(target).machine
    for args in inputs:
        outputs = run(program, [args[i] for i in used], machine, Options(races=True)).outputs
        for mine, theirs in zip(outputs, run_xla(text, args), strict=True):
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
            if mine.dtype.kind not in "biu":
                mine, theirs = mine.astype(np.float32), theirs.astype(np.float32)
                zero = theirs == 0
                np.testing.assert_array_equal(np.signbit(mine)[zero], np.signbit(theirs)[zero])
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("dims", "sizes", "starts"),
    [
        ((9,), (2,), ((0,), (3,), (7,), (8,), (-3,), (2_000_000_000,))),
        ((130, 7), (1, 7), ((0, 5), (64, 0), (129, 0))),
        ((5, 12, 3), (4, 5, 2), ((0, 0, 0), (1, 7, 1), (0, 6, 1))),
    ],
)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.thin(2)
def test_dynamic_slices_and_updates(
    dims: tuple[int, ...], sizes: tuple[int, ...], starts: Sequence[tuple[int, ...]], dtype: str
) -> None:
    names = [f"i{d}" for d in range(len(dims))]
    whole, part, at = dtype + _shape(dims), dtype + _shape(sizes), ", ".join(names)
    size = _shape(sizes)[1:-1]
    lines = [
        f"  x = {whole} parameter(0)",
        f"  u = {part} parameter(1)",
        *(f"  {name} = s32[] parameter({d + 2})" for d, name in enumerate(names)),
        f"  s = {part} dynamic-slice(x, {at}), dynamic_slice_sizes={{{size}}}",
        f"  w = {whole} dynamic-update-slice(x, u, {at})",
        f"  ROOT r = ({part}, {whole}) tuple(s, w)",
    ]
    given = [values(dtype, dims), values(dtype, sizes, 1)]
    text = entry("\n".join(lines))
    check(text, *([*given, *(np.asarray(n, np.int32) for n in start)] for start in starts))


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u32"])
def test_positions_of_other_types(kind: str) -> None:
    """The largest position may not fit in the type of the index, nor the index in s32."""
    text = entry(
        f"  x = f32[600] parameter(0)\n  i = {kind}[] parameter(1)\n"
        "  ROOT s = f32[100] dynamic-slice(x, i), dynamic_slice_sizes={100}"
    )
    names = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u32": np.uint32}
    starts = [np.asarray(n).astype(names[kind]) for n in (0, 100, 250, 4_000_000_000)]
    check(text, *([np.arange(600, dtype=np.float32), start] for start in starts))


GATHERS = {
    "one window": (
        (5, 9),
        (2,),
        (3, 2),
        "offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=0, "
        "slice_sizes={3,2}",
    ),
    "windows along an inner dimension": (
        (3, 7, 4),
        (6, 2, 1),
        (3, 6, 2, 2, 4),
        "offset_dims={0,3,4}, collapsed_slice_dims={}, start_index_map={1}, index_vector_dim=2, "
        "slice_sizes={3,2,4}",
    ),
    "windows of parts that no index moves": (
        (6, 5, 4),
        (7, 1),
        (7, 3, 2),
        "offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
        "slice_sizes={1,3,2}",
    ),
    "whole tables": (
        (3, 4),
        (2, 2),
        (3, 2, 4),
        "offset_dims={0,2}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, "
        "slice_sizes={3,4}",
    ),
    "windows of a batch": (
        (3, 8, 2),
        (5, 3, 1),
        (5, 3, 4, 2),
        "offset_dims={2,3}, collapsed_slice_dims={}, start_index_map={1}, "
        "operand_batching_dims={0}, start_indices_batching_dims={1}, index_vector_dim=2, "
        "slice_sizes={1,4,2}",
    ),
}


@pytest.mark.parametrize("form", GATHERS)
@pytest.mark.parametrize("dtype", ["f32", "s32", "pred"])
def test_gathers_of_windows(form: str, dtype: str) -> None:
    table, indices, result, text = GATHERS[form]
    lines = entry(
        f"  t = {dtype}{_shape(table)} parameter(0)\n  i = s16{_shape(indices)} parameter(1)\n"
        f"  ROOT r = {dtype}{_shape(result)} gather(t, i), {text}"
    )
    index = np.random.default_rng(5).integers(-3, 11, indices).astype(np.int16)
    check(lines, [values(dtype, table), index])


@pytest.mark.parametrize("dtype", ["f32", "s32"])
def test_gathers_that_sorts_of_several_operands_become(dtype: str) -> None:
    text = entry(
        f"  k = s32[7,5] parameter(0)\n  v = {dtype}[7,5] parameter(1)\n"
        f"  ROOT r = (s32[7,5], {dtype}[7,5]) sort(k, v), dimensions={{0}}, is_stable=true, "
        "to_apply=before",
        "before {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
        f"  c = {dtype}[] parameter(2)\n  d = {dtype}[] parameter(3)\n"
        "  ROOT r = pred[] compare(a, b), direction=GT\n}\n",
    )
    keys = np.random.default_rng(1).integers(-3, 4, (7, 5)).astype(np.int32)
    check(text, [keys, values(dtype, (7, 5))])


SCATTERS = {
    "one window": (
        (5, 9, 2),
        (2,),
        (3, 4, 2),
        "update_window_dims={0,1,2}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={1,0}, index_vector_dim=0",
    ),
    "windows": (
        (8, 5, 3),
        (6, 2, 2),
        (2, 6, 4, 2),
        "update_window_dims={0,2}, inserted_window_dims={2}, "
        "scatter_dims_to_operand_dims={0,1}, index_vector_dim=2",
    ),
    "elements": (
        (7,),
        (40, 1),
        (40,),
        "update_window_dims={}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1",
    ),
    "windows of a batch": (
        (3, 8, 2),
        (3, 5, 1),
        (3, 5, 4, 2),
        "update_window_dims={2,3}, inserted_window_dims={}, scatter_dims_to_operand_dims={1}, "
        "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2",
    ),
}


OF_ALL = ("f32 assign", "s32 minimum")
OTHERS = (
    ("elements", "pred assign", "f32 maximum", "pred or", "s32 add"),
    ("windows", "s32 assign", "u16 maximum", "s32 xor", "s32 add"),
)
CASES = [(form, kind) for form in SCATTERS for kind in OF_ALL]
CASES += [(form, kind) for form, *kinds in OTHERS for kind in kinds]


@pytest.mark.parametrize(("form", "kind"), CASES)
@pytest.mark.thin(2)
def test_scatters(form: str, kind: str) -> None:
    """Of updates that overwrite an element the last one stays."""
    dtype, opcode = kind.split()
    table, indices, updates, text = SCATTERS[form]
    root = "ROOT b" if opcode == "assign" else "b"
    last = "" if opcode == "assign" else f"  ROOT c = {dtype}[] {opcode}(a, b)\n"
    lines = entry(
        f"  x = {dtype}{_shape(table)} parameter(0)\n  i = s16{_shape(indices)} parameter(1)\n"
        f"  u = {dtype}{_shape(updates)} parameter(2)\n"
        f"  ROOT r = {dtype}{_shape(table)} scatter(x, i, u), {text}, to_apply=f",
        f"f {{\n  a = {dtype}[] parameter(0)\n  {root} = {dtype}[] parameter(1)\n{last}}}\n",
    )
    index = np.random.default_rng(5).integers(-1, 6, indices).astype(np.int16)
    check(lines, [values(dtype, table), index, values(dtype, updates, 1)])


def test_many_updates_of_many_rows() -> None:
    """So many pairs of an update and a row that they are masked in parts."""
    text = entry(
        "  x = f32[2049,5] parameter(0)\n  i = s16[60,2] parameter(1)\n"
        "  u = f32[60] parameter(2)\n"
        "  ROOT r = f32[2049,5] scatter(x, i, u), update_window_dims={}, "
        "inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, "
        "to_apply=f",
        "f {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = f32[] minimum(a, b)\n}\n",
    )
    index = np.random.default_rng(5).integers(0, 5, (60, 2)).astype(np.int16)
    check(text, [values("f32", (2049, 5)), index, values("f32", (60,), 1)])


@pytest.mark.parametrize("target", ["trn1", "inf1"])
@pytest.mark.parametrize("kind", ["s32 xor", "s32 multiply"])
@pytest.mark.parametrize("index", ["s16", "u32"])
@pytest.mark.thin(3)
def test_windows_that_overlap_in_part(target: str, kind: str, index: str) -> None:
    """Each element is combined with all updates of it; windows out of bounds are dropped."""
    dtype, opcode = kind.split()
    table, indices, updates, text = SCATTERS["windows"]
    lines = entry(
        f"  x = {dtype}{_shape(table)} parameter(0)\n  i = {index}{_shape(indices)} parameter(1)\n"
        f"  u = {dtype}{_shape(updates)} parameter(2)\n"
        f"  ROOT r = {dtype}{_shape(table)} scatter(x, i, u), {text}, to_apply=f",
        f"f {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n"
        f"  ROOT c = {dtype}[] {opcode}(a, b)\n}}\n",
    )
    places = np.random.default_rng(5).integers(-1, 6, indices)
    given = places.astype({"s16": np.int16, "u32": np.uint32}[index])
    check(lines, [values(dtype, table), given, values(dtype, updates, 1)], target=target)


@pytest.mark.parametrize(("repeats", "n"), [(5, 513), (3, 190), (7, 129)])
def test_repeated_updates_that_tiles_do_not_divide(repeats: int, n: int) -> None:
    """Of 2565 windows 95 are in a tile, but the 513 updates repeat within one."""
    text = entry(
        "  x = f16[1,2] parameter(0)\n"
        f"  i = u32[{repeats},{n},2] parameter(1)\n"
        f"  r = f16[{n}] parameter(2)\n"
        f"  u = f16[{repeats},{n}] broadcast(r), dimensions={{1}}\n"
        "  ROOT y = f16[1,2] scatter(x, i, u), update_window_dims={}, "
        "inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=2, "
        "to_apply=last",
        "last {\n  a = f16[] parameter(0)\n  ROOT b = f16[] parameter(1)\n}\n",
    )
    rng = np.random.default_rng(1)
    index = rng.integers(0, 3, (repeats, n, 2)).astype(np.uint32)
    x, r = (rng.standard_normal(s).astype(np.float16) for s in ((1, 2), (n,)))
    check(text, [x, index, r], target="trn1")


def test_repeated_updates_that_partitions_do_not_divide() -> None:
    """Of 2064 updates, 129 are different: no 86 of them are rows of a transpose."""
    text = entry(
        "  x = f32[2,65,8] parameter(0)\n"
        "  i = s32[16,129,3] parameter(1)\n"
        "  r = f32[129] parameter(2)\n"
        "  u = f32[16,129,1] broadcast(r), dimensions={1}\n"
        "  ROOT y = f32[2,65,8] scatter(x, i, u), update_window_dims={2}, "
        "inserted_window_dims={0,2}, scatter_dims_to_operand_dims={2,0,1}, index_vector_dim=2, "
        "to_apply=add",
        "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = f32[] add(a, b)\n}\n",
    )
    rng = np.random.default_rng(2)
    at = np.stack([rng.integers(-1, n + 1, (16, 129)) for n in (8, 2, 65)], 2).astype(np.int32)
    whole = [rng.integers(-9, 9, s).astype(np.float32) for s in ((2, 65, 8), (129,))]
    check(text, [whole[0], at, whole[1]])

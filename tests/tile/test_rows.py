"""Searches and sorts of rows, against XLA: ties, infinities, NaN, signs of zero, odd sizes."""

from math import prod
from typing import Literal

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.hlo.decompositions.searches import LONG, cut_row
from neuronir.passes.lowering.layouts.layout import atom, row_major
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.tile.lower.columns import column_blocks
from neuronir.targets.simulator.functional import Options, run
from tests.oracle import run_xla

Tiling = Literal["always", "never"]

RACES = Options(races=True)
ARG = """HloModule m
pick {
  a = TYPE[] parameter(0)
  i = s32[] parameter(1)
  b = TYPE[] parameter(2)
  j = s32[] parameter(3)
  better = pred[] compare(a, b), direction=WAY
  none = pred[] compare(a, a), direction=NE
  first = pred[] or(better, none)
  value = TYPE[] select(first, a, b)
  equal = pred[] compare(a, b), direction=EQ
  lower = pred[] compare(i, j), direction=LT
  both = pred[] and(equal, lower)
  mine = pred[] or(first, both)
  index = s32[] select(mine, i, j)
  ROOT r = (TYPE[], s32[]) tuple(value, index)
}
ENTRY e {
  x = TYPE[SHAPE] parameter(0)
  at = s32[SHAPE] iota(), iota_dimension=AXIS
  worst = TYPE[] constant(WORST)
  zero = s32[] constant(0)
  best = (TYPE[KEPT], s32[KEPT]) reduce(x, at, worst, zero), dimensions={AXIS}, to_apply=pick
  value = TYPE[KEPT] get-tuple-element(best), index=0
  ROOT r = s32[KEPT] get-tuple-element(best), index=1
}"""
CASES = [
    ("f32", (130, 700), 1, "GT"),
    ("f32", (8, 1000), 1, "LT"),
    ("f32", (200, 4801), 1, "GT"),
    ("f32", (300, 130), 0, "GT"),
    ("f32", (3, 300, 40), 1, "LT"),
    ("f32", (20000,), 0, "GT"),
    ("bf16", (64, 1000), 1, "GT"),
    ("f16", (5, 17000), 1, "GT"),
    ("s8", (64, 600), 1, "GT"),
]
TYPES = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "s8": np.dtype(np.int8),
}


def mixed(shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    """Few different numbers, zeros of both signs; rows with infinities, with NaN, of one kind."""
    rng = np.random.default_rng(7)
    x = np.round(rng.normal(size=shape) * 2) / 2
    if kind.kind == "i":
        return (x * 20).astype(kind)
    x = np.where(rng.random(shape) < 0.3, rng.choice([0.0, -0.0], size=shape), x)
    x = np.where(rng.random(shape) < 0.02, rng.choice([np.inf, -np.inf], size=shape), x)
    x = np.where(rng.random(shape) < 0.3 / min(shape[-1], 400), np.nan, x)
    if len(shape) > 1:
        x[0] = -np.inf
        x[1] = np.where(rng.random(shape[1:]) < 0.5, -np.inf, np.inf)
        x[2] = np.nan if len(x) > 3 else x[2]
        x[-1] = np.where(rng.random(shape[1:]) < 0.9, -0.0, 0.0)
    return x.astype(kind)


def arg(name: str, shape: tuple[int, ...], axis: int, way: str) -> str:
    """The program of one case."""
    kept = ",".join(str(n) for d, n in enumerate(shape) if d != axis)
    worst = {"s8": "-128", "LT": "inf"}.get(name if name == "s8" else way, "-inf")
    text = ARG.replace("SHAPE", ",".join(map(str, shape))).replace("KEPT", kept)
    return (
        text.replace("TYPE", name)
        .replace("AXIS", str(axis))
        .replace("WAY", way)
        .replace("WORST", worst)
    )


@pytest.mark.parametrize("tiling", ["always", "never"])
@pytest.mark.parametrize(("name", "shape", "axis", "way"), CASES)
def test_first_best(name: str, shape: tuple[int, ...], axis: int, way: str, tiling: Tiling) -> None:
    text, x = arg(name, shape, axis, way), mixed(shape, TYPES[name])
    result = compile_text(text, "trn1", CompileOptions(tiling=tiling))
    assert result.program is not None
    (got,) = run(result.program, [x], get_machine("trn1")).outputs
    (wanted,) = run_xla(text, [x])
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("rows", [1, 5, 64, 128, 512])
@pytest.mark.parametrize("n", [96, 515, 4096, 4099, 32000, 50257, 99991])
def test_pieces_of_rows(n: int, rows: int) -> None:
    count, length = cut_row(n, rows)
    assert count * length <= n and n - count * length < count
    assert length <= 4 * LONG and (count == 1 or length >= 128)


def test_columns_of_a_prime_number() -> None:
    machine = get_machine("trn1")
    found: list[int] = []
    for first, inner, beside in column_blocks([atom(3, 1733), atom(1733, 1)], machine):
        (a,) = inner
        rounds = beside[-1] if len(beside) > 1 else None
        for i in range(rounds.size if rounds else 1):
            begin = first + (i * rounds.stride if rounds else 0)
            found += range(begin, begin + a.size)
    assert found == list(range(1733))


@pytest.mark.parametrize("shape", [(29, 29), (3, 31, 37), (58, 29), (7, 600), (2, 5, 6, 7)])
def test_columns_of_odd_digits(shape: tuple[int, ...]) -> None:
    """Each column is in one matmul, and none is larger than a bank."""
    columns = [atom(n, s) for n, s in zip(shape, row_major(shape), strict=True)]
    found: list[int] = []
    for first, inner, beside in column_blocks(columns, get_machine("trn1")):
        numbers = numbers_of(inner)
        assert len(numbers) <= 512
        found += [first + start + n for start in numbers_of(beside) for n in numbers]
    assert sorted(found) == list(range(prod(shape)))


SORT = """HloModule m
before {
  a = TYPE[] parameter(0)
  b = TYPE[] parameter(1)
  zero = TYPE[] constant(0)
  none = TYPE[] constant(nan)
  a0 = pred[] compare(a, zero), direction=EQ
  a1 = TYPE[] select(a0, zero, a)
  a2 = pred[] compare(a, a), direction=NE
  a3 = TYPE[] select(a2, none, a1)
  b0 = pred[] compare(b, zero), direction=EQ
  b1 = TYPE[] select(b0, zero, b)
  b2 = pred[] compare(b, b), direction=NE
  b3 = TYPE[] select(b2, none, b1)
  ROOT c = pred[] compare(a3, b3), direction=WAY, type=TOTALORDER
}
ENTRY e {
  x = TYPE[SHAPE] parameter(0)
  ROOT r = TYPE[SHAPE] sort(x), dimensions={AXIS}, is_stable=true, to_apply=before
}"""
PLAIN = """HloModule m
before {
  a = TYPE[] parameter(0)
  b = TYPE[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=WAYSPEC
}
ENTRY e {
  x = TYPE[SHAPE] parameter(0)
  ROOT r = TYPE[SHAPE] sort(x), dimensions={AXIS}, is_stable=true, to_apply=before
}"""


def bits(x: np.ndarray) -> np.ndarray:
    """The bits of numbers, all NaN alike."""
    if x.dtype.kind in "iu":
        return x
    clean = np.where(np.isnan(x.astype(np.float32)), np.array(1, x.dtype), x)
    width = {2: np.uint16, 4: np.uint32}[x.dtype.itemsize]
    return np.stack([clean.view(width), np.isnan(x.astype(np.float32)).astype(width)])


@pytest.mark.parametrize("tiling", ["always", "never"])
@pytest.mark.parametrize(
    ("text", "name", "shape", "axis", "way"),
    [
        (SORT, "f32", (130, 64), 1, "LT"),
        (SORT, "f32", (9, 77), 1, "GT"),
        (SORT, "f32", (50, 5, 3), 0, "LT"),
        (SORT, "f32", (300,), 0, "GT"),
        (SORT, "bf16", (6, 33), 1, "GT"),
        (SORT, "f16", (6, 33), 1, "LT"),
        (PLAIN, "s32", (128, 100), 1, "LT"),
        (PLAIN, "u32", (128, 2), 1, "GT"),
        (PLAIN, "s8", (4, 64), 1, "GT"),
        (PLAIN, "total", (6, 64), 1, "LT"),
        (PLAIN, "total", (6, 65), 1, "GT"),
    ],
)
def test_sorts(
    text: str, name: str, shape: tuple[int, ...], axis: int, way: str, tiling: Tiling
) -> None:
    kind = {"s32": np.dtype(np.int32), "u32": np.dtype(np.uint32)} | TYPES
    type_ = "f32" if name == "total" else name
    dtype = kind[type_]
    if dtype.kind in "iu" and dtype.itemsize == 4:
        limits = np.iinfo(dtype)
        x = np.random.default_rng(1).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    else:
        x = mixed(shape, dtype)
    if name == "total":
        x[0, ::3] = -np.float32(np.nan)
    text = text.replace("TYPE", type_).replace("SHAPE", ",".join(map(str, shape)))
    text = text.replace("AXIS", str(axis)).replace("WAY", way)
    text = text.replace("SPEC", ", type=TOTALORDER" if name == "total" else "")
    program = compile_text(text, "trn1", CompileOptions(tiling=tiling)).program
    assert program is not None
    (got,) = run(program, [x], get_machine("trn1"), RACES).outputs
    (wanted,) = run_xla(text, [x])
    np.testing.assert_array_equal(bits(got), bits(wanted))
    if name == "total":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


TOP = """HloModule m
ENTRY e {
  x = f32[SHAPE] parameter(0)
  y = TYPE[SHAPE] convert(x)
  t = (TYPE[KEPT], s32[KEPT]) topk(y), k=COUNT, largest=LARGEST
  v = TYPE[KEPT] get-tuple-element(t), index=0
  i = s32[KEPT] get-tuple-element(t), index=1
  w = f32[KEPT] convert(v)
  ROOT r = (f32[KEPT], s32[KEPT]) tuple(w, i)
}"""


def kinds(shape: tuple[int, ...]) -> np.ndarray:
    """Rows of numbers, zeros, infinities and NaN of both signs, in all proportions."""
    rng = np.random.default_rng(11)
    x = np.round(rng.normal(size=shape) * 8).astype(np.float32) / 4
    r = rng.random(shape)
    special = np.array([np.nan, np.inf, -0.0, 0.0, -np.inf], np.float32)
    x = np.where(r < 0.02, special[rng.integers(0, 5, shape)], x)
    x[r < 0.002] = np.copysign(np.float32(np.nan), -1.0)
    x[0] = -np.abs(x[0])
    x[1] = -np.inf
    x[1, [3, 7, 60]] = [-0.0, 5, np.nan]
    x[2] = np.where(r[2] < 0.5, -0.0, 0.0)
    x[3] = np.where(r[3] < 0.5, -np.inf, np.nan)
    x[4] = np.where(r[4] < 0.5, np.copysign(np.float32(np.nan), -1.0), -np.inf)
    return x


@pytest.mark.parametrize("tiling", ["always", "never"])
@pytest.mark.parametrize(
    ("name", "shape", "k", "largest"),
    [
        pytest.param("f32", (8, 3000), 20, True, marks=pytest.mark.slow),
        ("f32", (16, 2003), 33, False),
        ("f32", (140, 1000), 9, True),
        ("bf16", (8, 700), 12, True),
        ("f16", (130, 80), 5, False),
        ("s8", (9, 64), 8, True),
    ],
)
def test_tops(name: str, shape: tuple[int, ...], k: int, largest: bool, tiling: Tiling) -> None:
    text = TOP.replace("SHAPE", ",".join(map(str, shape)))
    text = text.replace("KEPT", ",".join(map(str, (*shape[:-1], k))))
    text = text.replace("TYPE", name).replace("COUNT", str(k))
    text = text.replace("LARGEST", str(largest).lower())
    x = np.round(kinds(shape) * 4) if name != "s8" else mixed(shape, TYPES["f32"])
    x = np.nan_to_num(x) if name == "s8" else x
    program = compile_text(text, "trn1", CompileOptions(tiling=tiling)).program
    assert program is not None
    got = run(program, [x], get_machine("trn1"), RACES).outputs
    wanted = run_xla(text, [x])
    np.testing.assert_array_equal(bits(got[0]), bits(wanted[0]))
    np.testing.assert_array_equal(got[1], wanted[1])


ARGSORT = """HloModule m
before {
  a = TYPE[] parameter(0)
  b = TYPE[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT c = pred[] compare(a, b), direction=WAYSPEC
}
ENTRY e {
  x = TYPE[SHAPE] parameter(0)
  at = s32[SHAPE] iota(), iota_dimension=AXIS
  back = s32[SHAPE] reverse(at), dimensions={AXIS}
  s = (TYPE[SHAPE], s32[SHAPE]) sort(x, PLACES), dimensions={AXIS}, is_stable=true, to_apply=before
  v = TYPE[SHAPE] get-tuple-element(s), index=0
  i = s32[SHAPE] get-tuple-element(s), index=1
  ROOT r = (TYPE[SHAPE], s32[SHAPE]) tuple(v, i)
}"""


@pytest.mark.parametrize("tiling", ["always", "never"])
@pytest.mark.parametrize(
    ("name", "shape", "axis", "way", "places"),
    [
        ("f32", (130, 64), 1, "LT", "at"),
        ("f32", (64, 77), 1, "GT", "back"),
        ("f32", (60, 90), 0, "LT", "at"),
        ("s32", (260, 100), 1, "LT", "at"),
        ("s8", (64, 64), 1, "GT", "at"),
    ],
)
def test_argsorts(
    name: str, shape: tuple[int, ...], axis: int, way: str, places: str, tiling: Tiling
) -> None:
    text = ARGSORT.replace("TYPE", name).replace("SHAPE", ",".join(map(str, shape)))
    text = text.replace("AXIS", str(axis)).replace("WAY", way).replace("PLACES", places)
    text = text.replace("SPEC", ", type=TOTALORDER" if name == "f32" else "")
    if name == "s32":
        x = np.random.default_rng(1).integers(-(2**31), 2**31 - 1, shape).astype(np.int32)
        x[:, ::3] = x[:, :1]
    else:
        x = mixed(shape, TYPES[name])
    program = compile_text(text, "trn1", CompileOptions(tiling=tiling)).program
    assert program is not None
    got = run(program, [x], get_machine("trn1"), RACES).outputs
    wanted = run_xla(text, [x])
    np.testing.assert_array_equal(bits(got[0]), bits(wanted[0]))
    np.testing.assert_array_equal(got[1], wanted[1])

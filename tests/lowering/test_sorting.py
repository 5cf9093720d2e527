"""sort and topk: exactly what the interpreter gives, for any comparator, axis and type."""

import ml_dtypes
import numpy as np
import pytest

from neuronir.passes.hlo.decompositions import sorting
from tests.differential.stages import failures
from tests.lowering.helpers import Array

TYPES = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "s32": np.int32,
    "u32": np.uint32,
    "u8": np.uint8,
    "s16": np.int16,
}
SORTS = {
    "floats, with NaN, infinities and zeros": ("f32", "6,50", 1, "LT, type=TOTALORDER"),
    "downwards": ("f32", "200", 0, "GT"),
    "narrow floats along the first dimension": ("bf16", "33,7", 0, "LT"),
    "signed": ("s32", "5,65", 1, "GT"),
    "unsigned": ("u32", "3,2,33", 2, "LT"),
    "bytes": ("u8", "129,3", 0, "LT"),
    "one element": ("f32", "4,1", 1, "LT"),
}


def _drawn(type_: str, shape: tuple[int, ...]) -> Array:
    rng = np.random.default_rng(3)
    dtype = np.dtype(TYPES[type_])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
        x.flat[: x.size // 3] = rng.integers(0, 5, x.size // 3)
        return x
    x = rng.standard_normal(shape).astype(np.float32)
    x.flat[: x.size // 3] = np.round(x.flat[: x.size // 3])
    special = [np.inf, -np.inf, 0.0, -0.0, np.nan, 3e38, -3e38]
    if x.size > 20:
        x.flat[-7:] = special
    return x.astype(dtype)


def _sort(type_: str, shape: str, axis: int, direction: str, pairs: bool) -> str:
    payload = f", i = s32[{shape}] iota(), iota_dimension={axis}" if pairs else ""
    arguments = "  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n" if pairs else ""
    result = f"({type_}[{shape}], s32[{shape}])" if pairs else f"{type_}[{shape}]"
    lines = [f"  x = {type_}[{shape}] parameter(0)"]
    if payload:
        lines.append(f"  i = s32[{shape}] iota(), iota_dimension={axis}")
    operands = "x, i" if pairs else "x"
    return f"""HloModule m

less {{
  a = {type_}[] parameter(0)
  b = {type_}[] parameter(1)
{arguments}  ROOT r = pred[] compare(a, b), direction={direction}
}}

ENTRY e {{
{chr(10).join(lines)}
  ROOT s = {result} sort({operands}), dimensions={{{axis}}}, is_stable=true, to_apply=less
}}
"""


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("case", SORTS)
def test_sort(case: str, pairs: bool) -> None:
    type_, shape, axis, direction = SORTS[case]
    text = _sort(type_, shape, axis, direction, pairs)
    x = _drawn(type_, tuple(map(int, shape.split(","))))
    if "TOTALORDER" not in direction and x.dtype.kind not in "iu":
        x = np.where(np.isnan(x.astype(np.float32)), np.ones((), x.dtype), x)
    assert failures(text, [x], "none", None, ("virtual", "binary")) == []


def test_sort_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all pairs at once."""
    monkeypatch.setattr(sorting, "_PAIRS_AT_ONCE", 200)
    text = _sort("s32", "3,19", 1, "LT", True)
    assert failures(text, [_drawn("s32", (3, 19))], "none", None, ("virtual", "binary")) == []


@pytest.mark.parametrize("case", ["downwards", "signed", "bytes"])
def test_sort_by_a_network(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows too long to compare all pairs."""
    monkeypatch.setattr(sorting, "_MOST_PAIRS", 0)
    type_, _, _, direction = SORTS[case]
    text = _sort(type_, "3,19", 1, direction, True)
    x = np.nan_to_num(_drawn(type_, (3, 19)))
    assert failures(text, [x], "none", None, ("virtual", "binary")) == []


def test_sort_by_two_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second operand decides where the first are equal; a third moves along."""
    text = """HloModule m

less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  p = u8[] parameter(4)
  q = u8[] parameter(5)
  lt = pred[] compare(a, b), direction=LT
  eq = pred[] compare(a, b), direction=EQ
  gt = pred[] compare(c, d), direction=GT
  both = pred[] and(eq, gt)
  ROOT r = pred[] or(lt, both)
}

ENTRY e {
  x = s32[SHAPE] parameter(0)
  y = f32[SHAPE] parameter(1)
  z = u8[SHAPE] parameter(2)
  ROOT s = (s32[SHAPE], f32[SHAPE], u8[SHAPE]) sort(x, y, z), dimensions={1}, to_apply=less
}
"""
    rng = np.random.default_rng(0)
    for shape, most in (((3, 37), 2**20), ((2, 21), 0)):
        monkeypatch.setattr(sorting, "_MOST_PAIRS", most)
        args: list[Array] = [
            rng.integers(0, 4, shape).astype(np.int32),
            np.round(rng.standard_normal(shape)).astype(np.float32),
            rng.integers(0, 255, shape).astype(np.uint8),
        ]
        written = text.replace("SHAPE", ",".join(map(str, shape)))
        assert failures(written, args, "none", None, ("virtual", "binary")) == []


@pytest.mark.parametrize(("type_", "n", "k"), [("f32", 200, 5), ("f32", 40, 40), ("s32", 65, 3)])
@pytest.mark.parametrize("largest", ["true", "false"])
def test_topk(type_: str, n: int, k: int, largest: str) -> None:
    text = f"""HloModule m

ENTRY e {{
  x = {type_}[7,{n}] parameter(0)
  ROOT t = ({type_}[7,{k}], s32[7,{k}]) topk(x), k={k}, largest={largest}
}}
"""
    assert failures(text, [_drawn(type_, (7, n))], "none", None, ("virtual", "binary")) == []

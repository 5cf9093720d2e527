"""Sorts that carry other arrays along, of several types, at every phase."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.differential.stages import failures, stages

TYPES: dict[str, Any] = {
    "s32": np.int32,
    "u32": np.uint32,
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "s8": np.int8,
    "u16": np.uint16,
    "pred": np.bool_,
}


def _program(kind: str, carried: str, shape: tuple[int, int], axis: int, direction: str) -> str:
    """A sort by the second operand, with the place behind it."""
    at = f"[{shape[0]},{shape[1]}]"
    types = f"({carried}{at}, {kind}{at}, s32{at})"
    return f"""HloModule m

before {{
  a = {carried}[] parameter(0)
  b = {carried}[] parameter(1)
  k = {kind}[] parameter(2)
  l = {kind}[] parameter(3)
  i = s32[] parameter(4)
  j = s32[] parameter(5)
  ROOT c = pred[] compare(k, l), direction={direction}
}}

ENTRY e {{
  p = {carried}{at} parameter(0)
  k = {kind}{at} parameter(1)
  i = s32{at} iota(), iota_dimension={axis}
  ROOT s = {types} sort(p, k, i), dimensions={{{axis}}}, is_stable=true, to_apply=before
}}
"""


def _values(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    if kind == "pred":
        return rng.random(shape) < 0.5
    if kind in ("f32", "bf16"):
        return np.asarray(rng.integers(-40, 40, shape) / 4, TYPES[kind])
    low = np.iinfo(TYPES[kind]).min
    return rng.integers(low, np.iinfo(TYPES[kind]).max, shape, TYPES[kind], endpoint=True)


@pytest.mark.parametrize("phases", [("tiled", "binary"), ("binary",)])
@pytest.mark.parametrize(
    ("kind", "carried", "shape", "axis", "direction"),
    [
        ("f32", "s32", (64, 128), 1, "LT"),
        ("bf16", "f32", (48, 100), 1, "GT"),
        ("s32", "bf16", (77, 130), 0, "LT"),
        ("s8", "u32", (130, 96), 1, "GT"),
        ("u16", "pred", (40, 129), 1, "LT"),
    ],
)
@pytest.mark.thin(2)
def test_what_is_carried_comes_in_order(
    kind: str,
    carried: str,
    shape: tuple[int, int],
    axis: int,
    direction: str,
    phases: tuple[str, ...],
) -> None:
    rng = np.random.default_rng(3)
    p, k = _values(carried, shape, rng), _values(kind, shape, rng)
    key = k.astype(np.float64) if direction == "LT" else -k.astype(np.float64)
    places = np.argsort(key, axis=axis, kind="stable")
    want = [np.take_along_axis(v, places, axis) for v in (p, k)]
    text = _program(kind, carried, shape, axis, direction)
    for stage in stages(text, [p, k], phases=phases):
        for got, wanted in zip(stage.outputs, [*want, places.astype(np.int32)], strict=True):
            assert np.array_equal(got, wanted), stage.phase


REPEATED = """HloModule m

before {
  a0 = f32[] parameter(0)
  b0 = f32[] parameter(1)
  a1 = u8[] parameter(2)
  b1 = u8[] parameter(3)
  ROOT c = pred[] compare(a0, b0), direction=LT
}

ENTRY e {
  keys = f32[31] parameter(0)
  moved = u8[64,31] parameter(1)
  all = f32[64,31] broadcast(keys), dimensions={1}
  t = (f32[64,31], u8[64,31]) sort(all, moved), dimensions={1}, is_stable=true, to_apply=before
  ROOT r = u8[64,31] get-tuple-element(t), index=1
}
"""


@pytest.mark.parametrize("rows", [64, 5])
def test_equal_keys_of_all_rows(rows: int) -> None:
    """Keys that repeat lie on all partitions, and what they carry on as many as there are rows."""
    text = REPEATED.replace("64,31", f"{rows},31")
    rng = np.random.default_rng(0)
    keys = np.round(rng.normal(size=31)).astype(np.float32)
    args: list[NDArray[Any]] = [keys, rng.integers(0, 256, (rows, 31)).astype(np.uint8)]
    want = {"out0": args[1][:, np.argsort(keys, kind="stable")]}
    assert not failures(text, args, "none", want, ("tiled", "virtual", "binary"))

"""Reductions that random generation found refused, against XLA's CPU backend."""

import ml_dtypes
import numpy as np
import pytest

from tests.differential.test_found import Array, check, entry, floats

TARGETS = ("trn1", "inf1")

_JOIN = """join {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] %s(a, b)
}"""
_WINDOWS = {
    "overlapping": ("f32[7,9]", "f32[6,4]", "size=2x3 stride=1x2 pad=0_0x1_0"),
    "running": ("f32[7,9]", "f32[7,9]", "size=1x9 pad=0_0x8_0"),
    "running backwards": ("f32[7,9]", "f32[7,9]", "size=7x1 pad=0_6x0_0"),
}


@pytest.mark.parametrize("kind", ["f32 add", "f32 maximum", "f32 multiply", "bf16 minimum"])
@pytest.mark.parametrize("form", _WINDOWS)
@pytest.mark.parametrize("target", TARGETS)
def test_windows_from_an_initial_value_that_is_computed(kind: str, form: str, target: str) -> None:
    dtype, opcode = kind.split()
    operand, result, window = _WINDOWS[form]
    text = entry(
        f"  p = {operand} parameter(0)\n  i = f32[] parameter(1)\n"
        f"  ROOT r = {result} reduce-window(p, i), window={{{window}}}, to_apply=join",
        _JOIN % opcode,
    ).replace("f32", dtype)
    args = [np.sign(floats(7, 9)) if opcode == "multiply" else floats(7, 9), np.float32(3)]
    if dtype == "bf16":
        args = [np.asarray(a, ml_dtypes.bfloat16) for a in args]
    check(text, [np.asarray(a) for a in args], target=target)


_SUM_AND_MAXIMUM = """both {
  a = s32[] parameter(0)
  i = f32[] parameter(1)
  b = s32[] parameter(2)
  j = f32[] parameter(3)
  x = s32[] add(a, b)
  y = f32[] maximum(i, j)
  ROOT r = (s32[], f32[]) tuple(x, y)
}
"""
_LARGEST = """both {
  a = s32[] parameter(0)
  i = f32[] parameter(1)
  b = s32[] parameter(2)
  j = f32[] parameter(3)
  take = pred[] compare(i, j), direction=GT
  same = pred[] compare(i, j), direction=EQ
  before = pred[] compare(a, b), direction=LT
  tie = pred[] and(same, before)
  first = pred[] or(take, tie)
  x = s32[] select(first, a, b)
  y = f32[] select(first, i, j)
  ROOT r = (s32[], f32[]) tuple(x, y)
}
"""


@pytest.mark.parametrize("region", [_SUM_AND_MAXIMUM, _LARGEST])
@pytest.mark.parametrize("dims", ["0", "1", "0,2", "0,1,2"])
@pytest.mark.parametrize("target", TARGETS)
def test_reductions_of_two_operands(region: str, dims: str, target: str) -> None:
    """Each by its own operation, or a value and its place by a region that ignores NaN."""
    sizes = (5, 3, 8)
    left = [str(n) for d, n in enumerate(sizes) if str(d) not in dims]
    made = f"[{','.join(left)}]"
    text = entry(
        "  p = s32[5,3,8] parameter(0)\n  q = f32[5,3,8] parameter(1)\n"
        "  z = s32[] constant(0)\n  i = f32[] constant(-inf)\n"
        f"  ROOT r = (s32{made}, f32{made}) reduce(p, q, z, i), dimensions={{{dims}}},"
        " to_apply=both",
        region,
    )
    places = np.arange(120, dtype=np.int32).reshape(sizes)
    check(text, [places, floats(*sizes)], target=target)


_LAST_NONZERO = """last {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  z = f32[] constant(0)
  p = pred[] compare(b, z), direction=NE
  ROOT c = f32[] select(p, b, a)
}
"""


@pytest.mark.parametrize("n", [0, 2, 7, 37])
@pytest.mark.parametrize("target", TARGETS)
def test_reductions_by_a_region_of_several_ops(n: int, target: str) -> None:
    """The region depends on the order of the elements, but not on how they are grouped. Of one
    element XLA leaves the initial value out."""
    text = entry(
        f"  p = f32[4,{n}] parameter(0)\n  i = f32[] parameter(1)\n"
        "  ROOT r = f32[4] reduce(p, i), dimensions={1}, to_apply=last",
        _LAST_NONZERO,
    )
    args: list[Array] = [np.maximum(floats(4, n), 0), np.asarray(np.float32(7))]
    check(text, args, target=target)

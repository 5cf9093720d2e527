"""hlo-decompose: running sums of integers and running reductions by a region of several ops."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from tests.passes_hlo.helpers import opcodes, program, run_passes

_SUM = """add {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}

ENTRY main {
  x = s32[3,%d,5] parameter(0)
  z = s32[] constant(0)
  ROOT r = s32[3,%d,5] reduce-window(x, z), window={size=1x%dx1 pad=0_0x%s0_0}, to_apply=add
}
"""
_FLAGS = """add {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}

ENTRY main {
  x = pred[3,100] parameter(0)
  y = s32[3,100] convert(x)
  z = s32[] constant(0)
  ROOT r = s32[3,100] reduce-window(y, z), window={size=1x100 pad=0_0x99_0}, to_apply=add
}
"""
_FIRST_NEGATED = """f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  d = f32[] subtract(a, b)
  e = f32[] abs(d)
  n = f32[] negate(e)
  x = f32[] exponential(n)
  l = f32[] log-plus-one(x)
  m = f32[] maximum(a, b)
  ROOT c = f32[] add(m, l)
}

ENTRY main {
  x = f32[4,37] parameter(0)
  z = f32[] constant(%s)
  ROOT r = f32[4,37] reduce-window(x, z), window={size=1x37 pad=0_0x%s}, to_apply=f
}
"""
_LAST = """f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  z = f32[] constant(0)
  p = pred[] compare(b, z), direction=NE
  ROOT c = f32[] select(p, b, a)
}

ENTRY main {
  x = f32[4,37] parameter(0)
  z = f32[] constant(7)
  ROOT r = f32[4,37] reduce-window(x, z), window={size=1x37 pad=0_0x%s}, to_apply=f
}
"""


@pytest.mark.parametrize("n", [33, 1000, 60_000])
@pytest.mark.parametrize("backwards", [False, True])
def test_running_sums_of_integers_wrap(n: int, backwards: bool) -> None:
    pad = f"0_{n - 1}x" if backwards else f"{n - 1}_0x"
    module = program(_SUM % (n, n, n, pad))
    x = np.random.default_rng(n).integers(-(1 << 31), 1 << 31, (3, n, 5)).astype(np.int32)
    run_passes(module, "hlo-decompose{scans=true}")
    with np.errstate(over="ignore"):
        order = x[:, ::-1] if backwards else x
        wanted = np.cumsum(order, 1, dtype=np.int32)
    np.testing.assert_array_equal(
        interpret(module, [x])[0], wanted[:, ::-1] if backwards else wanted
    )
    assert opcodes(module).count("reduce_window") >= 2


def test_flags_are_one_digit() -> None:
    module = program(_FLAGS)
    x = np.random.default_rng(0).random((3, 100)) < 0.5
    run_passes(module, "hlo-decompose{scans=true}")
    np.testing.assert_array_equal(interpret(module, [x])[0], np.cumsum(x, 1))
    assert opcodes(module).count("reduce_window") == 1
    assert "shift_right_logical" not in opcodes(module)


SIZES = [(4, 37), (64, 96), (65, 211)]
"""By doubling, in pieces, and in pieces with a rest."""


def _sized(text: str, size: tuple[int, int]) -> str:
    rows, n = size
    return text.replace("4,37", f"{rows},{n}").replace("1x37", f"1x{n}").replace("36", str(n - 1))


@pytest.mark.parametrize("start", ["-inf", "1.5"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_a_region_of_several_ops(size: tuple[int, int], start: str, backwards: bool) -> None:
    """The initial value counts once, whether it is neutral or not."""
    module = program(_sized(_FIRST_NEGATED % (start, "0_36" if backwards else "36_0"), size))
    x = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    run_passes(module, "hlo-decompose")
    assert "reduce_window" not in opcodes(module)
    order = x[:, ::-1] if backwards else x
    wanted = np.logaddexp(np.logaddexp.accumulate(order.astype(np.float64), 1), float(start))
    np.testing.assert_allclose(
        interpret(module, [x])[0], wanted[:, ::-1] if backwards else wanted, rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_a_region_that_does_not_commute(size: tuple[int, int], backwards: bool) -> None:
    """A window is folded from its first position to its last one, in both directions."""
    module = program(_sized(_LAST % ("0_36" if backwards else "36_0"), size))
    x = (np.random.default_rng(2).random(size) < 0.2).astype(np.float32)
    x *= np.arange(1, size[1] + 1, dtype=np.float32)
    wanted = interpret(module, [x])[0]
    run_passes(module, "hlo-decompose")
    np.testing.assert_array_equal(interpret(module, [x])[0], wanted)

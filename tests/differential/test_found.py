"""Small programs that random generation found wrong or refused, against XLA's CPU backend."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.oracle import run_xla

Array = NDArray[Any]


def results(
    text: str,
    args: Sequence[Array],
    target: str = "trn1",
    cast: str = "none",
    optlevel: int = 2,
    tiling: str = "auto",
) -> list[Array]:
    """What the compiled program gives on the simulator, races checked."""
    options = CompileOptions(auto_cast=cast, optlevel=optlevel, tiling=tiling)
    program = compile_text(text, target, options).program
    assert program is not None
    used = sorted(v.index for v in program.variables if v.kind == "input")
    given = [args[i] for i in used]
    return run(program, given, get_target(target).machine, Options(races=True)).outputs


def check(text: str, args: Sequence[Array], rtol: float = 0.0, **how: Any) -> None:
    """Assert that the results are XLA's, to `rtol` of the largest element."""
    for mine, theirs in zip(results(text, args, **how), run_xla(text, args), strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        if rtol == 0.0:
            np.testing.assert_array_equal(mine, theirs)
        else:
            wide = theirs.astype(np.float64)
            scale = float(np.abs(wide).max(initial=0.0))
            assert np.abs(mine.astype(np.float64) - wide).max(initial=0.0) <= rtol * scale


def entry(lines: str, before: str = "") -> str:
    """HLO text with an entry computation of these lines."""
    return f"HloModule found\n\n{before}\nENTRY main {{\n{lines}\n}}\n"


def floats(*shape: int, seed: int = 0) -> Array:
    """Small whole numbers, of which products and sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("size", "pad"),
    [(1, "7_-1"), (1, "-1_7"), (2, "8_-2"), (2, "7_-1"), (4, "7_-5"), (4, "-5_7"), (3, "-1_-1")],
)
def test_convolution_with_padding_that_cuts(size: int, pad: str) -> None:
    """Padding may cut what the other end padded, and all of the input with it."""
    low, high = map(int, pad.split("_"))
    taps = 4 if low + high + size >= 4 else 1
    out = low + high + size - taps + 1
    text = entry(
        f"  x = f32[2,{size},3] parameter(0)\n"
        f"  w = f32[{taps},3,4] parameter(1)\n"
        f"  ROOT y = f32[2,{out},4] convolution(x, w), window={{size={taps} pad={pad}}}, "
        "dim_labels=b0f_0io->b0f"
    )
    check(text, [floats(2, size, 3), floats(taps, 3, 4, seed=1)])


@pytest.mark.parametrize(
    ("before", "after", "value"),
    [("u32[]", "u16[2]", "70000"), ("u8[2,4]", "s32[2]", "3"), ("s32[3]", "u8[3,4]", "-7")],
)
def test_bits_of_one_number_in_another_width(before: str, after: str, value: str) -> None:
    """The bits of a constant that fills an array, where an element becomes several."""
    kind = before.split("[")[0]
    text = entry(
        f"  c = {kind}[] constant({value})\n"
        f"  b = {before} broadcast(c), dimensions={{}}\n"
        f"  ROOT y = {after} bitcast-convert(b)"
    )
    check(text, [])


@pytest.mark.parametrize("kind", ["f32 add", "f32 maximum", "f32 multiply", "s32 add", "s32 and"])
@pytest.mark.parametrize("target", ["trn1", "inf1"])
def test_an_initial_value_that_is_computed(kind: str, target: str) -> None:
    """Who computes it is asked what its readers want on partitions: a reduction wants nothing of
    its initial value, which has no dimensions."""
    dtype, opcode = kind.split()
    if target == "inf1" and dtype == "s32":
        pytest.skip("inf1 has no integers of 32 bits")
    text = entry(
        "  p = f32[16,8] parameter(0)\n  i = f32[] parameter(1)\n  j = f32[] negate(i)\n"
        "  ROOT r = f32[8] reduce(p, j), dimensions={0}, to_apply=join",
        "join {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        f"  ROOT c = f32[] {opcode}(a, b)\n}}\n",
    ).replace("f32", dtype)
    args = [floats(16, 8), np.asarray(np.float32(3))]
    check(text, [a.astype("int32" if dtype == "s32" else "float32") for a in args], target=target)

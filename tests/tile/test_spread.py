"""Long dimensions in blocks on partitions: strided slices, reversals and windows."""

import re
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.differential.stages import failures
from tests.oracle import run_xla

WINDOW = """f {{
  a = {t}[] parameter(0)
  b = {t}[] parameter(1)
  ROOT c = {t}[] {op}(a, b)
}}

"""


def program(x: str, ops: str, kind: str = "", t: str = "f32") -> str:
    """A program of one argument `x`, with a reducer of a kind."""
    region = WINDOW.format(op=kind, t=t) if kind else ""
    return f"HloModule m\n\n{region}ENTRY e {{\n  x = {x} parameter(0)\n{ops}\n}}\n"


def window(x: str, r: str, size: str, kind: str, start: str) -> str:
    t = x[: x.index("[")]
    ops = f"  z = {t}[] constant({start})\n"
    ops += f"  ROOT r = {r} reduce-window(x, z), window={{{size}}}, to_apply=f"
    return program(x, ops, kind, t)


CASES = {
    "slice": program(
        "f32[4,20000]", "  ROOT r = f32[4,10000] slice(x), slice={[0:4], [0:20000:2]}"
    ),
    "slice of a part, odd": program(
        "f32[3,40011]", "  ROOT r = f32[2,5714] slice(x), slice={[1:3], [7:40001:7]}"
    ),
    "slice of integers": program(
        "s32[60007]", "  ROOT r = s32[20002] slice(x), slice={[2:60007:3]}"
    ),
    "slice that a sum reads": program(
        "f32[50000]",
        "  a = f32[25000] slice(x), slice={[0:50000:2]}\n"
        "  b = f32[25000] slice(x), slice={[1:50000:2]}\n"
        "  ROOT r = f32[25000] add(a, b)",
    ),
    "slice in the middle": program(
        "bf16[2,10001,8]",
        "  ROOT r = bf16[2,3333,8] slice(x), slice={[0:2], [1:10000:3], [0:8]}",
    ),
    "reverse": program("f32[8,10000]", "  ROOT r = f32[8,10000] reverse(x), dimensions={1}"),
    "reverse of a prime": program("f32[40009]", "  ROOT r = f32[40009] reverse(x), dimensions={0}"),
    "reverse of both": program(
        "bf16[5,9001]", "  ROOT r = bf16[5,9001] reverse(x), dimensions={0,1}"
    ),
    "reverse of bytes": program(
        "u8[50000,3]", "  ROOT r = u8[50000,3] reverse(x), dimensions={0,1}"
    ),
    "sums": window("f32[3,30000]", "f32[3,14998]", "size=1x5 stride=1x2", "add", "0"),
    "sums of bf16 with padding": window(
        "bf16[2,40001]", "bf16[2,40001]", "size=1x3 pad=0_0x1_1", "add", "0"
    ),
    "maxima with padding": window(
        "f32[2,20011]", "f32[2,6671]", "size=1x4 stride=1x3 pad=0_0x2_3", "maximum", "-inf"
    ),
    "windows with gaps": window("f32[80003]", "f32[16001]", "size=2 stride=5", "minimum", "inf"),
    "windows of two dimensions": window(
        "f32[6001,3,4]", "f32[3000,2,4]", "size=3x2x1 stride=2x1x1", "maximum", "-inf"
    ),
    "computed operand": program(
        "f32[2,20000]",
        "  t = f32[2,20000] tanh(x)\n  ROOT r = f32[2,10000] slice(t), slice={[0:2], [0:20000:2]}",
    ),
}


KINDS = {"f32": np.float32, "bf16": bfloat16, "s32": np.int32, "u8": np.uint8}


def argument(text: str) -> NDArray[Any]:
    """Numbers for the only argument."""
    found = re.search(r"x = (\w+)\[([\d,]+)\] parameter", text)
    assert found is not None
    rng = np.random.default_rng(0)
    shape = [int(n) for n in found[2].split(",")]
    small = rng.integers(0, 200, shape)
    values: NDArray[Any] = small if found[1] in ("s32", "u8") else rng.standard_normal(shape)
    return values.astype(KINDS[found[1]])


@pytest.mark.parametrize("case", CASES)
def test_every_phase_agrees(case: str) -> None:
    x = argument(CASES[case])
    assert not failures(CASES[case], [x], "none", None, ("tiled", "virtual", "binary"))
    options = CompileOptions(compile_to="tiled", tiling="always")
    module = compile_text(CASES[case], "trn1", options).module
    assert any(op.name == "tile.unfold" for op in module.walk())


def test_special_values_stay_in_their_windows() -> None:
    text = CASES["maxima with padding"]
    x = argument(text)
    x[0, 100:300], x[1, -3:], x[1, 7] = -np.inf, np.inf, np.nan
    (want,) = run_xla(text, [x])
    program_ = compile_text(text, "trn1", CompileOptions(tiling="always")).program
    assert program_ is not None
    (found,) = run(program_, [x], get_target("trn1").machine, Options(races=True)).outputs
    np.testing.assert_array_equal(np.asarray(found), np.asarray(want))


def test_a_block_is_loaded_once() -> None:
    """Five taps read one load: a transfer for each of three rows, and one for the last results."""
    options = CompileOptions(compile_to="virtual", tiling="always")
    ops = list(compile_text(CASES["sums"], "trn1", options).module.walk())
    assert sum(op.name == "nc.dma" for op in ops) == 2 * (3 + 1)  # loads and stores

"""Running reductions along outer dimensions, in pieces on partitions."""

import re

import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.differential.stages import failures
from tests.oracle import run_xla


def running(shape: str, d: int, opcode: str, start: str, *, backwards: bool = False) -> str:
    """A running reduction of f32 along one dimension."""
    dims = [int(n) for n in shape.split(",")]
    size = "x".join(str(n if k == d else 1) for k, n in enumerate(dims))
    low, high = (0, dims[d] - 1) if backwards else (dims[d] - 1, 0)
    pad = "x".join(f"{low}_{high}" if k == d else "0_0" for k in range(len(dims)))
    return f"""HloModule m

f {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] {opcode}(a, b)
}}

ENTRY e {{
  x = f32[{shape}] parameter(0)
  z = f32[] constant({start})
  ROOT r = f32[{shape}] reduce-window(x, z), window={{size={size} pad={pad}}}, to_apply=f
}}
"""


CASES = {
    "maximum": ("2048,24", 0, "maximum", "-inf"),
    "minimum in the middle": ("2,256,10", 1, "minimum", "inf"),
    "from a number": ("384,8", 0, "maximum", "0.5"),
    "sum": ("1000,12", 0, "add", "0"),
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_every_phase_agrees(case: str, backwards: bool) -> None:
    shape, d, opcode, start = CASES[case]
    text = running(shape, d, opcode, start, backwards=backwards)
    x = np.random.default_rng(0).standard_normal([int(n) for n in shape.split(",")])
    args = [x.astype(np.float32)]
    assert not failures(text, args, "none", None, ("tiled", "virtual", "binary"))
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled", tiling="always")).module
    (window,) = [op for op in module.walk() if op.name == "hlo.reduce_window"]
    assert (
        max(int(n) for n in re.findall(r"\d+", str(window.properties["window_dimensions"]))) < 129
    )


@pytest.mark.parametrize("backwards", [False, True])
def test_infinities_stay_in_their_columns(backwards: bool) -> None:
    """As in masks: rows of minus infinity, and single infinities."""
    text = running("2048,40", 0, "maximum", "-inf", backwards=backwards)
    x = np.random.default_rng(0).standard_normal((2048, 40), dtype=np.float32)
    x[:700] = -np.inf
    x[1500:, 3] = -np.inf
    x[900, 7], x[1800, 9] = np.inf, np.inf
    (want,) = run_xla(text, [x])
    for tiling in ("always", "never"):
        program = compile_text(text, "trn1", CompileOptions(tiling=tiling)).program
        assert program is not None
        (found,) = run(program, [x], get_target("trn1").machine, Options(races=True)).outputs
        np.testing.assert_array_equal(np.asarray(found), np.asarray(want))


@pytest.mark.parametrize("shape", ["2053,8", "100,8"])
def test_other_lengths_stay_whole(shape: str) -> None:
    """Primes have no pieces, and short dimensions need none or few."""
    text = running(shape, 0, "maximum", "-inf")
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled", tiling="always")).module
    windows = [op for op in module.walk() if op.name == "hlo.reduce_window"]
    assert len(windows) <= 1
    x = np.random.default_rng(0).standard_normal([int(n) for n in shape.split(",")])
    assert not failures(text, [x.astype(np.float32)], "none", None, ("tiled", "binary"))


@pytest.mark.parametrize("opcode, start", [("add", "0"), ("minimum", "0.25"), ("multiply", "1")])
def test_a_row_is_one_recurrence_from_its_end(opcode: str, start: str) -> None:
    """Without phase tiled: one instruction a row, which reads and writes backwards."""
    text = running("130,200", 1, opcode, start, backwards=True)
    x = np.random.default_rng(0).standard_normal((130, 200), dtype=np.float32)
    assert not failures(text, [x], "none", None, ("virtual", "binary"))
    options = CompileOptions(compile_to="virtual", tiling="never")
    module = compile_text(text, "trn1", options).module
    scans = [op for op in module.walk() if op.name == "nc.tensor_tensor_scan"]
    assert len(scans) == 2
    assert not [op for op in module.walk() if op.name == "nc.tensor_tensor"]

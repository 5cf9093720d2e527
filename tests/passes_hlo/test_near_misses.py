"""Passes where a nearly right one would go wrong; what they make is compared with XLA or numpy."""

from typing import cast

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.passes.hlo.narrow_int64 import INPUT_RANGES
from tests.oracle import run_xla
from tests.passes_hlo.helpers import opcodes, program, run_passes


@pytest.mark.parametrize("steps", ["add multiply", "multiply add", "add multiply subtract"])
def test_offsets_before_a_folded_scale_are_scaled(steps: str) -> None:
    rng = np.random.default_rng(0)

    def row(values: np.ndarray) -> str:
        return ", ".join(f"{v:.4f}" for v in values)

    weights = ", ".join("{" + row(r) + "}" for r in rng.uniform(1, 2, (3, 4)))
    lines = [
        "x = f32[2,3] parameter(0)",
        f"w = f32[3,4] constant({{{weights}}})",
        "v0 = f32[2,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ]
    names = steps.split()
    for i, step in enumerate(names):
        lines += [
            f"c{i} = f32[4] constant({{{row(rng.uniform(2, 3, 4))}}})",
            f"b{i} = f32[2,4] broadcast(c{i}), dimensions={{1}}",
            f"{'ROOT ' if i == len(names) - 1 else ''}v{i + 1} = f32[2,4] {step}(v{i}, b{i})",
        ]
    text = "HloModule test\n\nENTRY main {\n" + "\n".join(lines) + "\n}"
    x = rng.standard_normal((2, 3)).astype(np.float32)
    module = run_passes(program(text), "hlo-fold-scales,hlo-dce")
    assert "multiply" not in opcodes(module)
    np.testing.assert_allclose(interpret(module, [x])[0], run_xla(text, [x])[0], 1e-5)


@pytest.mark.parametrize("count", [16, 4096])
def test_64_bit_sums_of_products_narrow_only_where_they_fit(count: int) -> None:
    """|x| <= 1000: products fit in 32 bits, and 16 of them do, but not 4096."""
    text = f"""
ENTRY main {{
  x = s64[2,{count}] parameter(0)
  low = s64[] constant(-1000)
  high = s64[] constant(1000)
  c = s64[2,{count}] clamp(low, x, high)
  ROOT r = s64[2,2] dot(c, c), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
}}
"""
    module = run_passes(program(text), "hlo-narrow-int64")
    ranges = cast(DictionaryAttr | None, module.attributes.get(INPUT_RANGES))
    low, high = -(1 << 31), (1 << 31) - 1
    if ranges is not None and "0" in ranges.data:
        found = cast(ArrayAttr[StringAttr], ranges.data["0"])
        low, high = (int(entry.data) for entry in found)
    largest = min(max(-low, high), 1000)
    assert count * largest**2 < 1 << 31
    assert largest == 1000 or count == 4096


def test_indices_stay_in_fp32_where_all_is_cast() -> None:
    text = """
ENTRY main {
  x = f32[8] parameter(0)
  two = f32[] constant(2)
  b = f32[8] broadcast(two), dimensions={}
  y = f32[8] multiply(x, b)
  ROOT r = s32[8] convert(y)
}
"""
    x = np.arange(1001, 1009, dtype=np.float32)
    module = run_passes(program(text), 'hlo-auto-cast{mode="all"}')
    assert interpret(module, [x])[0].tolist() == (2 * x).astype(int).tolist()


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_running_sums_of_16_bit_floats_are_rounded_once(kind: str) -> None:
    text = f"""
add {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT c = {kind}[] add(a, b)
}}

ENTRY main {{
  x = {kind}[300] parameter(0)
  z = {kind}[] constant(0)
  ROOT r = {kind}[300] reduce-window(x, z), window={{size=300 pad=299_0}}, to_apply=add
}}
"""
    dtype = np.dtype(ml_dtypes.bfloat16 if kind == "bf16" else np.float16)
    x = np.random.default_rng(1).uniform(1, 2, 300).astype(dtype)
    module = run_passes(program(text), "hlo-decompose")
    assert "reduce_window" not in opcodes(module)
    found = interpret(module, [x])[0].astype(np.float64)
    expected = np.cumsum(x.astype(np.float64))
    half = float(ml_dtypes.finfo(dtype).eps) / 2
    assert (np.abs(found - expected) <= 1.01 * half * expected).all()

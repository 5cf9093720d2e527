"""Rounding keeps the sign of zero on both machines, judged by XLA."""

import ml_dtypes
import numpy as np
import pytest

from benchmarks.measure import simulate
from neuronir.driver import CompileOptions, compile_text
from tests.acceptance.programs import decoded
from tests.lowering.helpers import entry
from tests.oracle import run_xla

VALUES = [0.0, -0.0, 0.3, -0.3, 0.5, -0.5, 0.7, -0.7, 1.5, -1.5, -2.5, 3e4, -3e4]
SPECIAL = [np.inf, -np.inf, np.nan, 0.49999997, -0.49999997, 8388609.0, -8388609.0]
DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["trn1", "inf1"])
@pytest.mark.parametrize("name", sorted(DTYPES))
@pytest.mark.parametrize("opcode", ["floor", "ceil", "round-nearest-even", "round-nearest-afz"])
def test_sign_of_zero(opcode: str, name: str, target: str) -> None:
    x = np.array(VALUES + SPECIAL, np.float32).astype(DTYPES[name])
    shape = f"{name}[{x.size}]"
    text = entry(f"a = {shape} parameter(0)", f"b = {shape} {opcode}(a)")
    result = compile_text(text, target, CompileOptions(auto_cast="none"))
    (mine,) = simulate(decoded(result), [x], result)
    (wanted,) = run_xla(text, [x])
    mine, wanted = mine.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_array_equal(mine, wanted)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(mine)[number], np.signbit(wanted)[number])


def test_a_row_of_constants_on_all_partitions() -> None:
    """PE would add its parts of 0 to -0."""
    text = entry(
        "c = f32[4] constant({-0.96, -0.47, 0.8, 0})",
        "b = f32[64,4] broadcast(c), dimensions={1}",
        "r = f32[64,4] round-nearest-even(b)",
    )
    result = compile_text(text, "trn1", CompileOptions(auto_cast="none"))
    (mine,) = simulate(decoded(result), [], result)
    np.testing.assert_array_equal(
        mine, np.tile(np.array([-1.0, 0.0, 1.0, 0.0], np.float32), (64, 1))
    )
    np.testing.assert_array_equal(np.signbit(mine[0]), [True, True, False, False])

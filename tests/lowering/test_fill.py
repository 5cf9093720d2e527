"""Large arrays of one number in HBM: filled from a tile, as the operand of a sparse gradient."""

import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.acceptance.programs import decoded
from tests.oracle import run_xla

TEXT = """HloModule m

f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY e {
  i = s32[40,1] parameter(0)
  u = f32[40,193] parameter(1)
  z = f32[] constant(0.5)
  x = f32[30001,193] broadcast(z), dimensions={}
  ROOT r = f32[30001,193] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, \
scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f
}
"""


@pytest.mark.parametrize("tiling", ["always", "never"])
def test_rows_of_a_large_table_of_one_number(tiling: str) -> None:
    """It need not fit in SBUF; partitions get unequal parts."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 30001, (40, 1), np.int32)
    indices[:4, 0] = [30000, 0, 30000, 7]
    args = [indices, rng.standard_normal((40, 193)).astype(np.float32)]
    (want,) = run_xla(TEXT, args)
    program = decoded(compile_text(TEXT, "trn1", CompileOptions(tiling=tiling)))
    machine = get_target("trn1").machine
    (found,) = run(program, args, machine, Options(races=True)).outputs
    np.testing.assert_allclose(np.asarray(found), np.asarray(want), rtol=4e-6, atol=4e-6)

"""Many lookups in a small table are dots on trn1, with the bits that XLA gives."""

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.hlo.gather_to_dot import lookup_ns
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import decoded
from tests.differential.stages import stages
from tests.oracle import run_xla
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes

TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
COUNT = 2048


def _text(dtype: str, rows: int, width: int, count: int = COUNT) -> str:
    return f"""HloModule m

ENTRY main {{
  t = {dtype}[{rows},{width}] parameter(0)
  i = s32[{count},1] parameter(1)
  ROOT r = {dtype}[{count},{width}] gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{width}}}
}}
"""


def _table(dtype: str, rows: int, width: int) -> Array:
    """Numbers of all sizes, and each special value: the largest and smallest ones too."""
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((rows, width)) * 2.0 ** rng.integers(-12, 12, (rows, width))
    table: Array = numbers.astype(TYPES[dtype])
    info = ml_dtypes.finfo(TYPES[dtype])
    small = info.smallest_subnormal
    special = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.max, info.min, info.tiny, small, -3 * small]
    places = rng.permutation(table.size)[: len(special)]
    table.reshape(-1)[places] = np.array(special, TYPES[dtype])
    return table


@pytest.mark.parametrize("cast", ["none", "matmult", "all"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "width"), [(32, 6), (7, 3), (128, 5)])
def test_the_same_bits_as_xla(dtype: str, rows: int, width: int, cast: str) -> None:
    """Indices out of bounds are clamped, and casts do not round what is only selected."""
    text, table = _text(dtype, rows, width), _table(dtype, rows, width)
    module = program(text)
    run_passes(module, 'hlo-gather-to-dot{target="trn1"},hlo-dce')
    assert "gather" not in opcodes(module)
    rng = np.random.default_rng(1)
    indices = rng.integers(-3, rows + 3, (COUNT, 1)).astype(np.int32)
    indices[:4, 0] = -(2**31), 2**31 - 1, rows, -1
    (wanted,) = run_xla(text, [table, indices])
    (stage,) = stages(text, [table, indices], cast, ("binary",), "trn1")
    (found,) = stage.outputs
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    numbers = ~np.isnan(wanted)
    bits = np.dtype(f"u{table.itemsize}")
    np.testing.assert_array_equal(found[numbers].view(bits), wanted[numbers].view(bits))


@pytest.mark.parametrize(
    ("dtype", "rows", "width", "count"),
    [("bf16", 8, 6, 4096), ("f16", 32, 6, 32768), ("f32", 128, 16, 8192), ("f32", 64, 64, 4096)],
)
@pytest.mark.thin(2)
def test_the_estimate_is_close_to_the_simulated_time(
    dtype: str, rows: int, width: int, count: int
) -> None:
    """Within a third either way; the descriptors that it is compared with are underestimated."""
    machine = get_machine("trn1")
    program = decoded(compile_text(_text(dtype, rows, width, count), "trn1", CompileOptions()))
    time = build_report(simulate_timing(program, machine))["total_time_us"] * 1000
    assert 0.75 < lookup_ns(machine, count, rows, width, special=4) / time < 1.33

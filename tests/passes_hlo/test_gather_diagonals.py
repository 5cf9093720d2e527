"""Tables that are read by the difference of two positions, against XLA."""

import numpy as np
import pytest

from tests.passes_hlo.helpers import Array, check_bits, opcodes, program, run_passes

PROGRAMS = {
    "short rows": (
        (50, 6),
        "s32[40,64,1]",
        "f32[40,64,6] gather(x, d), offset_dims={2}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=2, slice_sizes={1,6}",
    ),
    "long rows": (
        (120, 40),
        "s32[48,24,1]",
        "f32[48,24,40] gather(x, d), offset_dims={2}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=2, slice_sizes={1,40}",
    ),
    "single elements": (
        (99,),
        "s32[64,64]",
        "f32[64,64] gather(x, d), offset_dims={}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=2, slice_sizes={1}",
    ),
    "columns and dimensions of one": (
        (3, 70, 2),
        "s32[1,40,1,50]",
        "f32[1,3,40,2,1,50] gather(x, d), offset_dims={1,3}, collapsed_slice_dims={1}, "
        "start_index_map={1}, index_vector_dim=4, slice_sizes={3,1,2}",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_elements_as_xla(name: str) -> None:
    """Differences out of bounds are clamped; infinities, NaN and -0 keep their bits."""
    shape, indices, made = PROGRAMS[name]
    long = [d for d, n in enumerate(indices[4:-1].split(",")) if n != "1"]
    text = f"""HloModule m

ENTRY e {{
  x = f32[{",".join(map(str, shape))}] parameter(0)
  q = {indices} iota(), iota_dimension={long[0]}
  k = {indices} iota(), iota_dimension={long[1]}
  m = {indices} subtract(k, q)
  c = s32[] constant(30)
  b = {indices} broadcast(c), dimensions={{}}
  d = {indices} add(m, b)
  ROOT r = {made}
}}
"""
    x: Array = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    special = np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)
    x.reshape(-1)[7::11] = np.resize(special, x.reshape(-1)[7::11].shape)
    module = program(text)
    run_passes(module, "hlo-gather-diagonals")
    assert opcodes(module).count("gather") == 2
    check_bits(module, text, [x])

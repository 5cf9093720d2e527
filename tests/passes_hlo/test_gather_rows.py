"""Gathers of columns, on trn1 and as the reference interpreter runs them, against XLA."""

import numpy as np
import pytest

from tests.passes_hlo.helpers import Array, check_bits, opcodes, program, run_passes

PROGRAMS = {
    "columns": (
        (300, 500),
        (200, 1),
        "f32[300,200] gather(x, i), offset_dims={0}, collapsed_slice_dims={1}, "
        "start_index_map={1}, index_vector_dim=1, slice_sizes={300,1}",
    ),
    "columns that stay a dimension": (
        (300, 500),
        (200, 1),
        "f32[200,300,1] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, "
        "start_index_map={1}, index_vector_dim=1, slice_sizes={300,1}",
    ),
    "two dimensions": (
        (300, 40, 50),
        (30, 20, 2),
        "f32[300,30,1,20] gather(x, i), offset_dims={0,2}, collapsed_slice_dims={2}, "
        "start_index_map={2,1}, index_vector_dim=2, slice_sizes={300,1,1}",
    ),
    "middle": (
        (150, 90, 3),
        (400, 1),
        "f32[150,400,2,3] gather(x, i), offset_dims={0,2,3}, collapsed_slice_dims={}, "
        "start_index_map={1}, index_vector_dim=1, slice_sizes={150,2,3}",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_elements_as_xla(name: str) -> None:
    """Indices out of bounds are clamped; infinities, NaN and -0 keep their bits."""
    shape, index_shape, made = PROGRAMS[name]
    text = f"""HloModule m

ENTRY e {{
  x = f32[{",".join(map(str, shape))}] parameter(0)
  i = s32[{",".join(map(str, index_shape))}] parameter(1)
  ROOT r = {made}
}}
"""
    rng = np.random.default_rng(0)
    x: Array = rng.standard_normal(shape, dtype=np.float32)
    special = [np.nan, np.inf, -np.inf, -0.0]
    x.reshape(-1)[rng.choice(x.size, 400)] = np.resize(np.array(special, np.float32), 400)
    i = rng.integers(-3, max(shape) + 3, index_shape).astype(np.int32)
    module = program(text)
    run_passes(module, "hlo-gather-rows")
    assert opcodes(module).count("transpose") == 2
    check_bits(module, text, [x, i])

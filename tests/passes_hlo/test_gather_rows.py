"""Gathers of columns, on trn1 and as the reference interpreter runs them, against XLA."""

import numpy as np
import pytest

from neuronir.dialects.tile.rules import shape_of
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


INDEXED = {
    "rows": (
        (4, 50, 6, 20),
        (30,),
        "f32[4,30,6,20] gather(x, i), offset_dims={0,2,3}, collapsed_slice_dims={1}, "
        "start_index_map={1}, index_vector_dim=1, slice_sizes={4,1,6,20}",
    ),
    "rows that stay a dimension": (
        (4, 50, 120),
        (5, 6, 1),
        "f32[5,4,1,6,120] gather(x, i), offset_dims={1,2,4}, collapsed_slice_dims={}, "
        "start_index_map={1}, index_vector_dim=2, slice_sizes={4,1,120}",
    ),
    "rows that are set": (
        (4, 50, 6, 20),
        (13,),
        "f32[4,50,6,20] scatter(x, i, u), update_window_dims={0,2,3}, inserted_window_dims={1}, "
        "scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=set",
    ),
    "rows that are added": (
        (3, 40, 50),
        (5, 2, 1),
        "f32[3,40,50] scatter(x, i, u), update_window_dims={1,2,4}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={1}, index_vector_dim=2, to_apply=sum",
    ),
}
UPDATES = {"rows that are set": (4, 13, 6, 20), "rows that are added": (5, 3, 1, 2, 50)}


@pytest.mark.parametrize("kind", ["s32", "s8", "u8", "u32"])
@pytest.mark.parametrize("name", INDEXED)
def test_outer_dimensions_become_part_of_the_index(name: str, kind: str) -> None:
    """Gathers clamp indices out of bounds, and scatters drop their rows."""
    shape, index_shape, made = INDEXED[name]
    updates = UPDATES.get(name, (1,))
    text = f"""HloModule m

set {{
  a = f32[] parameter(0)
  ROOT b = f32[] parameter(1)
}}

sum {{
  c = f32[] parameter(0)
  d = f32[] parameter(1)
  ROOT e = f32[] add(c, d)
}}

ENTRY e {{
  x = f32[{",".join(map(str, shape))}] parameter(0)
  i = {kind}[{",".join(map(str, index_shape))}] parameter(1)
  u = f32[{",".join(map(str, updates))}] parameter(2)
  ROOT r = {made}
}}
"""
    rng = np.random.default_rng(0)
    x, u = (rng.standard_normal(s, dtype=np.float32) for s in (shape, updates))
    numbers = rng.permutation(np.arange(-8, shape[1] + 8))[: int(np.prod(index_shape))]
    numbers[:4] = [-1, -128, shape[1], 127]
    i = numbers.reshape(index_shape).astype({"s": "int", "u": "uint"}[kind[0]] + kind[1:])
    module = program(text)
    run_passes(module, "hlo-gather-rows,hlo-canonicalize,hlo-dce")
    found = next(op for op in module.walk() if op.name in ("hlo.gather", "hlo.scatter"))
    assert len(shape_of(found.operands[0])) == 2
    check_bits(module, text, [x, i, u])

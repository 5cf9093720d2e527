"""Scatters of one value to each row, and sums of such rows, give what XLA gives."""

import numpy as np
import pytest

from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.pipeline import parse_pipeline
from tests.differential.stages import REGISTRY, failures
from tests.oracle import run_xla

TEXT = """HloModule m

add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}

ENTRY e {{
  at = s32[7,1] parameter(0)
  by = f32[7] parameter(1)
  x = f32[7,300] parameter(2)
  zero = f32[] constant(0)
  none = f32[7,300] broadcast(zero), dimensions={{}}
  rows = f32[7,300] scatter({operand}, at, by), update_window_dims={{}}, \
inserted_window_dims={{1}}, scatter_dims_to_operand_dims={{1}}, input_batching_dims={{0}}, \
scatter_indices_batching_dims={{0}}, index_vector_dim=1, to_apply=add
  less = f32[7,300] negate(rows)
  sums = f32[7] reduce(rows, zero), dimensions={{1}}, to_apply=add
  lesser = f32[7] reduce(less, zero), dimensions={{1}}, to_apply=add
  others = f32[300] reduce(less, zero), dimensions={{0}}, to_apply=add
  ROOT t = (f32[7], f32[7], f32[300]) tuple(sums, lesser, others)
}}
"""


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("operand", ["none", "x"])
def test_sums_of_rows_with_one_more_value(operand: str, special: bool) -> None:
    """Indices beyond a row add nothing; sums of rows of zeros need no rows."""
    text = TEXT.format(operand=operand)
    rng = np.random.default_rng(1)
    at = np.array([[0], [299], [300], [-1], [17], [5], [17]], np.int32)
    by = rng.normal(size=7).astype(np.float32)
    if special:
        by[4:6] = np.inf, np.nan
    args = [at, by, rng.normal(size=(7, 300)).astype(np.float32)]
    want = {f"out{k}": value for k, value in enumerate(run_xla(text, args))}
    assert not failures(text, args, "none", want, ("tiled", "virtual", "binary"))
    module = import_hlo_text(text, "test.hlo")
    for one in parse_pipeline("tile-expand-composites", REGISTRY.passes, REGISTRY.pipelines):
        one.apply(REGISTRY.context(), module)
    assert str(module).count("hlo.reduce") == (1 if operand == "none" else 3)


def test_only_the_sums_are_read() -> None:
    text = TEXT.format(operand="none").replace("f32[300]) tuple", ") tuple")
    text = text.replace("f32[7], ) tuple(sums, lesser, others)", "f32[7]) tuple(sums, lesser)")
    lines = [line for line in text.splitlines() if "others" not in line]
    args = [np.full((7, 1), 3, np.int32), np.arange(7, dtype=np.float32)]
    args.append(np.zeros((7, 300), np.float32))
    want = {f"out{k}": value for k, value in enumerate(run_xla("\n".join(lines), args))}
    assert not failures("\n".join(lines), args, "none", want, ("tiled", "virtual", "binary"))

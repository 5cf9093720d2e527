"""Scatters that combine rows, split over several tables: equal rows, places outside, odd sizes."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from tests.differential.stages import failures
from tests.oracle import run_xla
from tests.passes_hlo.helpers import program, run_passes

PASS = "hlo-split-scatters"


def scatter(combiner: str, indices: str, updates: str, numbers: str) -> str:
    return f"""HloModule m

f {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] {combiner}(a, b)
}}

ENTRY e {{
  x = f32[20,7,12] parameter(0)
  i = s32[{indices}] parameter(1)
  u = f32[{updates}] parameter(2)
  ROOT r = f32[20,7,12] scatter(x, i, u), {numbers}, to_apply=f
}}
"""


ROWS = (
    "update_window_dims={1,2}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
    "index_vector_dim=1"
)
PAIRS = (
    "update_window_dims={2}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1,0}, "
    "index_vector_dim=2"
)
FORMS = {
    "rows": ("1091", "1091,7,12", ROWS),
    "pairs": ("29,37,2", "29,37,12", PAIRS),
}


@pytest.mark.parametrize("combiner", ["maximum", "minimum", "add"])
@pytest.mark.parametrize("form", FORMS)
def test_tables_combine_to_the_whole(combiner: str, form: str) -> None:
    text = scatter(combiner, *FORMS[form])
    rng = np.random.default_rng(0)
    shapes = [tuple(map(int, s.split(","))) for s in FORMS[form][:2]]
    x = rng.standard_normal((20, 7, 12), dtype=np.float32)
    i = rng.integers(-2, 9, shapes[0]).astype(np.int32)  # some are outside
    u = rng.standard_normal(shapes[1], dtype=np.float32)
    x[0, 0, 0], x[19, 6, 11] = -0.0, np.inf
    split = run_passes(program(text), PASS)
    assert sum(op.name == "hlo.scatter" for op in split.walk()) > 2
    (want,) = run_xla(text, [x, i, u])
    (found,) = interpret(split, [x, i, u])
    exact = combiner != "add"
    np.testing.assert_allclose(np.asarray(found), want, rtol=0 if exact else 4e-6, atol=4e-6)
    assert np.signbit(np.asarray(found)[np.asarray(want) == 0]).all() or not exact
    assert not failures(text, [x, i, u], "none", None, ("virtual", "binary"))


def test_few_updates_stay_together() -> None:
    text = scatter("maximum", "200", "200,7,12", ROWS)
    split = run_passes(program(text), PASS)
    assert sum(op.name == "hlo.scatter" for op in split.walk()) == 1

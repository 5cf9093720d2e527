"""Gathers of single elements: on POOL from rows in SBUF, with the bits that XLA gives."""

from typing import Any

import numpy as np
import pytest

from neuronir.dialects.nc.cost import n_gather_ns
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.rules.elements import Elements, elements_of
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.acceptance.programs import decoded
from tests.oracle import run_xla

RNG = np.random.default_rng(0)
MACHINE = get_target("trn1").machine


def special(*shape: int) -> Any:
    """Numbers between infinities, NaN, zeros with a sign and denormals."""
    values = RNG.standard_normal(shape).astype(np.float32)
    flat = values.reshape(-1)
    for start, value in enumerate((-0.0, np.inf, np.nan, -np.inf, 1e-45)):
        flat[start :: 7 + 2 * start] = value
    return values


def rows(table: str, index: str, picks: str) -> str:
    """Elements of each row: a batch dimension, as of jnp.take_along_axis."""
    return f"""HloModule m

ENTRY e {{
  t = {table} parameter(0)
  i = {index} parameter(1)
  ROOT r = {picks} gather(t, i), offset_dims={{}}, collapsed_slice_dims={{1}}, \
start_index_map={{1}}, operand_batching_dims={{0}}, start_indices_batching_dims={{0}}, \
index_vector_dim=2, slice_sizes={{1,1}}
}}
"""


ONE = """HloModule m

ENTRY e {
  t = f32[4000] parameter(0)
  i = s32[4096,1] parameter(1)
  ROOT r = f32[4096] gather(t, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, \
index_vector_dim=1, slice_sizes={1}
}
"""


@pytest.mark.parametrize(
    ("text", "table", "indices"),
    [
        (
            rows("f32[300,700]", "s32[300,33,1]", "f32[300,33]"),
            special(300, 700),
            RNG.integers(-5, 710, (300, 33, 1), np.int32),
        ),
        (
            rows("s32[128,300]", "u32[128,64,1]", "s32[128,64]"),
            RNG.integers(-(2**31), 2**31, (128, 300), np.int64).astype(np.int32),
            RNG.integers(0, 2**32, (128, 64, 1), np.uint32),
        ),
        (ONE, special(4000), RNG.integers(-9, 4100, (4096, 1), np.int32)),
        (
            ONE.replace("4096", "997"),  # a prime
            special(4000),
            RNG.integers(-9, 4100, (997, 1), np.int32),
        ),
    ],
    ids=["rows", "integers", "one row", "a prime number"],
)
@pytest.mark.parametrize("tiling", ["always", "never"])
def test_bits_and_clamped_indices(text: str, table: Any, indices: Any, tiling: str) -> None:
    """Indices outside are clamped, those that a signed integer does not hold too."""
    (want,) = (np.asarray(x) for x in run_xla(text, [table, indices]))
    compiled = compile_text(text, "trn1", CompileOptions(tiling=tiling))
    (found,) = run(decoded(compiled), [table, indices], MACHINE, Options(races=True)).outputs
    assert np.asarray(found).tobytes() == want.tobytes()


def test_which_gathers_take_elements() -> None:
    assert elements_of((5, 9), (1, 1), (1,), ((0,), (0,)), 20) == Elements(5, 9, 4)
    assert elements_of((5, 9), (1, 2), (1,), ((0,), (0,)), 20) is None
    assert elements_of((5, 9), (5, 1), (1,), ((), ()), 20) is None
    assert elements_of((5, 9), (1, 1), (1,), ((0,), (1,)), 20) is None


def test_what_is_faster() -> None:
    """Few elements of long rows are transferred; rows have to fit in SBUF."""
    assert Elements(512, 2000, 64).is_faster(MACHINE, 4)
    assert not Elements(128, 10000, 1).is_faster(MACHINE, 4)
    assert not Elements(512, 40000, 4000).is_faster(MACHINE, 4)
    assert not Elements(1, 100, 4001).is_faster(MACHINE, 4)


def test_each_part_of_a_table_costs_all_indices() -> None:
    short, long_ = (n_gather_ns(MACHINE, n, 64) for n in (512, 1024))
    assert long_ == pytest.approx(2 * short)

"""Bits that become floats may have any exponent: PE must not transpose them."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from neuronir.driver.weights import entry_function
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.tile.special import special_values
from tests.differential.test_found import results

BITS = """HloModule m

ENTRY e {
  x = u32[8] parameter(0)
  any = f32[8] bitcast-convert(x)
  by = u32[] constant(BY)
  exponent = u32[] constant(EXPONENT)
  bys = u32[8] broadcast(by), dimensions={}
  exponents = u32[8] broadcast(exponent), dimensions={}
  low = u32[8] shift-right-logical(x, bys)
  set = u32[8] or(low, exponents)
  joined = f32[8] bitcast-convert(set)
  ROOT r = (f32[8], f32[8]) tuple(any, joined)
}
"""
ONE, INFINITY = 0x3F800000, 0x7F800000


@pytest.mark.parametrize(
    ("by", "exponent", "finite"),
    [(9, ONE, True), (8, ONE, False), (9, INFINITY, False), (32, ONE, False)],
)
def test_only_bits_behind_a_known_exponent_are_finite(by: int, exponent: int, finite: bool) -> None:
    """Those of random numbers from 1 to 2; one bit more may reach the exponent."""
    text = BITS.replace("BY", str(by)).replace("EXPONENT", str(exponent))
    block = entry_function(import_hlo_text(text, "m.hlo")).body.block
    found = special_values(block)
    casts = [op.results[0] for op in block.ops if op.name == "hlo.bitcast_convert"]
    assert [cast in found for cast in casts] == [True, not finite]


def test_sorted_bits_of_infinities_are_transposed_exactly() -> None:
    """The bits are constants, of which only the sort's keys are known to be ordinary numbers."""
    rng = np.random.default_rng(0)
    keys = rng.integers(-9, 9, (65, 16, 2)).astype(np.int16)
    held = rng.normal(size=(65, 16, 2)).astype(ml_dtypes.bfloat16)
    held[::3, ::5] = np.inf

    def sort(k: jax.Array) -> jax.Array:
        return jax.lax.sort((k, jnp.asarray(held)), dimension=0, num_keys=1)[1]

    text = jax.jit(sort).lower(keys).as_text("hlo")
    (mine,) = results(text, [keys], tiling="always")
    want = np.take_along_axis(held, np.argsort(keys, 0, kind="stable"), 0)
    np.testing.assert_array_equal(mine.view(np.uint16), want.view(np.uint16))

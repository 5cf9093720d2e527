"""Bits that become floats may have any exponent: PE must not transpose them."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from neuronir.driver.weights import entry_function
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.tile.special import special_values
from tests.differential.test_found import check, results

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


CHOSEN = """HloModule m

larger {
  a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT c = u32[] maximum(a, b)
}

ENTRY e {
  x = u32[5,2] parameter(0)
  at = u8[32,2] constant({AT})
  y = u32[32,2] parameter(1)
  ROOT r = u32[5,2] scatter(x, at, y), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={1,0}, index_vector_dim=1, to_apply=larger
}
"""


@pytest.mark.parametrize("target", ["trn1", "inf1"])
def test_the_maximum_of_no_update_is_infinite_though_a_dot_reads_its_bits(target: str) -> None:
    """The rows of the largest upper halves are found by a dot, but of their digits: a transpose on
    PE of the maxima spread the minus infinity of rows without an update.
    """
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 1 << 32, shape, np.uint32) for shape in ((5, 2), (32, 2)))
    at = ",".join(f"{{{k % 5},{3 * (k % 2)}}}" for k in range(32))
    check(CHOSEN.replace("AT", at), [x, y], target=target)

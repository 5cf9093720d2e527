"""Bits that become floats may have any exponent: PE must not transpose them."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.weights import entry_function
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.tile.special import special_values
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run

BITS = """HloModule m

ENTRY e {
  x = u32[8] parameter(0)
  any = f32[8] bitcast-convert(x)
  nine = u32[8] constant({9, 9, 9, 9, 9, 9, 9, 9})
  one = u32[8] constant({1065353216, 1065353216, 1065353216, 1065353216, 1065353216, 1065353216, 1065353216, 1065353216})
  low = u32[8] shift-right-logical(x, nine)
  set = u32[8] or(low, one)
  random = f32[8] bitcast-convert(set)
  ROOT r = (f32[8], f32[8]) tuple(any, random)
}
"""  # noqa: E501


def test_random_bits_behind_an_exponent_are_finite() -> None:
    block = entry_function(import_hlo_text(BITS, "m.hlo")).body.block
    found = special_values(block)
    casts = [op.results[0] for op in block.ops if op.name == "hlo.bitcast_convert"]
    assert [cast in found for cast in casts] == [True, False]


def test_sorted_bits_of_infinities_are_transposed_exactly() -> None:
    """The bits are constants, of which only the sort's keys are known to be ordinary numbers."""
    rng = np.random.default_rng(0)
    keys = rng.integers(-9, 9, (65, 16, 2)).astype(np.int16)
    held = rng.normal(size=(65, 16, 2)).astype(ml_dtypes.bfloat16)
    held[::3, ::5] = np.inf

    def sort(k: jax.Array) -> jax.Array:
        return jax.lax.sort((k, jnp.asarray(held)), dimension=0, num_keys=1)[1]

    text = jax.jit(sort).lower(keys).as_text("hlo")
    program = compile_text(text, "trn1", CompileOptions(tiling="always")).program
    assert program is not None
    (mine,) = run(program, [keys], get_target("trn1").machine, Options(races=True)).outputs
    want = np.take_along_axis(held, np.argsort(keys, 0, kind="stable"), 0)
    np.testing.assert_array_equal(mine.view(np.uint16), want.view(np.uint16))

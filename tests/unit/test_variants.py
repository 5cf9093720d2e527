"""Programs drawn at random for benchmarks: the same for a seed, and what they need is counted."""

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.variants.__main__ import FAMILIES, draw_programs
from benchmarks.variants.draw import Draw, Program, array
from benchmarks.variants.facts import Facts


def test_a_seed_draws_the_same_programs() -> None:
    first, second = draw_programs(3, 20), draw_programs(3, 20)
    assert [p.name for p in first] == [p.name for p in second]
    assert [p.text() for p in first[:2]] == [p.text() for p in second[:2]]
    assert [p.name for p in draw_programs(4, 20)] != [p.name for p in first]


def test_each_family_gives_programs() -> None:
    for family in FAMILIES:
        draw = Draw(1)
        for _ in range(3):
            facts = Facts(family(draw).text())
            assert facts.io_bytes > 0 and facts.product_flops >= 0


def test_what_a_program_needs() -> None:
    def product(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.maximum(x @ w, 0.0)

    facts = Facts(Program("p", product, (array(8, 16), array(16, 4))).text())
    assert facts.product_flops == 2 * 8 * 16 * 4
    assert (facts.vector_elements, facts.io_bytes) == (8 * 4, 4 * (8 * 16 + 16 * 4 + 8 * 4))

    def rounds(x: jax.Array) -> jax.Array:
        return lax.fori_loop(0, 100, lambda _, h: h * 2.0, x)

    assert 100 * 8 <= Facts(Program("r", rounds, (array(8),)).text()).vector_elements <= 100 * 16

"""Ops of several instructions whose result has the buffer of a state that they read."""

from typing import Any

import jax.numpy as jnp
import pytest
from jax import lax

from tests.differential.stages import failures
from tests.tile.test_found import arguments
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any
PHASES = ("tiled", "virtual", "binary")
ROUNDS = 300


def halved(x: Array) -> Array:
    """Square roots by bisection: each bound is kept where the other one moves."""

    def step(_: int, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        less = middle * middle < x
        return jnp.where(less, middle, low), jnp.where(less, high, middle)

    return lax.fori_loop(0, ROUNDS, step, (jnp.zeros_like(x), jnp.full_like(x, 4.0)))


def masks(x: Array) -> Array:
    """A predicate that selects its next value."""

    def step(i: int, both: tuple[Array, Array]) -> tuple[Array, Array]:
        mask, total = both
        return jnp.where(mask, total < i, total > i + 1), jnp.where(mask, total + 1, total + 2)

    return lax.fori_loop(0, ROUNDS, step, (x > 0, jnp.floor(x)))


def absolute(x: Array) -> Array:
    """Integers whose sign is dropped before each difference."""

    def step(i: Array, y: Array) -> Array:
        return jnp.abs(y - i)

    return lax.fori_loop(0, ROUNDS, step, x.astype(jnp.int32))


def magnitudes(x: Array) -> Any:
    """A state whose next value is its own magnitude."""

    def step(y: Array, row: Array) -> tuple[Array, Array]:
        return jnp.abs(y), y + row

    return lax.scan(step, x[0].astype(jnp.int32), jnp.broadcast_to(x[0] > 0, (ROUNDS, 9)))


@pytest.mark.parametrize("function", [halved, masks, absolute, magnitudes])
def test_state_in_place(function: Any) -> None:
    """All phases agree with the interpreter."""
    text = text_of(function, (9, 9))
    args = [abs(a) + 0.5 if function is halved else a for a in arguments(text)]
    assert not failures(text, args, "none", None, PHASES)

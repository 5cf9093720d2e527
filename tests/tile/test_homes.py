"""States that are made where the next round reads them: never before the old ones were read."""

from typing import Any

import jax.numpy as jnp
import pytest
from jax import lax

from tests.differential.stages import failures
from tests.tile.test_hoist import arguments
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any
ROUNDS = 720


def scan(step: Any) -> Any:
    """A loop with two states, and what it reads."""

    def function(xs: Array, w: Array, a: Array, b: Array) -> Any:
        return lax.scan(lambda state, x: step(state, x, w), (a, b), xs)

    return function


def old_is_written(state: Any, x: Array, w: Array) -> Any:
    """The old state goes to the results after the new one is made."""
    a, b = state
    new = jnp.tanh(a @ w + x)
    return (new, jnp.tanh(b + new)), a + new


def exchanged(state: Any, x: Array, w: Array) -> Any:
    """States that change places."""
    a, b = state
    return (jnp.tanh(b @ w), jnp.tanh(a + x)), b


def turned(state: Any, x: Array, w: Array) -> Any:
    """A state that is read across itself by what makes it."""
    a, b = state
    return (jnp.tanh(a.T + x), jnp.tanh(b @ w + a)), b


def reversed_gates(state: Any, x: Array, w: Array) -> Any:
    """Parts of the old state beside parts of the new one."""
    a, b = state
    new = jnp.tanh(jnp.concatenate([a[:, 4:], a[:, :4]], 1) + x)
    return (new, jnp.tanh(b @ w + new)), a[:, :4] + new[:, 4:]


def one_for_both(state: Any, x: Array, w: Array) -> Any:
    """One value that is both states."""
    a, b = state
    new = jnp.tanh(a @ w + b + x)
    return (new, new), new


def late_product(state: Any, x: Array, w: Array) -> Any:
    """A product of the old state that is read last."""
    a, b = state
    product = a @ w
    new = jnp.tanh(a + x)
    return (new, jnp.tanh(b + new)), product * 2.0 + new


STEPS = [old_is_written, exchanged, turned, reversed_gates, one_for_both, late_product]


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("step", STEPS, ids=[s.__name__ for s in STEPS])
def test_states(step: Any, cast: str) -> None:
    """All phases agree with the interpreter."""
    shapes = ((ROUNDS, 8, 8), (8, 8), (8, 8), (8, 8))
    text = text_of(scan(step), *shapes)
    assert " while(" in text
    assert not failures(text, arguments(shapes), cast, None, ("tiled", "virtual", "binary"))

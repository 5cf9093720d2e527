"""Summands of recurrent products that PE adds before the state is complete (nc-sum-in-psum)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.tile.test_hoist import arguments, gru, lstm
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any


def rnn(xs: Array, wh: Array) -> Array:
    """A layer whose input needs no product."""

    def step(h: Array, x: Array) -> Any:
        h = jnp.tanh(x + h @ wh)
        return h, h

    return lax.scan(step, jnp.zeros(xs.shape[1:]), xs)[1]


def masked(xs: Array, wh: Array) -> Array:
    """The same with a mask of the program: the first units are -1."""
    mask = jnp.where(jnp.arange(wh.shape[0]) < 3, -jnp.inf, 0.0)

    def step(h: Array, x: Array) -> Any:
        h = jnp.tanh((x + mask) + h @ wh)
        return h, h

    return lax.scan(step, jnp.zeros(xs.shape[1:]), xs)[1]


def backwards(xs: Array, wh: Array) -> Array:
    """The reversed layer, with sigmoid."""

    def step(h: Array, x: Array) -> Any:
        h = jax.nn.sigmoid(x + h @ wh)
        return h, h

    return lax.scan(step, jnp.zeros(xs.shape[1:]), xs, reverse=True)[1]


def two(xs: Array, wh: Array) -> Array:
    """Two layers."""
    return rnn(rnn(xs, wh), wh)


CASES = {
    "rnn": (rnn, ((60, 16, 64), (64, 64)), True),
    "rolled": (rnn, ((256, 2, 40), (40, 40)), True),
    "backwards": (backwards, ((48, 5, 64), (64, 64)), True),
    "two": (two, ((40, 8, 32), (32, 32)), True),
    "gru": (gru, ((50, 3, 32), (32, 384), (128, 384), (384,)), True),
    "lstm": (lstm, ((32, 20, 64), (64, 256), (64, 256), (256,)), True),
    "masked": (masked, ((60, 16, 64), (64, 64)), False),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.thin(2)
def test_sums(name: str) -> None:
    """All phases agree with the interpreter; a mask that the program makes is added exactly."""
    function, shapes, expected = CASES[name]
    text = text_of(function, *shapes)
    args = [0.3 * a for a in arguments(shapes)]
    options = CompileOptions(compile_to="virtual", auto_cast="matmult")
    module = compile_text(text, "trn1", options).module
    assert ("identity.sums" in str(module)) == expected
    assert np.isfinite(np.asarray(jax.jit(function)(*args))).all()
    assert not failures(text, args, "matmult", None, ("tiled", "virtual", "binary"))

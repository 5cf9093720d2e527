"""Loops that read arrays which are converted, transposed or broadcast before the loop."""

from typing import Any

import jax.numpy as jnp
import pytest
from jax import lax

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.tile.test_found import arguments
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any
PHASES = ("hlo", "tiled", "virtual", "binary")
ROUNDS = 300


def rnn(h: Array, w: Array, xs: Array, **how: Any) -> Any:
    """A recurrent network in one element type."""
    return lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h), h, xs, **how)


def halves(*arrays: Array) -> list[Array]:
    """The arrays in bf16."""
    return [a.astype(jnp.bfloat16) for a in arrays]


def weights(h: Array, w: Array, xs: Array) -> Any:
    """Only the product is in bf16."""
    (w,) = halves(w)

    def step(h: Array, x: Array) -> Any:
        new = jnp.tanh((h.astype(jnp.bfloat16) @ w).astype(jnp.float32) + x)
        return new, new

    return lax.scan(step, h, xs)


def read_twice(h: Array, w: Array, xs: Array) -> Any:
    """The converted sequence is read behind the loop too."""
    h, w, xs = halves(h, w, xs)
    return xs * 2, rnn(h, w, xs)


def repeated(h: Array, w: Array, xs: Array) -> Any:
    """All rows of a batch read the same sequence."""
    h, w, xs = halves(h, w, xs)
    return rnn(h, w, jnp.broadcast_to(xs[:, None], (ROUNDS, *h.shape)))


LOOPS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "weights": (weights, (ROUNDS, 4, 16)),
    "all": (lambda h, w, xs: rnn(*halves(h, w, xs)), (ROUNDS, 4, 16)),
    "backwards": (lambda h, w, xs: rnn(*halves(h, w, xs), reverse=True), (ROUNDS, 4, 16)),
    "transposed": (
        lambda h, w, xs: rnn(*halves(h, w.T, xs.transpose(1, 0, 2))),
        (4, ROUNDS, 16),
    ),
    "broadcast": (repeated, (ROUNDS, 16)),
    "read twice": (read_twice, (ROUNDS, 4, 16)),
    "large": (lambda h, w, xs: rnn(*halves(h, w, xs)), (4096, 40, 16)),
}


SLOW = ("all", "large")
"""The same conversions as of `backwards`, in the other direction, and those of longer loops."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LOOPS]
)
@pytest.mark.thin(2)
def test_converted_before_the_loop(name: str) -> None:
    """The loop stays a loop, and all phases agree with the interpreter."""
    function, shape = LOOPS[name]
    rows = 40 if name == "large" else 4
    text = text_of(function, (rows, 16), (16, 16), shape)
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert any(op.name == "scf.for" for op in module.walk())
    assert not failures(text, arguments(text), "none", None, PHASES)

"""Conditionals in loops: those that depend on data become selects, and the loop stays a loop."""

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
ROUNDS = 200


def by_state(h: Array, x: Array) -> Array:
    return lax.cond(h.sum() > 0, lambda h: h - x, lambda h: h + x * x, h)


def by_row(h: Array, x: Array) -> Array:
    return lax.cond(x[0] > 0, lambda h: h - x, lambda h: h * 0.5, h)


def switched(h: Array, x: Array) -> Array:
    index = (x[1] * 3).astype(jnp.int32)
    return lax.switch(index, [lambda h: h * 0.5, lambda h: h - x, lambda h: -h], h)


def nested(h: Array, x: Array) -> Array:
    return lax.cond(x[0] > 0, lambda h: by_state(h, x), lambda h: h * 0.5, h)


@pytest.mark.parametrize("step", [by_state, by_row, switched, nested])
def test_branches_by_data(step: Any) -> None:
    def function(h: Array, xs: Array) -> Any:
        return lax.scan(lambda h, x: (step(h, x), h), h, xs)

    text = text_of(function, (8,), (ROUNDS, 8))
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert any(op.name == "scf.for" for op in module.walk())
    assert not failures(text, arguments(text), "none", None, PHASES)


def test_branches_by_iteration() -> None:
    """The counter alone decides: unrolling leaves only the branches that are taken."""

    def function(h: Array) -> Array:
        def step(i: Array, h: Array) -> Array:
            return lax.cond(i % 3 == 0, lambda h: jnp.sin(h), lambda h: h * 0.5, h)

        return lax.fori_loop(0, 30, step, h)

    text = text_of(function, (8,))
    module = compile_text(text, "trn1", CompileOptions(compile_to="hlo")).module
    assert sum(op.name == "hlo.sine" for op in module.walk()) == 10
    assert not any(op.name in ("hlo.select", "hlo.while") for op in module.walk())
    assert not failures(text, arguments(text), "none", None, PHASES)

"""Loops whose transfers have addresses in registers."""

from typing import Any

import jax.numpy as jnp
import pytest
from jax import lax

from tests.differential.stages import failures
from tests.tile.test_found import arguments
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any
PHASES = ("tiled", "virtual", "ordered", "allocated", "binary")


def test_a_transfer_stays_behind_its_register() -> None:
    """The order of the triggers in a loop respects the loads of registers."""

    def function(x: Array, y: Array) -> Array:
        return lax.fori_loop(0, 700, lambda i, x: x.at[i % 8].add(y[i]), x)

    text = text_of(function, (8, 8), (700, 8))
    assert not failures(text, arguments(text), "none", None, PHASES)


def test_addresses_that_a_loop_computes() -> None:
    """A row is looked up where the last one points to."""

    def function(x: Array, table: Array) -> Any:
        def step(at: Array, row: Array) -> Any:
            found = lax.dynamic_slice_in_dim(table, at, 1)[0]
            return (at * 5 + 3) % 16, found + row

        return lax.scan(step, jnp.int32(1), x)[1]

    text = text_of(function, (600, 8), (16, 8))
    assert not failures(text, arguments(text), "none", None, PHASES)

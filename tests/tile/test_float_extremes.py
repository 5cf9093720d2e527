"""Extremes of chosen indices of few rows, in fp32 over all partitions: the indices are XLA's."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.oracle import hlo_text, run_xla

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any
LARGEST = 2**31 - 1


def first(x: Array) -> Array:
    """The first position of the largest element, or of the first NaN."""
    return jnp.argmax(x, -1)


def none_or_first(x: Array) -> Array:
    """The first positive element, or the largest integer."""
    places = jnp.broadcast_to(jnp.arange(x.shape[-1], dtype=jnp.int32), x.shape)
    return jnp.where(x > 0, places, LARGEST).min(-1, initial=LARGEST)


def none_or_last(x: Array) -> Array:
    """The last element that is not positive, or -2^30."""
    places = jnp.broadcast_to(jnp.arange(x.shape[-1], dtype=jnp.int32), x.shape)
    return jnp.where(x > 0, -(2**30), places).max(-1, initial=-(2**31))


@pytest.mark.parametrize("shape", [(1, 2501), (5, 1009)])
@pytest.mark.parametrize("function", [first, none_or_first, none_or_last])
def test_every_phase_gives_what_xla_gives(function: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=shape)).astype(np.float32)
    if shape[0] > 1:
        x[0], x[1], x[2] = -np.inf, -1.0, 1.0
        x[3, 700:] = np.nan
    text = hlo_text(function, [x])
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    kinds = {str(op.operands[0].type) for op in module.walk() if op.name == "hlo.reduce"}
    assert not any("i32" in kind for kind in kinds)
    assert not failures(text, [x], "none", {"out0": run_xla(text, [x])[0]}, ("tiled", "binary"))

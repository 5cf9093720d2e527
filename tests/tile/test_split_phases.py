"""Transposed convolutions are split by phases, and the numbers are XLA's."""

from typing import Any

import jax
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.oracle import run_xla

PROGRAMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], int]] = {
    "even taps": ((1, 9, 7, 48), (4, 4, 48, 16), {"padding": [(2, 2), (2, 2)]}, 4),
    "odd taps and sizes": ((2, 6, 5, 40), (3, 3, 40, 24), {"padding": [(2, 1), (1, 2)]}, 4),
    "one dimension": ((1, 6, 9, 32), (3, 5, 32, 16), {"lhs_dilation": (1, 3)}, 3),
    "taps that miss a phase": ((1, 6, 5, 32), (1, 2, 32, 16), {"lhs_dilation": (1, 3)}, 2),
    "phases behind the image": (
        (1, 6, 1, 32),
        (1, 2, 32, 16),
        {"lhs_dilation": (1, 3), "padding": [(0, 0), (0, 1)]},
        1,
    ),
    "cut results": ((1, 8, 8, 32), (3, 3, 32, 8), {"padding": [(-1, 1), (0, -2)]}, 4),
    "in groups": ((1, 6, 6, 64), (3, 3, 32, 64), {"feature_group_count": 2}, 4),
}


def convolution(name: str) -> tuple[Any, list[Any]]:
    """A function and its arguments."""
    image, kernel, how, _ = PROGRAMS[name]
    options = {
        "window_strides": (1, 1),
        "padding": [(1, 2), (2, 1)],
        "lhs_dilation": (2, 2),
        "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        **how,
    }
    rng = np.random.default_rng(0)
    args = [rng.normal(size=s).astype(np.float32) for s in (image, kernel)]
    return lambda x, w: jax.lax.conv_general_dilated(x, w, **options), args


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cast", ["none", "matmult"])
def test_every_phase_gives_what_xla_gives(name: str, cast: str) -> None:
    function, args = convolution(name)
    text = jax.jit(function).lower(*args).as_text("hlo")
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, cast, want, ("tiled", "virtual", "binary"))


def test_gradients_of_reversed_filters() -> None:
    """The gradient of a convolution of stride 2 with respect to its image reverses the filter."""

    def gradient(x: jax.Array, w: jax.Array, d: jax.Array) -> jax.Array:
        def forward(y: jax.Array) -> jax.Array:
            return jax.lax.conv_general_dilated(
                y, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )

        return jax.vjp(forward, x)[1](d)[0]

    rng = np.random.default_rng(0)
    shapes = ((2, 9, 12, 16), (3, 3, 16, 32), (2, 5, 6, 32))
    args = [rng.normal(size=s).astype(np.float32) for s in shapes]
    text = jax.jit(gradient, keep_unused=True).lower(*args).as_text("hlo")
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, "none", want, ("tiled", "virtual", "binary"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_zeros_are_not_multiplied(name: str) -> None:
    """There is one product for each phase that has taps."""
    function, args = convolution(name)
    text = jax.jit(function).lower(*args).as_text("hlo")
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled", tiling="always")).module
    found = [op for op in module.walk() if op.name in ("hlo.convolution", "hlo.dot")]
    assert len(found) == PROGRAMS[name][3]

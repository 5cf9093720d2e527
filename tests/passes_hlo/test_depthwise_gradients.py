"""Gradients of depthwise convolutions with respect to their kernels."""

from typing import Any

import jax
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.timing import simulate_timing
from tests.differential.stages import failures

SHAPES = [
    # batch, height, width, channels, kernel, strides
    (1, 12, 10, 24, (3, 3), (1, 1)),
    (2, 9, 11, 5, (3, 2), (1, 1)),
    (3, 20, 20, 4, (5, 5), (2, 2)),
    (2, 7, 7, 150, (3, 3), (1, 1)),  # two blocks of features
]


Sizes = tuple[int, int, int, int, tuple[int, int], tuple[int, int]]


def gradient(
    batch: int, height: int, width: int, channels: int, taps: tuple[int, int], by: tuple[int, int]
) -> tuple[str, list[Any], dict[str, Any]]:
    """HLO text of the gradient with respect to the kernel, arguments, and XLA's result."""

    def convolution(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(
            x,
            w,
            by,
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=channels,
        )

    def turned(x: jax.Array, w: jax.Array, d: jax.Array) -> jax.Array:
        return jax.vjp(lambda k: convolution(x, k), w)[1](d)[0]

    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, height, width, channels)).astype(np.float32)
    w = rng.normal(size=(*taps, 1, channels)).astype(np.float32)
    d = rng.normal(size=jax.eval_shape(convolution, x, w).shape).astype(np.float32)
    lowered = jax.jit(turned, keep_unused=True).lower(x, w, d)
    result = np.asarray(lowered.compile()(x, w, d))
    return lowered.as_text("hlo"), [x, w, d], {"out0": result}


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_xla(
    shape: Sizes,
) -> None:
    text, args, result = gradient(*shape)
    assert not failures(text, args, "none", result, ("tiled", "virtual", "binary"))
    assert not failures(text, args, "matmult", result, ("virtual", "binary"))


def test_a_large_image_takes_few_instructions() -> None:
    """Tap by tap it took minutes to compile, and more than a millisecond."""
    text, *_ = gradient(1, 28, 28, 192, (3, 3), (1, 1))
    program = compile_text(text, "trn1", CompileOptions()).program
    assert program is not None
    assert simulate_timing(program).total_ns < 150e3

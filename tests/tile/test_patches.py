"""Convolutions of patches that do not overlap are dots, and the numbers are XLA's."""

from typing import Any

import jax
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.oracle import run_xla

Sizes = tuple[int, ...]
NCHW, NHWC = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")
PROGRAMS: dict[str, tuple[Sizes, Sizes, tuple[str, str, str], Sizes]] = {
    "channels first": ((1, 3, 24, 40), (48, 3, 8, 8), NCHW, (8, 8)),
    "channels last": ((2, 24, 40, 3), (8, 8, 3, 48), NHWC, (8, 8)),
    "a rest of the image": ((2, 40, 19, 14), (24, 40, 2, 3), NCHW, (2, 3)),
    "mixed layouts": ((2, 19, 14, 40), (24, 40, 2, 3), ("NHWC", "OIHW", "NCHW"), (2, 3)),
    "one dimension": ((3, 64, 21), (32, 64, 4), ("NCH", "OIH", "NCH"), (4,)),
}


def convolution(name: str) -> tuple[str, list[Any]]:
    """HLO text and arguments."""
    image, kernel, dims, strides = PROGRAMS[name]
    rng = np.random.default_rng(0)
    args = [rng.normal(size=s).astype(np.float32) for s in (image, kernel)]

    def function(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, w, strides, "VALID", dimension_numbers=dims)

    return jax.jit(function).lower(*args).as_text("hlo"), args


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cast", ["none", "matmult"])
def test_the_numbers_are_those_of_xla(name: str, cast: str) -> None:
    text, args = convolution(name)
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, cast, want, ("tiled", "virtual", "binary"))
    options = CompileOptions(compile_to="tiled", tiling="always")
    names = [op.name for op in compile_text(text, "trn1", options).module.walk()]
    assert "hlo.convolution" not in names and "hlo.dot" in names


def test_a_reversed_filter() -> None:
    args = [
        np.random.default_rng(1).normal(size=s).astype(np.float32)
        for s in ((1, 40, 8, 6), (16, 40, 2, 2))
    ]

    def function(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, jax.lax.rev(w, (2, 3)), (2, 2), "VALID")

    text = jax.jit(function).lower(*args).as_text("hlo")
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, "none", want, ("tiled", "virtual", "binary"))

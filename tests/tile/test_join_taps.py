"""Convolutions of few features: taps are joined to the features, and the numbers are XLA's."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.oracle import run_xla

PROGRAMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "stem of stride 2": ((1, 37, 45, 3), (7, 7, 3, 24), {"window_strides": (2, 2)}),
    "odd sizes": ((2, 33, 21, 16), (3, 3, 16, 20), {}),
    "dilated": ((1, 40, 23, 12), (3, 3, 12, 8), {"rhs_dilation": (2, 3)}),
    "padded on one side": ((1, 35, 20, 24), (3, 2, 24, 8), {"padding": [(2, 0), (0, 3)]}),
    "cut by negative padding": ((1, 40, 20, 24), (3, 3, 24, 8), {"padding": [(-1, 1), (-2, 0)]}),
    "gaps along rows": ((1, 33, 12, 16), (4, 3, 16, 8), {"lhs_dilation": (2, 1)}),
    "features in front": (
        (1, 16, 34, 18),
        (20, 16, 3, 3),
        {"dimension_numbers": ("NCHW", "OIHW", "NCHW")},
    ),
    "three dimensions": (
        (1, 5, 9, 11, 8),
        (3, 2, 3, 8, 8),
        {"dimension_numbers": ("NDHWC", "DHWIO", "NDHWC"), "window_strides": (1, 2, 1)},
    ),
    "taps along columns alone": ((1, 36, 34, 20), (3, 1, 20, 8), {}),
}

BLOCKED = {
    "padded on one side",
    "cut by negative padding",
    "gaps along rows",
    "features in front",
}
"""Those of which blocks of columns fill more of the tensor engine than joined taps."""


def program(name: str, dtype: str) -> tuple[str, list[Any]]:
    """The HLO of a convolution and its arguments."""
    image, kernel, how = PROGRAMS[name]
    options = {
        "window_strides": (1,) * (len(image) - 2),
        "padding": "SAME",
        "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        **how,
    }
    if "lhs_dilation" in how:
        options["padding"] = [(2, 1), (1, 1)]
    rng = np.random.default_rng(0)
    args = [np.asarray(jax.numpy.asarray(rng.normal(size=s), dtype)) for s in (image, kernel)]

    def convolution(x: jax.Array, w: jax.Array) -> jax.Array:
        found: jax.Array = jax.lax.conv_general_dilated(x, w, **options)
        return found

    return jax.jit(convolution).lower(*args).as_text("hlo"), args


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("dtype", "cast"), [("float32", "none"), ("bfloat16", "matmult")])
def test_every_phase_gives_what_xla_gives(name: str, dtype: str, cast: str) -> None:
    text, args = program(name, dtype)
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, cast, want, ("tiled", "virtual", "binary"))


def tiled(text: str) -> list[Any]:
    """The ops of the tiled level."""
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled", tiling="always")).module
    return list(module.walk())


def rows(ops: Sequence[Any]) -> list[int]:
    """What the convolutions among some ops contract on partitions."""
    found = [op for op in ops if op.name == "hlo.convolution"]
    return [op.operands[0].type.get_shape()[-1] for op in found]


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - BLOCKED))
def test_taps_along_the_innermost_dimension_are_joined(name: str) -> None:
    image, kernel, how = PROGRAMS[name]
    names = how.get("dimension_numbers", ("NHWC", "HWIO", "NHWC"))[1]
    last = max((d for d in names if d not in "IO" and kernel[names.index(d)] > 1), key="DHW".index)
    wanted = kernel[names.index("I")] * kernel[names.index(last)]
    found = rows(tiled(program(name, "float32")[0]))
    assert found and all(n % wanted == 0 for n in found)  # times the rows of a block


def test_taps_of_many_features_are_left() -> None:
    """72 features with 3 taps, or with 2 rows, are more than 128 rows."""

    def convolution(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    shapes = [jax.ShapeDtypeStruct(s, "float32") for s in ((1, 32, 32, 72), (3, 3, 72, 32))]
    assert rows(tiled(jax.jit(convolution).lower(*shapes).as_text("hlo"))) == [72]

"""Depthwise kernels are written by position on diagonals, and the numbers are XLA's."""

from typing import Any

import jax
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.tile.lower.diagonals import _diagonal
from tests.differential.stages import failures
from tests.oracle import run_xla

PROGRAMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, dict[str, Any]]] = {
    "one feature for each": ((2, 9, 10, 64), (3, 3, 1, 64), 64, {}),
    "more groups than rows": ((1, 8, 7, 192), (3, 3, 1, 192), 192, {}),
    "many taps": ((2, 14, 14, 128), (7, 7, 1, 128), 128, {}),
    "two features for each": ((1, 9, 8, 32), (3, 3, 1, 64), 32, {}),
    "features in front": (
        (1, 64, 8, 9),
        (64, 1, 3, 3),
        64,
        {"dimension_numbers": ("NCHW", "OIHW", "NCHW")},
    ),
    "output features before input ones": (
        (1, 8, 9, 48),
        (3, 3, 48, 1),
        48,
        {"dimension_numbers": ("NHWC", "HWOI", "NHWC")},
    ),
    "several features in a group": ((1, 8, 9, 64), (3, 3, 8, 64), 8, {}),
    "stride and dilation": ((1, 12, 11, 64), (3, 3, 1, 64), 64, {"window_strides": (2, 2)}),
}


def program(name: str, dtype: str) -> tuple[str, list[Any]]:
    """The HLO of a grouped convolution, and its arguments."""
    image, kernel, groups, how = PROGRAMS[name]
    options = {
        "window_strides": (1, 1),
        "padding": "SAME",
        "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        **how,
    }
    rng = np.random.default_rng(0)
    args = [np.asarray(jax.numpy.asarray(rng.normal(size=s), dtype)) for s in (image, kernel)]

    def convolution(x: jax.Array, w: jax.Array) -> jax.Array:
        found: jax.Array = jax.lax.conv_general_dilated(x, w, feature_group_count=groups, **options)
        return found

    return jax.jit(convolution).lower(*args).as_text("hlo"), args


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("dtype", "cast"), [("float32", "none"), ("bfloat16", "matmult")])
def test_every_phase_gives_what_xla_gives(name: str, dtype: str, cast: str) -> None:
    text, args = program(name, dtype)
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, cast, want, ("hlo", "tiled", "virtual", "binary"))


def test_a_diagonal_is_written_by_position() -> None:
    options = CompileOptions(compile_to="virtual", tiling="always")
    text, _ = program("many taps", "float32")
    ops = [op.name for op in compile_text(text, "trn1", options).module.walk()]
    assert "nc.affine_select" in ops and "nc.copy_predicated" not in ops


def test_diagonals_are_found() -> None:
    p, a, b = np.indices((16, 3, 5))
    assert _diagonal(p == 2 * a + b + 1) == (1, [2, 1])
    assert _diagonal(p == 15 - 3 * b) == (15, [0, -3])
    assert _diagonal((p == 2 * a + b) & (b > 0)) is None
    assert _diagonal(p // 2 == b) is None
    assert _diagonal(p < 0) is None


GRADIENTS = """HloModule m

ENTRY e {
  x = f32[1,28,28,192] parameter(0)
  w = f32[3,3,192,1] parameter(1)
  d = f32[1,28,28,192] parameter(2)
  back = f32[3,3,192,1] reverse(w), dimensions={0,1}
  a = f32[1,28,28,192] convolution(d, back), window={size=3x3 pad=1_1x1_1}, \
dim_labels=b01f_01oi->b01f, feature_group_count=192
  k = f32[28,28,1,192] reshape(d)
  b = f32[1,3,3,192] convolution(x, k), window={size=28x28 pad=1_1x1_1}, \
dim_labels=b01f_01io->b01f, feature_group_count=192
  ROOT r = (f32[1,28,28,192], f32[1,3,3,192]) tuple(a, b)
}
"""


def test_an_image_with_many_readers_is_transposed_in_its_order() -> None:
    """Each of the nine products of a gradient would read distant elements otherwise."""
    options = CompileOptions(compile_to="tiled", tiling="always")
    lines = str(compile_text(GRADIENTS, "trn1", options).module).splitlines()
    products = [line for line in lines if "hlo.multiply" in line]
    assert len(products) == 9
    assert all("[28f28], [28f1]" in line and "7f" not in line for line in products)

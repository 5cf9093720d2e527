"""Blocks of rows of convolutions become features where these are few, and the numbers are XLA's."""

from typing import Any

import jax
import numpy as np
import pytest

from neuronir.dialects.tile.rules import shape_of
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.tile import space_to_depth
from neuronir.passes.tile.space_to_depth import Block, Window, joins
from tests.differential.stages import failures
from tests.oracle import run_xla

PROGRAMS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], tuple[int, int]]] = {
    "pairs of columns": ((1, 12, 14, 64), (3, 3, 64, 64), {}, (128, 128)),
    "an odd number of columns": ((2, 9, 13, 64), (3, 3, 64, 64), {}, (128, 128)),
    "stride 2": ((1, 13, 16, 32), (3, 3, 32, 64), {"window_strides": (2, 2)}, (128, 128)),
    "even taps": ((1, 8, 10, 48), (2, 4, 48, 40), {}, (96, 80)),
    "taps of a gradient": ((1, 8, 9, 64), (3, 3, 64, 48), {"reversed": True}, (128, 96)),
    "cut by negative padding": (
        (1, 10, 14, 64),
        (3, 3, 64, 64),
        {"padding": [(-1, 1), (-2, 3)]},
        (128, 128),
    ),
    "features in front": (
        (1, 64, 10, 12),
        (64, 64, 3, 3),
        {"dimension_numbers": ("NCHW", "OIHW", "NCHW")},
        (128, 128),
    ),
    "three dimensions": (
        (1, 8, 7, 6, 32),
        (3, 3, 3, 32, 32),
        {"dimension_numbers": ("NDHWC", "DHWIO", "NDHWC")},
        (128, 128),
    ),
    "columns dilated": ((1, 12, 16, 64), (3, 3, 64, 64), {"rhs_dilation": (1, 2)}, (128, 128)),
    "more features than of the result": ((1, 24, 14, 96), (3, 3, 96, 32), {}, (96, 128)),
    "pairs of rows for four of the result": ((1, 9, 25, 64), (3, 3, 64, 20), {}, (128, 80)),
    "a stride of some rows": (
        (1, 21, 33, 60),
        (5, 5, 60, 24),
        {"window_strides": (2, 2)},
        (120, 72),
    ),
    "taps of a gradient of few features": (
        (1, 12, 16, 96),
        (3, 3, 96, 40),
        {"reversed": True},
        (96, 120),
    ),
    "taps joined as well": ((1, 36, 34, 3), (7, 7, 3, 64), {"window_strides": (2, 2)}, (126, 192)),
}


@pytest.fixture(autouse=True)
def _kernels_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small images are blocked."""
    monkeypatch.setattr(space_to_depth, "KERNEL", 0.0)


def program(name: str, dtype: str) -> tuple[str, list[Any]]:
    """The HLO of a convolution between elementwise ops, and its arguments."""
    image, kernel, how, _ = PROGRAMS[name]
    options = {
        "window_strides": (1,) * (len(image) - 2),
        "padding": "SAME",
        "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
        **how,
    }
    turned = options.pop("reversed", False)
    rng = np.random.default_rng(0)
    args = [np.asarray(jax.numpy.asarray(rng.normal(size=s), dtype)) for s in (image, kernel)]

    def convolution(x: jax.Array, w: jax.Array) -> jax.Array:
        weights = w[::-1, ::-1] if turned else w
        found: jax.Array = jax.lax.conv_general_dilated(x, weights, **options)
        return jax.numpy.maximum(found, 0)

    return jax.jit(convolution).lower(*args).as_text("hlo"), args


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("dtype", "cast"), [("float32", "none"), ("bfloat16", "matmult")])
def test_every_phase_gives_what_xla_gives(name: str, dtype: str, cast: str) -> None:
    text, args = program(name, dtype)
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, cast, want, ("tiled", "virtual", "binary"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_and_columns_of_the_tensor_engine_are_filled(name: str) -> None:
    options = CompileOptions(compile_to="tiled", tiling="always")
    module = compile_text(program(name, "float32")[0], "trn1", options).module
    names = PROGRAMS[name][2].get("dimension_numbers", ("NHWC", "HWIO", "NHWC"))
    (op,) = (op for op in module.walk() if op.name == "hlo.convolution")
    inside, outside = PROGRAMS[name][3]
    d = -1 if names[0].endswith("C") else 1
    assert shape_of(op.operands[0])[d] == inside
    assert shape_of(op.results[0])[d] == outside


def test_a_block_reads_as_many_units_as_its_window_covers() -> None:
    assert Block(0, 0, 0, 2, 2).taps(3, 1) == 2
    assert Block(0, 0, 0, 4, 2).taps(7, 2) == 3
    assert Block(0, 0, 0, 8, 4).taps(4, 2) == 2
    assert Block(0, 0, 0, 1, 4).taps(3, 1) == 6
    assert Block(0, 0, 0, 2, 4).taps(3, 1) == 3


def test_a_block_is_taken_only_where_it_saves_a_fifth(monkeypatch: pytest.MonkeyPatch) -> None:
    def window(inside: int, outside: int, taps: tuple[int, int], dilation: int = 1) -> Window:
        return Window(taps, (1, 1), (dilation, dilation), (16, 16), inside, outside)

    assert window(64, 64, (3, 3)).best() == Block(3, 0, 1, 2, 2)  # instead of 9
    assert window(128, 64, (3, 3)).best() == Block(6, 0, 1, 1, 2)
    assert window(64, 32, (3, 3)).best() == Block(2.25, 0, 1, 2, 4)
    assert window(128, 128, (3, 3)).best() is None
    assert window(64, 128, (3, 3)).best() == Block(6, 0, 1, 2, 2)  # in two groups of columns
    assert window(64, 192, (3, 3)).best() == Block(9, 0, 1, 2, 2)  # three groups for two columns
    assert window(64, 64, (3, 3), 2).best() is None
    assert window(64, 64, (1, 1)).best() is None
    monkeypatch.setattr(space_to_depth, "KERNEL", 3.0)
    assert window(128, 64, (3, 3)).best() is None  # making the kernel takes longer


def test_taps_are_joined_only_where_that_saves_more() -> None:
    def window(inside: int) -> Window:
        return Window((3, 3), (1, 1), (1, 1), (16, 16), inside, 64)

    assert joins(window(3), 1)  # 1 stream with blocks of rows, else 3
    assert not joins(window(32), 1)  # 2 streams instead of 3 do not pay for the copies


def test_padding_with_other_numbers_stays() -> None:
    """A pad of ones in front of a convolution is no padding of the convolution."""
    text = """HloModule m
ENTRY e {
  x = f32[1,64,14,14] parameter(0)
  w = f32[64,64,3,3] parameter(1)
  c = f32[] constant(1)
  p = f32[1,64,16,16] pad(x, c), padding=0_0x0_0x1_1x1_1
  ROOT r = f32[1,64,14,14] convolution(p, w), window={size=3x3}, dim_labels=bf01_oi01->bf01
}
"""
    rng = np.random.default_rng(0)
    args = [rng.normal(size=s).astype(np.float32) for s in ((1, 64, 14, 14), (64, 64, 3, 3))]
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, "none", want, ("tiled", "virtual", "binary"))

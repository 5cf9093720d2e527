"""Models of the corpus's kinds at other sizes, written in jax and printed as HLO text.

Each entry of `ZOO` is a function of zoo_models.py, and what its parameters and data are in text:
`3x4` normal numbers (of a weight's size), `3x4:unit` of variance one, `:pos` for scales and
variances, `:int9` whole numbers below 9, `:mask` zeros and minus infinities, `:bf16` another type,
`-` for no dimensions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.differential import zoo_models as models

Array = NDArray[Any]


@dataclass(frozen=True)
class Model:
    """HLO text with arguments; the first `weights` parameters may be bound."""

    name: str
    text: str
    args: tuple[Array, ...]
    weights: int


@dataclass(frozen=True)
class Entry:
    """A model's function `f(params, *data)` and what it takes."""

    build: Callable[..., Any]
    params: str
    data: str


def _array(rng: np.random.Generator, spec: str) -> Array:
    dims, *kinds = spec.split(":")
    shape = () if dims == "-" else tuple(map(int, dims.split("x")))
    for kind in kinds:
        if kind.startswith("int"):
            return rng.integers(0, int(kind[3:]), shape).astype(np.int32)
    if "mask" in kinds:
        return np.where(rng.random(shape) < 0.3, -np.inf, 0.0).astype(np.float32)
    fan = prod(shape[:-1]) if len(shape) > 1 else 4
    scale = 1.0 if "unit" in kinds else 1 / np.sqrt(max(fan, 1))
    value = rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
    if "pos" in kinds:
        value = np.abs(value) + np.float32(0.5)
    return value.astype(ml_dtypes.bfloat16) if "bf16" in kinds else value


@cache
def model(name: str) -> Model:
    """The model of that name; skips the test where jax is absent."""
    jax = pytest.importorskip("jax", reason="jax prints the models; install neuronir[test]")
    from tests.oracle import reprint

    entry = ZOO[name]
    rng = np.random.default_rng(0)
    params = [_array(rng, s) for s in entry.params.split()]
    data = [_array(rng, s) for s in entry.data.split()]
    with jax.enable_x64(False):
        lowered = jax.jit(entry.build, keep_unused=True).lower(params, *data)
        text = lowered.compiler_ir(dialect="hlo").as_hlo_text(True)
    return Model(name, reprint(text), (*params, *data), len(params))


def _bert(v: int, s: int, d: int, f: int) -> str:
    layer = f"{d}x{d} {d} " * 4 + f"{d}x{f} {f} {f}x{d} {d} "
    return f"{v}x{d} {s}x{d} {d}:pos {d} " + layer * 2


def _gpt(v: int, s: int, d: int, f: int) -> str:
    norm = f"{d}:pos {d} "
    layer = f"{norm}{d}x{3 * d} {3 * d} {d}x{d} {d} {norm}{d}x{f} {f}x{d} "
    return f"{v}x{d} {s}x{d} " + layer * 2


def _llama(v: int, d: int, k: int, f: int, t: str = "") -> str:
    layer = f"{d}:pos{t} {d}x{d}{t} {d}x{k}{t} {d}x{k}{t} {d}x{d}{t} {d}:pos{t} "
    layer += f"{d}x{f}{t} {d}x{f}{t} {f}x{d}{t} "
    return f"{v}x{d}{t} " + layer * 2


def _mixer(s: int, d: int, t: int, f: int) -> str:
    return f"{d}:pos {d} {s}x{t} {t}x{s} {d}:pos {d} {d}x{f} {f}x{d} " * 2


_BN = "72:pos 72 72 72:pos"
_CNN = "3x3x3x20 20:pos 20 3x3x20x36 36 576x10 "
_ADAM = ("100x70", "70", "70x11", "11")
ZOO: dict[str, Entry] = {
    "mlp_tower": Entry(
        models.mlp_tower, "150x201 201 201x333 333 333x201 201 201x17", "33x150:unit"
    ),
    "mixed_mlp": Entry(models.mixed_mlp, "96x260:bf16 260:pos 260 260x130:bf16", "130x96:unit"),
    "mixer": Entry(models.mixer, _mixer(49, 96, 60, 200), "3x49x96:unit"),
    "cnn_strides": Entry(
        models.cnn_strides, "7x7x3x48 48 5x5x48x96 96 3x3x96x150 150 900x20 20", "2x67x67x3:unit"
    ),
    "resblock": Entry(
        models.resblock,
        f"3x3x24x72 {_BN} 3x3x72x72 {_BN} 1x1x24x72 {_BN} 3x3x72x72 {_BN} 72x10",
        "3x18x18x24:unit",
    ),
    "unet": Entry(
        models.unet, "3x3x3x16 3x3x16x32 3x3x32x64 3x3x64x32 3x3x64x32 3x3x48x2", "1x32x32x3:unit"
    ),
    "groupnorm_conv": Entry(
        models.groupnorm_conv, "40:pos 40 40x40x3x3 40:pos 40 40x40x3x3 40", "2x40x12x12:unit"
    ),
    "bert_layer": Entry(models.bert_layer, _bert(200, 40, 90, 250), "2x37:int200 2x37:int2"),
    "gpt_layer": Entry(models.gpt_layer, _gpt(301, 64, 160, 500), "3x50:int301"),
    "llama_layer": Entry(models.llama_layer, _llama(150, 192, 64, 300), "2x45:int150"),
    "llama_bf16": Entry(models.llama_bf16, _llama(130, 128, 128, 350, ":bf16"), "1x70:int130"),
    "masked_attention": Entry(models.masked_attention, "96x96 " * 4, "2x60x96:unit 2x60x60:mask"),
    "decode_step": Entry(
        models.decode_step, "128x128 " * 4, "2x1x128:unit 2x4x100x32:unit 2x4x100x32:unit -:int64"
    ),
    "gru": Entry(models.gru, "30x100 50x100 100 30x50 50x50 50 50x7", "9x4x30:unit"),
    "bilstm": Entry(models.bilstm, "110x280 280 110x280 280", "6x3x40:unit"),
    "flash": Entry(models.flash, "", "2x3x100x48:unit 2x3x120x48:unit 2x3x120x48:unit"),
    "cnn_train": Entry(models.cnn_train, _CNN * 2, "5x16x16x3:unit 5:int10"),
    "gpt_train": Entry(models.gpt_train, _gpt(97, 32, 64, 160), "2x24:int97 2x24:int97"),
    "mlp_adam": Entry(
        models.mlp_adam,
        " ".join([*_ADAM * 2, *(f"{s}:pos" for s in _ADAM)]),
        "40x100:unit 40:int11 -:int9",
    ),
    "vit": Entry(
        models.vit,
        "8x8x3x96 96 1x1x96 1x17x96 96:pos 96 96x288 288 96x96 96x384 384x96 96x10",
        "2x32x32x3:unit",
    ),
    "mobile": Entry(models.mobile, "3x3x1x32 1x1x32x48", "1x14x14x32:unit"),
    "graph": Entry(models.graph, "40x33 40x33", "50x40:unit 130:int50 130:int50"),
    "sampling": Entry(models.sampling, "64x200", "5x64:unit"),
    "top_k": Entry(models.top_k, "64x200", "5x64:unit"),
    "conv1d": Entry(models.conv1d, "2x32x64 32x20 " * 3, "2x65x32:unit"),
}

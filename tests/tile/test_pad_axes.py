"""Dimensions that do not divide over partitions are padded."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.tile.test_found import arguments
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any
PHASES = ("hlo", "tiled", "virtual", "binary")


def attention(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
    """Attention of heads x tokens x features, with a mask to add."""
    scores = jnp.einsum("hqd,hkd->hqk", q, k) * 0.125
    if mask is not None:
        scores = scores + mask
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1), v)


def causal(q: Array, k: Array, v: Array) -> Array:
    """Causal attention."""
    n = q.shape[1]
    scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), jnp.einsum("hqd,hkd->hqk", q, k), -1e9)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1), v)


def cosine(x: Array, w: Array, b: Array) -> Array:
    """Attention of unit vectors: what pads a row would be 0 / 0."""
    q = x @ w
    q = q / jnp.sqrt((q * q).sum(-1, keepdims=True))
    scores = q @ q.T + b
    return jax.nn.softmax(scores, -1) @ x


def bits(x: Array, w: Array) -> Array:
    """A product of rows whose exponents are inverted: the padding, zeros, becomes NaN."""
    y = lax.bitcast_convert_type(x @ w, jnp.int32) ^ 0x7FC00000
    y = lax.bitcast_convert_type(y, jnp.float32)
    return jnp.clip(y, -2.0, 2.0).T @ x


def gram(x: Array, w: Array) -> Array:
    """A product over rows of logarithms: the logarithm of what pads them is not finite."""
    return jnp.log(jnp.abs(x) + 0.0).T @ w


def block(x: Array, w: Array, b: Array, g: Array) -> Array:
    """Norm, projection, heads, attention and a residual."""
    n, c = x.shape
    y = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g
    y = (y @ w + b).reshape(n, 4, c // 4).transpose(1, 0, 2)
    return x + attention(y, y, y).transpose(1, 0, 2).reshape(n, c)


HEADS = (2, 197, 32)
PROGRAMS: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "attention": (attention, (HEADS,) * 3),
    "mask": (attention, (*(HEADS,) * 3, (197, 197))),
    "causal": (causal, ((2, 131, 64),) * 3),
    "cross": (attention, ((2, 137, 16), (2, 263, 16), (2, 263, 16))),
    "cosine": (cosine, ((139, 40), (40, 40), (139,))),
    "gram": (gram, ((149, 24), (149, 130))),
    "block": (block, ((197, 64), (64, 64), (64,), (64,))),
    "bits": (bits, ((139, 64), (64, 64))),
    "argument": (lambda x, y: (x, x @ y.T), ((3, 257), (140, 257))),
    "rows": (lambda x, y: jnp.maximum(x @ y.T, 0), ((1, 64), (257, 64))),
    "large": (attention, ((1, 577, 64),) * 3),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.thin(2)
def test_padded_programs_are_right(name: str, cast: str) -> None:
    """All phases agree with the interpreter on the program without padding."""
    function, shapes = PROGRAMS[name]
    text = text_of(function, *shapes)
    options = CompileOptions(compile_to="tiled", auto_cast=cast)
    module = compile_text(text, "trn1", options).module
    assert any(op.name == "hlo.pad" for op in module.walk())
    assert not failures(text, arguments(text), cast, None, PHASES)


@pytest.mark.parametrize("n", [128, 192, 256, 300])
def test_sizes_that_divide_are_left_alone(n: int) -> None:
    """Nothing is padded if half of the partitions are used without it."""
    text = text_of(attention, *((2, n, 32),) * 3)
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert not any(op.name == "hlo.pad" for op in module.walk())


def test_padding_is_not_stored() -> None:
    """Arguments are read once, and results written once: nothing goes through scratch in HBM."""
    text = text_of(attention, *((4, 197, 32),) * 3)
    program = compile_text(text, "trn1", CompileOptions(auto_cast="none", tiling="always")).program
    assert program is not None
    assert not [v for v in program.variables if v.kind == "scratch"]


def test_large_negative_scores() -> None:
    """What pads the keys takes no part in the maximum: it would make all probabilities 0."""
    text = text_of(lambda q, k, v: attention(q, k - 1000.0, v), *((1, 131, 8),) * 3)
    rng = np.random.default_rng(0)
    args = [np.abs(rng.normal(size=(1, 131, 8))).astype(np.float32) for _ in range(3)]
    assert not failures(text, args, "none", None, PHASES)


def test_ops_without_operands_are_lowered_as_a_whole() -> None:
    """A count along a prime dimension may have no layout."""
    rows, n = 384, 50257
    text = (
        jax.jit(lambda x, y: (jax.nn.log_softmax(x) * jax.nn.one_hot(y, n)).sum())
        .lower(
            jax.ShapeDtypeStruct((rows, n), jnp.float32), jax.ShapeDtypeStruct((rows,), jnp.int32)
        )
        .compiler_ir("hlo")
        .as_hlo_text()
    )
    compile_text(text, "trn1", CompileOptions(compile_to="virtual", tiling="always"))

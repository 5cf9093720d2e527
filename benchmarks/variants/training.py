"""Gradients, and steps of optimisers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.variants.draw import Draw, Program, array
from benchmarks.variants.images import NCHW, NHWC, convolved, dims, kernel


def _normed(x: Any, gain: Any) -> Any:
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain


def gradient(draw: Draw) -> Program:
    """The gradients of a network, a layer norm or an attention."""
    rows, size, heads = draw.pick(128, 200, 512), draw.pick(256, 384, 512), draw.pick(4, 8)

    def network(x: Any, first: Any, last: Any) -> Any:
        return (jax.nn.gelu(x @ first) @ last).sum()

    def gated(x: Any, first: Any, last: Any) -> Any:
        return ((jax.nn.silu(x @ first) * (x @ last)) ** 2).mean()

    def norm(x: Any, gain: Any, weight: Any) -> Any:
        return (_normed(x, gain) * weight).sum()

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("hqd,hkd->hqk", q, k) / 8
        scores = jnp.where(jnp.tril(jnp.ones((rows, rows), bool)), scores, -1e9)
        return (jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores), v) ** 2).sum()

    matrix, wide = array(rows, size), array(size, 4 * size)
    kinds: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]] = {
        "network": (network, (matrix, wide, array(4 * size, size)), (1, 2)),
        "gated": (gated, (matrix, wide, wide), (1, 2)),
        "norm": (norm, (matrix, array(size), matrix), (0, 1)),
        "attention": (attention, (array(heads, rows, 64),) * 3, (0, 1, 2)),
    }
    kind = draw.pick(*kinds)
    function, specs, of = kinds[kind]
    return Program(f"gradient_{kind}_{rows}x{size}_{heads}", jax.grad(function, of), specs)


def image_gradient(draw: Draw) -> Program:
    """The gradients of a convolution, which may be depthwise or strided."""
    side, inputs, outputs = draw.pick(14, 28, 32), draw.pick(32, 64, 128), draw.pick(64, 128)
    stride, order, depthwise = draw.pick(1, 2), draw.pick(NHWC, NCHW), draw.pick(False, False, True)
    if depthwise:
        outputs, stride = inputs, 1
    groups = inputs if depthwise else 1

    def loss(x: Any, w: Any) -> Any:
        return jnp.square(jax.nn.relu(convolved(x, w, stride, 1, groups, order))).mean()

    image = array(*dims(order, 2, side, inputs))
    weights = array(*kernel(order, 3, inputs // groups, outputs))
    name = (
        f"{order[0].lower()}_{side}x{inputs}_{outputs}s{stride}{'_depthwise' if depthwise else ''}"
    )
    return Program(f"gradient_{name}", jax.grad(loss, (0, 1)), (image, weights))


def optimiser(draw: Draw) -> Program:
    """A step of an optimiser for a matrix."""
    rows, columns = draw.pick(512, 1000, 2048), draw.pick(300, 768, 1024)

    def adamw(w: Any, g: Any, m: Any, v: Any) -> Any:
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return w - 1e-3 * (m / (jnp.sqrt(v) + 1e-8) + 0.01 * w), m, v

    def lion(w: Any, g: Any, m: Any, v: Any) -> Any:
        return w - 1e-3 * jnp.sign(0.9 * m + 0.1 * g), 0.99 * m + 0.01 * g

    def momentum(w: Any, g: Any, m: Any, v: Any) -> Any:
        m = 0.9 * m + g
        return w - 0.1 * m, m

    def adafactor(w: Any, g: Any, m: Any, v: Any) -> Any:
        square = g * g + 1e-30
        row, column = square.mean(1), square.mean(0)
        u = g * lax.rsqrt(row[:, None] * column[None] / row.mean())
        return w - 0.01 * u / jnp.maximum(1.0, jnp.sqrt((u * u).mean()))

    kinds = {"adamw": adamw, "lion": lion, "momentum": momentum, "adafactor": adafactor}
    kind = draw.pick(*kinds)
    return Program(f"{kind}_{rows}x{columns}", kinds[kind], (array(rows, columns),) * 4)

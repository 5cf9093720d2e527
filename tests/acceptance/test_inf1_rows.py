"""Rows D and E of docs/features.md on inf1: models of the published kinds, small, against XLA.

Each test bears the number of its row. Shapes are those of the public layers, made small.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.measure import inputs_of
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from tests.oracle import hlo_text, run_xla

jax = pytest.importorskip("jax")
jnp = jax.numpy
lax = jax.lax
Array = NDArray[Any]
MACHINE = get_target("inf1").machine
NHWC = ("NHWC", "HWIO", "NHWC")


def agrees(function: Callable[..., Any], *args: Array, bound: float = 0.03) -> list[Array]:
    """Compile a function for inf1 with products in bf16, run it, and compare it with XLA."""
    text = hlo_text(function, args)
    program = compile_text(text, "inf1", CompileOptions(auto_cast="matmult")).program
    assert program is not None
    outputs = run(program, inputs_of(program, args), MACHINE).outputs
    for got, expected in zip(outputs, run_xla(text, args), strict=True):
        assert got.shape == expected.shape
        scale = max(1e-3, float(np.abs(expected.astype(np.float64)).max()))
        assert np.abs(got.astype(np.float64) - expected).max() <= bound * scale
    return outputs


def refused(text: str, code: str) -> None:
    with pytest.raises(RunFailure, match=code):
        compile_text(text, "inf1", CompileOptions(auto_cast="matmult", compile_to="hlo"))


def normal(*shape: int, scale: float = 1.0, seed: int = 0) -> Array:
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return (values * scale).astype(np.float32)


def conv(x: Any, w: Any, stride: int = 1, dilation: int = 1, groups: int = 1) -> Any:
    return lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        "SAME",
        rhs_dilation=(dilation, dilation),
        dimension_numbers=NHWC,
        feature_group_count=groups,
    )


def lstm(xs: Any, w: Any, u: Any, hidden: int, reverse: bool = False) -> Any:
    """[time, batch, features] to [time, batch, hidden]."""

    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((xs.shape[1], hidden), xs.dtype)
    return lax.scan(step, (zero, zero), xs, reverse=reverse)[1]


def bert_layer(heads: int) -> Callable[..., Any]:
    """A layer of an encoder on [batch, tokens, features], with six weights."""

    def layer(x: Any, wq: Any, wk: Any, wv: Any, wo: Any, up: Any, down: Any) -> Any:
        def split(y: Any) -> Any:
            return y.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)

        q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
        p = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / q.shape[-1] ** 0.5)
        y = x + (p @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ wo
        y = (y - y.mean(-1, keepdims=True)) / jnp.sqrt(y.var(-1, keepdims=True) + 1e-12)
        return y + jax.nn.gelu(y @ up, approximate=False) @ down

    return layer


def test_d01_static_recurrence() -> None:
    agrees(
        lambda xs, w, u: lstm(xs, w, u, 32),
        normal(6, 4, 16),
        normal(16, 128, scale=0.2),
        normal(32, 128, scale=0.2, seed=1),
    )


def test_d01_long_recurrence_stays_a_loop() -> None:
    """40 steps of an LSTM are 1,500 ops; the encoder unrolls them, not the compiler."""
    args = (normal(40, 4, 16), normal(16, 128, scale=0.2), normal(32, 128, scale=0.2, seed=1))

    def function(xs: Any, w: Any, u: Any) -> Any:
        return lstm(xs, w, u, 32), lstm(xs, w, u, 32, reverse=True)

    agrees(function, *args)
    tiled = CompileOptions(auto_cast="matmult", compile_to="tiled")
    module = compile_text(hlo_text(function, args), "inf1", tiled).module
    assert any(op.name == "scf.for" for op in module.walk())


def test_d01_control_flow_on_data_is_refused() -> None:
    text = hlo_text(
        lambda x: lax.while_loop(lambda v: v.sum() < 9, lambda v: v * 2, x), [normal(4)]
    )
    refused(text, "NIR_DYNAMIC_WHILE")


@pytest.mark.parametrize("layout", ["NHWC", "NCHW", "CNHW"])
def test_d02_layouts_of_activations(layout: str) -> None:
    order = ["NHWC".index(c) for c in layout]
    x, w = normal(2, 8, 8, 16), normal(3, 3, 16, 32, scale=0.1)

    def function(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=(layout, "HWIO", layout)
        )

    agrees(function, np.ascontiguousarray(x.transpose(order)), w)


def test_d08_products_of_integers_are_exact() -> None:
    """The published compiler has no INT8; here products of integers are exact."""
    rng = np.random.default_rng(8)
    small = [rng.integers(-128, 128, shape).astype(np.int8) for shape in ((16, 64), (64, 16))]

    def product(x: Any, w: Any) -> Any:
        return lax.dot(x, w, preferred_element_type=jnp.int32)

    agrees(product, *small, bound=0)
    agrees(product, *(array.astype(np.int32) * 1000 for array in small), bound=0)


def test_d09_fp64_is_refused() -> None:
    refused(
        "HloModule m\nENTRY e {\n x = f64[4] parameter(0)\n ROOT y = f64[4] add(x, x)\n}\n", "f64"
    )


def test_d11_lstm_of_900_steps() -> None:
    """The longest recurrence of the first release; the encoder writes 900 iterations."""
    args = (normal(900, 1, 16), normal(16, 128, scale=0.2), normal(32, 128, scale=0.2, seed=1))
    agrees(lambda xs, w, u: lstm(xs, w, u, 32), *args)


@pytest.mark.slow
def test_d11_convolutions_of_480_by_480_in_fp16_at_batch_4() -> None:
    """The largest images of the first release, with the layers of a classifier."""

    def classifier(x: Any, *kernels: Any) -> Any:
        for kernel in kernels[:-1]:
            x = jax.nn.relu(conv(x, kernel, stride=2))
        return x.mean((1, 2)) @ kernels[-1]

    widths = (3, 16, 32, 64, 128)
    kernels = [
        normal(3, 3, i, o, scale=(9 * i / 2) ** -0.5)
        for i, o in zip(widths, widths[1:], strict=False)
    ]
    arrays = (normal(4, 480, 480, 3), *kernels, normal(128, 10, scale=0.1))
    agrees(classifier, *(a.astype(np.float16) for a in arrays), bound=0.05)


@pytest.mark.slow
def test_d11_an_encoder_layer_of_bert_and_an_mlp_at_batch_8() -> None:
    """A layer of BERT base on 128 tokens, and a perceptron of its width."""
    square = [normal(768, 768, scale=0.03, seed=i) for i in range(4)]
    wide = [normal(768, 3072, scale=0.03), normal(3072, 768, scale=0.02)]
    agrees(bert_layer(12), normal(8, 128, 768), *square, *wide)
    agrees(lambda x, up, down: jax.nn.relu(x @ up) @ down, normal(8, 768), *wide)


def test_d14_d15_one_hot_runs_on_the_device_and_is_deterministic() -> None:
    tokens = np.random.default_rng(4).integers(0, 50, (4, 12)).astype(np.int32)
    first = agrees(lambda t: jax.nn.one_hot(t, 50, dtype=jnp.float32), tokens, bound=0)
    again = agrees(lambda t: jax.nn.one_hot(t, 50, dtype=jnp.float32), tokens, bound=0)
    assert np.array_equal(first[0], again[0])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(3, 4), (1,), (), (2, 1, 5)])
def test_d16_takes_of_all_axes_and_shapes(shape: tuple[int, ...], axis: int) -> None:
    taken = np.random.default_rng(5).integers(0, 7, shape).astype(np.int32)
    table = normal(9, 7, 8)
    agrees(lambda t, i: jnp.take(t, i, axis=axis, mode="clip"), table, taken, bound=0)


def test_d16_takes_of_long_and_short_tables() -> None:
    taken = np.random.default_rng(5).integers(0, 1000, (130,)).astype(np.int32)
    take = functools.partial(jnp.take, axis=0, mode="clip")
    agrees(take, normal(1000, 3), taken, bound=0)
    agrees(take, normal(1, 300), taken, bound=0)
    agrees(take, normal(40), taken % 40, bound=0)


@pytest.mark.parametrize("size", [(16, 16), (5, 11), (3, 8)])
@pytest.mark.parametrize("method", ["nearest", "bilinear"])
def test_d17_resizing(method: str, size: tuple[int, int]) -> None:
    agrees(lambda x: jax.image.resize(x, (1, *size, 8), method), normal(1, 8, 8, 8), bound=0.02)


def bottleneck(x: Any, a: Any, b: Any, c: Any) -> Any:
    y = jax.nn.relu(conv(x, a))
    y = jax.nn.relu(conv(y, b))
    return jax.nn.relu(conv(y, c) + x)


def test_e01_resnet_bottleneck_in_fp16() -> None:
    arrays = (
        normal(5, 14, 14, 64),
        normal(1, 1, 64, 16, scale=0.1),
        normal(3, 3, 16, 16, scale=0.1),
        normal(1, 1, 16, 64, scale=0.1),
    )
    agrees(bottleneck, *(a.astype(np.float16) for a in arrays), bound=0.05)


@pytest.mark.parametrize("batch", [1, 4, 6, 8])
def test_e02_bert_layer(batch: int) -> None:
    square = [normal(64, 64, scale=0.1, seed=i) for i in range(4)]
    wide = [normal(64, 256, scale=0.1), normal(256, 64, scale=0.1)]
    agrees(bert_layer(2), normal(batch, 32, 64), *square, *wide)


def test_e03_heads_of_ssd_and_yolo() -> None:
    """Features of two scales, leaky activations, upsampling, a head with boxes and classes."""

    def yolo(x: Any, a: Any, b: Any, head: Any) -> Any:
        fine = jax.nn.leaky_relu(conv(x, a), 0.1)
        coarse = jax.nn.leaky_relu(conv(fine, b, stride=2), 0.1)
        up = jnp.repeat(jnp.repeat(coarse, 2, 1), 2, 2)
        out = conv(jnp.concatenate([fine, up], -1), head).reshape(1, 8, 8, 3, 7)
        return jax.nn.sigmoid(out[..., :2]), jnp.exp(out[..., 2:4]), jax.nn.sigmoid(out[..., 4:])

    agrees(
        yolo,
        normal(1, 8, 8, 8),
        normal(3, 3, 8, 16, scale=0.1),
        normal(3, 3, 16, 16, scale=0.1),
        normal(1, 1, 32, 21, scale=0.1),
    )


def test_e03_vgg_block() -> None:
    def vgg(x: Any, a: Any, b: Any, dense: Any) -> Any:
        y = jax.nn.relu(conv(jax.nn.relu(conv(x, a)), b))
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jax.nn.softmax(y.reshape(2, -1) @ dense)

    agrees(
        vgg,
        normal(2, 8, 8, 3),
        normal(3, 3, 3, 16, scale=0.2),
        normal(3, 3, 16, 16, scale=0.1),
        normal(256, 10, scale=0.1),
    )


def test_e04_posenet_depthwise_and_openpose_stages() -> None:
    def pose(x: Any, depth: Any, point: Any, stage: Any) -> Any:
        y = jnp.clip(conv(x, depth, groups=16), 0, 6)
        features = jnp.clip(conv(y, point), 0, 6)
        maps = conv(features, stage)
        return jax.nn.sigmoid(conv(jnp.concatenate([features[..., :8], maps], -1), stage))

    agrees(
        pose,
        normal(1, 12, 12, 16),
        normal(3, 3, 1, 16, scale=0.3),
        normal(1, 1, 16, 16, scale=0.2),
        normal(3, 3, 16, 8, scale=0.1),
    )


def test_e05_prosotron_encoder() -> None:
    """Convolutions over time and an LSTM in both directions."""

    def encoder(x: Any, kernel: Any, w: Any, u: Any) -> Any:
        y = lax.conv_general_dilated(
            x, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        )
        y = jax.nn.relu(y).transpose(1, 0, 2)
        both = [lstm(y, w, u, 16), lstm(y, w, u, 16, reverse=True)]
        return jnp.concatenate(both, -1)

    agrees(
        encoder,
        normal(1, 8, 32),
        normal(5, 32, 32, scale=0.1),
        normal(32, 64, scale=0.2),
        normal(16, 64, scale=0.2),
    )


def test_e06_parallel_wavenet_layer() -> None:
    def wave(x: Any, kernel: Any, out: Any) -> Any:
        y = lax.conv_general_dilated(
            x, kernel, (1,), [(4, 0)], rhs_dilation=(4,), dimension_numbers=("NWC", "WIO", "NWC")
        )
        a, b = jnp.split(y, 2, -1)
        return x + (jnp.tanh(a) * jax.nn.sigmoid(b)) @ out

    agrees(wave, normal(1, 64, 32), normal(2, 32, 64, scale=0.1), normal(32, 32, scale=0.1))


def test_e06_gnmt_step_with_attention() -> None:
    def decoder(xs: Any, memory: Any, w: Any, u: Any) -> Any:
        hidden = lstm(xs, w, u, 32)
        scores = jnp.einsum("tbh,sbh->tbs", hidden, memory)
        return jnp.einsum("tbs,sbh->tbh", jax.nn.softmax(scores), memory)

    agrees(
        decoder,
        normal(4, 2, 32),
        normal(5, 2, 32),
        normal(32, 128, scale=0.2),
        normal(32, 128, scale=0.2, seed=1),
    )


def _mlp(x: Any, *layers: Any) -> Any:
    for w, b in zip(layers[::2], layers[1::2], strict=True):
        x = jax.nn.relu(x @ w.T + b)
    return jax.nn.log_softmax(x)


EXAMPLES: Sequence[tuple[str, Callable[..., Any], tuple[Array, ...]]] = (
    (
        "mlp",
        _mlp,
        (
            normal(1, 784),
            *(normal(120, 784, scale=0.03), normal(120)),
            *(normal(84, 120, scale=0.1), normal(84)),
            *(normal(10, 84, scale=0.1), normal(10)),
        ),
    ),
    (
        "conv2d",
        lambda x, w, b: conv(x, w) + b + 1,
        (normal(1, 3, 3, 1), normal(3, 3, 1, 1), normal(1)),
    ),
    ("2x+y", lambda x, y: 2 * x + y, (normal(1, 2, 3), normal(1, 2, 3, seed=1))),
)


@pytest.mark.parametrize(("name", "function", "args"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_e08_examples_of_the_tracing_page(
    name: str, function: Callable[..., Any], args: tuple[Array, ...]
) -> None:
    agrees(function, *args)

"""Whole networks of the published kinds in JAX, from the public shapes of their layers.

A network is a function of a `Weights` and its input. Images are [batch, height, width, channels],
sequences [time, batch, features]. Norms of inference are folded into the convolutions before them,
as compilers do, so each convolution has a bias.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from numpy.typing import NDArray

Array = NDArray[Any]


class Weights:
    """The weights of a network: drawn in a first trace, and given in the next ones."""

    def __init__(self, given: Sequence[Any] | None = None, dtype: Any = np.float32) -> None:
        self.given = None if given is None else list(given)
        self.drawn: list[Array] = []
        self.dtype = dtype
        self.used = 0

    def take(self, *shape: int, fan_in: int, gain: float = 2.0) -> Any:
        """Return a weight of a variance of gain / fan_in."""
        self.used += 1
        if self.given is not None:
            return self.given[self.used - 1]
        rng = np.random.default_rng(len(self.drawn))
        values = rng.standard_normal(shape, np.float32) * sqrt(gain / fan_in)
        self.drawn.append(values.astype(self.dtype))
        return jnp.asarray(self.drawn[-1])


Network = Callable[[Weights, Any], Any]


def with_weights(network: Network, x: Array) -> tuple[Callable[..., Any], list[Array]]:
    """Return a function of x and the weights, and its arguments."""
    weights = Weights(dtype=x.dtype)
    jax.eval_shape(lambda value: network(weights, value), x)
    return (lambda value, *given: network(Weights(given), value)), [x, *weights.drawn]


def conv(
    w: Weights,
    x: Any,
    features: int,
    size: int = 3,
    stride: int = 1,
    dilation: int = 1,
    padding: str | Sequence[tuple[int, int]] = "SAME",
    groups: int = 1,
    gain: float = 2.0,
) -> Any:
    """A convolution of an image or a sequence of images of any rank, with a bias."""
    rank = x.ndim - 2
    channels = x.shape[-1] // groups
    kernel = w.take(*[size] * rank, channels, features, fan_in=channels * size**rank, gain=gain)
    spatial = "HWD"[:rank]
    y = lax.conv_general_dilated(
        x,
        kernel,
        [stride] * rank,
        padding,
        rhs_dilation=[dilation] * rank,
        dimension_numbers=(f"N{spatial}C", f"{spatial}IO", f"N{spatial}C"),
        feature_group_count=groups,
    )
    return y + w.take(features, fan_in=100)


def pool(x: Any, size: int, stride: int, padding: str = "SAME") -> Any:
    window, strides = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, np.array(-np.inf, x.dtype), lax.max, window, strides, padding)


def dense(w: Weights, x: Any, features: int, gain: float = 1.0) -> Any:
    return x @ w.take(x.shape[-1], features, fan_in=x.shape[-1], gain=gain) + w.take(
        features, fan_in=100
    )


def leaky(x: Any) -> Any:
    return jnp.where(x > 0, x, x * jnp.asarray(0.1, x.dtype))


def relu_conv(
    w: Weights, x: Any, features: int, size: int = 3, stride: int = 1, **more: Any
) -> Any:
    return jax.nn.relu(conv(w, x, features, size, stride, **more))


def resnet(blocks: Sequence[int]) -> Network:
    """ResNet v2 (pre-activation) of bottleneck blocks, such as [3, 4, 6, 3] for ResNet-50."""

    def network(w: Weights, x: Any) -> Any:
        x = pool(conv(w, x, 64, 7, 2), 3, 2)
        for stage, count in enumerate(blocks):
            width = 64 << stage
            for block in range(count):
                stride = 2 if block == 0 and stage else 1
                y = jax.nn.relu(x)
                kept = conv(w, y, 4 * width, 1, stride) if block == 0 else x
                y = relu_conv(w, y, width, 1)
                y = relu_conv(w, y, width, 3, stride)
                x = kept + conv(w, y, 4 * width, 1, gain=0.1)
        return dense(w, jax.nn.relu(x).mean((1, 2)), 1000)

    return network


def vgg(w: Weights, x: Any, widths: Sequence[Sequence[int]]) -> list[Any]:
    """Return the features of each stage of 3 x 3 convolutions, before its pooling."""
    found = []
    for stage, layers in enumerate(widths):
        x = x if stage == 0 else pool(x, 2, 2)
        for features in layers:
            x = relu_conv(w, x, features)
        found.append(x)
    return found


VGG16 = [[64] * 2, [128] * 2, [256] * 3, [512] * 3, [512] * 3]


def ssd300(w: Weights, x: Any) -> Any:
    """SSD-300 on VGG-16: six feature maps with boxes and scores of 21 classes, concatenated."""
    stages = vgg(w, x, VGG16)
    x = pool(stages[4], 3, 1)
    x = relu_conv(w, x, 1024, dilation=6)
    x = relu_conv(w, x, 1024, 1)
    maps = [stages[3], x]
    for middle, features, stride in ((256, 512, 2), (128, 256, 2), (128, 256, 1), (128, 256, 1)):
        x = relu_conv(w, x, middle, 1)
        x = relu_conv(w, x, features, 3, stride, padding="SAME" if stride == 2 else "VALID")
        maps.append(x)
    found = []
    for value, boxes in zip(maps, (4, 6, 6, 6, 4, 4), strict=True):
        y = conv(w, value, boxes * 25, gain=1.0)
        found.append(y.reshape(x.shape[0], -1, 25))
    return jnp.concatenate(found, 1)


def darknet53(w: Weights, x: Any) -> list[Any]:
    x = leaky(conv(w, x, 32))
    found = []
    for stage, count in enumerate((1, 2, 8, 8, 4)):
        width = 64 << stage
        x = leaky(conv(w, x, width, 3, 2))
        for _ in range(count):
            y = leaky(conv(w, x, width // 2, 1))
            x = x + leaky(conv(w, y, width, gain=0.5))
        found.append(x)
    return found[2:]


def twice(x: Any) -> Any:
    """Each pixel as two by two."""
    n, height, width, channels = x.shape
    x = jnp.broadcast_to(x[:, :, None, :, None], (n, height, 2, width, 2, channels))
    return x.reshape(n, 2 * height, 2 * width, channels)


def yolo_v3(w: Weights, x: Any) -> list[Any]:
    """YOLO v3: three heads of 3 boxes with 85 values."""
    maps = darknet53(w, x)
    found = []
    route = None
    for x, width in zip(reversed(maps), (512, 256, 128), strict=True):
        if route is not None:
            x = jnp.concatenate([twice(leaky(conv(w, route, width, 1))), x], -1)
        for _ in range(2):
            x = leaky(conv(w, leaky(conv(w, x, width, 1)), 2 * width))
        route = leaky(conv(w, x, width, 1))
        found.append(conv(w, leaky(conv(w, route, 2 * width)), 255, 1, gain=1.0))
    return found


def csp_darknet53(w: Weights, x: Any) -> list[Any]:
    """Darknet-53 with stages of two branches, of which one has the residuals (CSPNet)."""

    def mish(x: Any, features: int, size: int = 1, stride: int = 1, gain: float = 2.0) -> Any:
        return jax.nn.mish(conv(w, x, features, size, stride, gain=gain))

    x = mish(x, 32, 3)
    found = []
    for stage, count in enumerate((1, 2, 8, 8, 4)):
        width = 64 << stage
        half = width // 2 if stage else width
        x = mish(x, width, 3, 2)
        kept, y = mish(x, half), mish(x, half)
        for _ in range(count):
            y = y + mish(mish(y, width // 2), half, 3, gain=0.5)
        x = mish(jnp.concatenate([mish(y, half), kept], -1), width)
        found.append(x)
    return found[2:]


def yolo_v4(w: Weights, x: Any) -> list[Any]:
    """YOLO v4: spatial pyramid pooling, paths up and down (PANet), the heads of YOLO v3."""

    def block(x: Any, width: int, layers: int) -> Any:
        for layer in range(layers):
            x = leaky(conv(w, x, width << layer % 2, 1 + 2 * (layer % 2)))
        return x

    *maps, top = csp_darknet53(w, x)
    x = block(top, 512, 3)
    paths = [block(jnp.concatenate([*(pool(x, n, 1) for n in (13, 9, 5)), x], -1), 512, 3)]
    for x, width in zip(reversed(maps), (256, 128), strict=True):
        up = twice(block(paths[0], width, 1))
        paths.insert(0, block(jnp.concatenate([block(x, width, 1), up], -1), width, 5))
    x = paths.pop(0)
    found = []
    for width in (128, 256, 512):
        if width > 128:
            down = leaky(conv(w, x, width, 3, 2))
            x = block(jnp.concatenate([down, paths.pop(0)], -1), width, 5)
        found.append(conv(w, leaky(conv(w, x, 2 * width)), 255, 1, gain=1.0))
    return found


def posenet(w: Weights, x: Any) -> list[Any]:
    """PoseNet on MobileNet v1 at an output stride of 16: heat maps, offsets, displacements."""
    x = jnp.clip(conv(w, x, 32, 3, 2), 0, 6)
    dilation = 1
    for features, stride in (
        [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
        + [(512, 1)] * 5
        + [(1024, 1)] * 2
    ):
        x = jnp.clip(
            conv(w, x, x.shape[-1], 3, stride, dilation, groups=x.shape[-1], gain=4.0), 0, 6
        )
        x = jnp.clip(conv(w, x, features, 1), 0, 6)
    heat = jax.nn.sigmoid(conv(w, x, 17, 1, gain=1.0))
    return [heat, *(conv(w, x, features, 1, gain=1.0) for features in (34, 32, 32))]


def openpose(w: Weights, x: Any) -> list[Any]:
    """OpenPose: VGG-19's first ten layers, a first stage of 3 x 3 and five of 7 x 7."""
    features = vgg(w, x, [[64] * 2, [128] * 2, [256] * 4, [512] * 2])[-1]
    features = relu_conv(w, relu_conv(w, features, 256), 128)
    state = features
    found: list[Any] = []
    for stage in range(6):
        found = []
        for outputs in (38, 19):
            y = state
            sizes = [3, 3, 3] if stage == 0 else [7] * 5
            for size in sizes:
                y = relu_conv(w, y, 128, size)
            y = relu_conv(w, y, 512 if stage == 0 else 128, 1)
            found.append(conv(w, y, outputs, 1, gain=1.0))
        state = jnp.concatenate([*found, features], -1)
    return found


def wavenet(w: Weights, x: Any) -> Any:
    """Gated dilated causal convolutions of 64 features: three stacks of ten layers."""
    x = conv(w, x, 64, 1, gain=1.0)
    skips = 0.0
    for layer in range(30):
        dilation = 1 << layer % 10
        y = conv(w, x, 128, 2, dilation=dilation, padding=[(dilation, 0)], gain=1.0)
        y = jnp.tanh(y[..., :64]) * jax.nn.sigmoid(y[..., 64:])
        skips = skips + conv(w, y, 64, 1, gain=1.0)
        x = x + conv(w, y, 64, 1, gain=0.5)
    return conv(w, jax.nn.relu(conv(w, jax.nn.relu(skips), 64, 1)), 1, 1, gain=1.0)


def lstm(w: Weights, xs: Any, hidden: int, *, reverse: bool = False) -> Any:
    """[time, batch, features] to [time, batch, hidden]."""
    wx = w.take(xs.shape[-1], 4 * hidden, fan_in=xs.shape[-1], gain=1.0)
    wh = w.take(hidden, 4 * hidden, fan_in=hidden, gain=1.0)
    bias = w.take(4 * hidden, fan_in=100)

    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(x @ wx + h @ wh + bias, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((xs.shape[1], hidden), xs.dtype)
    return lax.scan(step, (zero, zero), xs, reverse=reverse)[1]


def both_ways(w: Weights, xs: Any, hidden: int) -> Any:
    return jnp.concatenate([lstm(w, xs, hidden), lstm(w, xs, hidden, reverse=True)], -1)


def attention(w: Weights, queries: Any, memory: Any, width: int) -> Any:
    """Attention of [time, batch, features] over [memory, batch, features]."""
    q, k, v = (dense(w, x, width) for x in (queries, memory, memory))
    scores = jnp.einsum("tbd,sbd->bts", q, k) / sqrt(width)
    return jnp.einsum("bts,sbd->tbd", jax.nn.softmax(scores, -1), v)


def gnmt(w: Weights, xs: Any) -> Any:
    """GNMT's encoder of one layer in both directions and three more, and a decoder with attention
    whose inputs are given (the second half of the sequence)."""
    half = xs.shape[0] // 2
    memory = both_ways(w, xs[:half], 512)
    for layer in range(3):
        y = lstm(w, memory, 1024)
        memory = y if layer == 0 else memory + y
    y = lstm(w, xs[half:], 1024)
    context = attention(w, y, memory, 1024)
    for layer in range(3):
        z = lstm(w, jnp.concatenate([y, context], -1), 1024)
        y = z if layer == 0 else y + z
    return dense(w, y, 4096)


def prosotron(w: Weights, xs: Any) -> Any:
    """A speech synthesiser's encoder (three convolutions, an LSTM in both directions) and decoder
    (an LSTM with attention), with the shapes of Tacotron 2."""
    x = jnp.moveaxis(xs, 0, 1)
    for _ in range(3):
        x = jax.nn.relu(conv(w, x, 512, 5))
    memory = both_ways(w, jnp.moveaxis(x, 1, 0), 256)
    y = lstm(w, jax.nn.relu(dense(w, memory, 256, gain=2.0)), 1024)
    context = attention(w, y, memory, 128)
    return dense(w, lstm(w, jnp.concatenate([y, context], -1), 1024), 80)

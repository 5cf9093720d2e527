"""The functions of the zoo in jax: each takes a list of parameters, and data.

jax is imported in them, so that the names of the zoo are known where it is absent.
"""

from typing import Any

import numpy as np


def _relu(x: Any) -> Any:
    import jax

    return jax.nn.relu(x)


def _norm(x: Any, g: Any, b: Any, eps: float = 1e-5) -> Any:
    import jax.numpy as jnp

    m = jnp.mean(x, -1, keepdims=True)
    v = jnp.mean((x - m) ** 2, -1, keepdims=True)
    return (x - m) / jnp.sqrt(v + eps) * g + b


def _rms(x: Any, g: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * g


def _heads(x: Any, h: int) -> Any:
    b, s, d = x.shape
    return x.reshape(b, s, h, d // h).transpose(0, 2, 1, 3)


def _attend(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    import jax
    import jax.numpy as jnp

    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(np.float32)
    if mask is not None:
        s = s + mask if mask.dtype != bool else jnp.where(mask, s, -1e9)
    o = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, -1), v)
    b, h, n, d = o.shape
    return o.transpose(0, 2, 1, 3).reshape(b, n, h * d)


def mlp_tower(p: Any, x: Any) -> Any:
    """Widths that no tile divides, a skip over two layers, three outputs."""
    import jax
    import jax.numpy as jnp

    a = jnp.tanh(x @ p[0] + p[1])
    b = jax.nn.gelu(a @ p[2] + p[3])
    c = jax.nn.silu(b @ p[4] + p[5]) + a
    return jax.nn.softmax(c @ p[6]), c, jnp.argmax(c @ p[6], -1)


def mixed_mlp(p: Any, x: Any) -> Any:
    """bf16 products, fp32 norms between."""
    import jax
    import jax.numpy as jnp

    h = x.astype(jnp.bfloat16) @ p[0]
    h = _norm(h.astype(jnp.float32), p[1], p[2]).astype(jnp.bfloat16)
    h = jax.nn.gelu(h) @ p[3]
    return jax.nn.log_softmax(h.astype(jnp.float32))


def mixer(p: Any, x: Any) -> Any:
    """MLP-mixer: products along tokens and along channels."""
    import jax
    import jax.numpy as jnp

    for i in (0, 1):
        q = p[8 * i : 8 * i + 8]
        y = _norm(x, q[0], q[1]).transpose(0, 2, 1)
        x = x + (jax.nn.gelu(y @ q[2]) @ q[3]).transpose(0, 2, 1)
        x = x + jax.nn.gelu(_norm(x, q[4], q[5]) @ q[6]) @ q[7]
    return jnp.mean(x, 1)


def _conv(x: Any, w: Any, stride: int = 1, pad: Any = "SAME", **more: Any) -> Any:
    import jax

    return jax.lax.conv_general_dilated(
        x, w, (stride, stride), pad, dimension_numbers=("NHWC", "HWIO", "NHWC"), **more
    )


def _pool(x: Any, kind: str, k: int, s: int, pad: str = "VALID") -> Any:
    import jax

    first, f = (-np.inf, jax.lax.max) if kind == "max" else (0.0, jax.lax.add)
    y = jax.lax.reduce_window(x, np.float32(first), f, (1, k, k, 1), (1, s, s, 1), pad)
    return y if kind == "max" else y / np.float32(k * k)


def cnn_strides(p: Any, x: Any) -> Any:
    """AlexNet-like: 7x7 stride 3, overlapping pools, 5x5, average pool."""
    import jax

    x = _pool(_relu(_conv(x, p[0], 3, "VALID") + p[1]), "max", 3, 2)
    x = _pool(_relu(_conv(x, p[2], 1, ((2, 1), (0, 2))) + p[3]), "avg", 3, 2, "SAME")
    x = jax.nn.elu(_conv(x, p[4], 2, "SAME") + p[5])
    x = x.reshape(x.shape[0], -1)
    return x @ p[6] + p[7]


def resblock(p: Any, x: Any) -> Any:
    """Two residual blocks with inference batch norms, one with a projection, NHWC, batch 3."""
    import jax
    import jax.numpy as jnp

    def bn(x: Any, q: Any) -> Any:
        return (x - q[2]) * jax.lax.rsqrt(q[3] + 1e-5) * q[0] + q[1]

    y = _relu(bn(_conv(x, p[0], 2), p[1:5]))
    y = bn(_conv(y, p[5]), p[6:10])
    x = _relu(y + bn(_conv(x, p[10], 2, "VALID"), p[11:15]))
    y = _relu(bn(_conv(x, p[15]), p[16:20]))
    return jnp.mean(_relu(x + y), (1, 2)) @ p[20]


def unet(p: Any, x: Any) -> Any:
    """Down, up by a transposed convolution, a skip by concatenation, up by nearest repeat."""
    import jax
    import jax.numpy as jnp

    a = _relu(_conv(x, p[0]))
    b = _relu(_conv(_pool(a, "max", 2, 2), p[1]))
    c = _relu(_conv(_pool(b, "max", 2, 2), p[2]))
    u = jax.lax.conv_transpose(c, p[3], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    u = _relu(_conv(jnp.concatenate([u, b], -1), p[4]))
    u = jnp.repeat(jnp.repeat(u, 2, 1), 2, 2)
    u = jnp.concatenate([a, u], -1)
    return jax.nn.sigmoid(_conv(u, p[5]))


def groupnorm_conv(p: Any, x: Any) -> Any:
    """Convolutions with group norm and silu, as in diffusion models; NCHW."""
    import jax
    import jax.numpy as jnp

    def gn(x: Any, g: Any, b: Any) -> Any:
        n, c, h, w = x.shape
        y = x.reshape(n, 4, c // 4, h, w)
        m = y.mean((2, 3, 4), keepdims=True)
        v = y.var((2, 3, 4), keepdims=True)
        y = ((y - m) * jax.lax.rsqrt(v + 1e-5)).reshape(x.shape)
        return y * g[:, None, None] + b[:, None, None]

    def conv(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))

    y = conv(jax.nn.silu(gn(x, p[0], p[1])), p[2])
    return x + conv(jax.nn.silu(gn(y, p[3], p[4])), p[5]) + p[6][:, None, None], jnp.max(y)


def bert_layer(p: Any, ids: Any, mask: Any, heads: int = 6) -> Any:
    """Embedding, post-norm layers, an additive mask of -1e9, pooler; batch 2."""
    import jax
    import jax.numpy as jnp

    x = _norm(p[0][ids] + p[1][: ids.shape[1]], p[2], p[3])
    m = (1.0 - mask[:, None, None, :].astype(jnp.float32)) * -1e9
    for i in (0, 1):
        q = p[4 + 12 * i : 16 + 12 * i]
        qh, kh, vh = (_heads(x @ q[j] + q[j + 1], heads) for j in (0, 2, 4))
        a = _attend(qh, kh, vh, m)
        x = _norm(x + a @ q[6] + q[7], p[2], p[3], 1e-12)
        x = _norm(x + jax.nn.gelu(x @ q[8] + q[9], approximate=False) @ q[10] + q[11], p[2], p[3])
    return x, jnp.tanh(x[:, 0] @ p[4] + p[5])


def gpt_layer(p: Any, ids: Any, heads: int = 5) -> Any:
    """Pre-norm, a joint qkv product split, a causal mask by iota, tied logits."""
    import jax
    import jax.numpy as jnp

    n = ids.shape[1]
    x = p[0][ids] + p[1][:n]
    causal = jnp.tril(jnp.ones((n, n), bool))
    for i in (0, 1):
        q = p[2 + 10 * i : 12 + 10 * i]
        qkv = _norm(x, q[0], q[1]) @ q[2] + q[3]
        qh, kh, vh = (_heads(t, heads) for t in jnp.split(qkv, 3, -1))
        a = _attend(qh, kh, vh, causal)
        x = x + a @ q[4] + q[5]
        x = x + jax.nn.gelu(_norm(x, q[6], q[7]) @ q[8]) @ q[9]
    return x @ p[0].T


def _rope(x: Any) -> Any:
    import jax.numpy as jnp

    half = x.shape[-1] // 2
    f = jnp.arange(x.shape[2], dtype=jnp.float32)[:, None] / (
        10000.0 ** (jnp.arange(half, dtype=jnp.float32) / half)
    )
    c, s = jnp.cos(f), jnp.sin(f)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * c - b * s, b * c + a * s], -1)


def llama_layer(p: Any, ids: Any, heads: int = 6, kv: int = 2) -> Any:
    """RMS norm, rotary positions, grouped queries, swiglu; batch 2."""
    import jax
    import jax.numpy as jnp

    x = p[0][ids]
    n = ids.shape[1]
    causal = jnp.where(jnp.arange(n)[:, None] >= jnp.arange(n), 0.0, -jnp.inf).astype(jnp.float32)
    for i in (0, 1):
        q = p[1 + 9 * i : 10 + 9 * i]
        y = _rms(x, q[0])
        k, v = _heads(y @ q[2], kv), _heads(y @ q[3], kv)
        k, v = (jnp.repeat(t, heads // kv, 1) for t in (_rope(k), v))
        x = x + _attend(_rope(_heads(y @ q[1], heads)), k, v, causal) @ q[4]
        y = _rms(x, q[5])
        x = x + (jax.nn.silu(y @ q[6]) * (y @ q[7])) @ q[8]
    return _rms(x, p[1]) @ p[0].T


def llama_bf16(p: Any, ids: Any) -> Any:
    """The same, everything in bf16."""
    return llama_layer(p, ids, 4, 4)


def masked_attention(p: Any, x: Any, mask: Any) -> Any:
    """A mask of minus infinities as an argument."""
    q, k, v = (_heads(x @ w, 4) for w in p[:3])
    return _attend(q, k, v, mask[:, None]) @ p[3]


def decode_step(p: Any, x: Any, ks: Any, vs: Any, at: Any) -> Any:
    """One token with a cache of keys and values that it is written into."""
    import jax
    import jax.numpy as jnp

    q, k, v = (_heads(x @ w, 4) for w in p[:3])
    zero = jnp.zeros((), jnp.int32)
    ks = jax.lax.dynamic_update_slice(ks, k, (zero, zero, at, zero))
    vs = jax.lax.dynamic_update_slice(vs, v, (zero, zero, at, zero))
    seen = jnp.arange(ks.shape[2]) <= at
    return _attend(q, ks, vs, seen[None, None, None]) @ p[3], ks, vs


def gru(p: Any, xs: Any) -> Any:
    """A GRU by scan, outputs of all steps; batch 4."""
    import jax
    import jax.numpy as jnp

    def step(h: Any, x: Any) -> Any:
        z, r = jnp.split(jax.nn.sigmoid(x @ p[0] + h @ p[1] + p[2]), 2, -1)
        n = jnp.tanh(x @ p[3] + r * (h @ p[4]) + p[5])
        h = (1 - z) * h + z * n
        return h, h

    h, hs = jax.lax.scan(step, jnp.zeros((xs.shape[1], p[4].shape[0])), xs)
    return h @ p[6], hs


def bilstm(p: Any, xs: Any) -> Any:
    """Two LSTM scans, one of them in reverse."""
    import jax
    import jax.numpy as jnp

    def layer(q: Any, reverse: bool) -> Any:
        def step(c: Any, x: Any) -> Any:
            h, s = c
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ q[0] + q[1], 4, -1)
            s = jax.nn.sigmoid(f + 1) * s + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(s)
            return (h, s), h

        zero = jnp.zeros((xs.shape[1], q[1].shape[0] // 4))
        return jax.lax.scan(step, (zero, zero), xs, reverse=reverse)[1]

    return jnp.concatenate([layer(p[:2], False), layer(p[2:], True)], -1)


def flash(p: Any, q: Any, k: Any, v: Any) -> Any:
    """Online softmax over blocks of 40 keys by scan."""
    import jax
    import jax.numpy as jnp

    b, h, n, d = q.shape
    blocks = [t.reshape(b, h, -1, 40, d).transpose(2, 0, 1, 3, 4) for t in (k, v)]

    def step(carry: Any, kv: Any) -> Any:
        m, total, o = carry
        s = jnp.einsum("bhqd,bhkd->bhqk", q, kv[0]) * np.float32(d**-0.5)
        new = jnp.maximum(m, s.max(-1))
        e = jnp.exp(s - new[..., None])
        scale = jnp.exp(m - new)
        o = o * scale[..., None] + jnp.einsum("bhqk,bhkd->bhqd", e, kv[1])
        return (new, total * scale + e.sum(-1), o), None

    init = (jnp.full((b, h, n), -jnp.inf), jnp.zeros((b, h, n)), jnp.zeros((b, h, n, d)))
    (_, total, o), _ = jax.lax.scan(step, init, tuple(blocks))
    return o / total[..., None]


def _xent(logits: Any, labels: Any) -> Any:
    import jax
    import jax.numpy as jnp

    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], -1)
    return -jnp.mean(picked)


def _bn_train(x: Any, g: Any, b: Any) -> Any:
    import jax

    m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - m) * jax.lax.rsqrt(v + 1e-5) * g + b


def cnn_train(p: Any, x: Any, y: Any) -> Any:
    """A step of SGD with momentum for a CNN with batch norm and max pooling."""
    import jax

    half = len(p) // 2

    def loss(w: Any) -> Any:
        h = _pool(_relu(_bn_train(_conv(x, w[0]), w[1], w[2])), "max", 2, 2)
        h = _relu(_conv(h, w[3], 2, ((1, 1), (1, 1))) + w[4])
        return _xent(h.reshape(h.shape[0], -1) @ w[5], y)

    value, grads = jax.value_and_grad(loss)(p[:half])
    moments = [0.9 * m + g for m, g in zip(p[half:], grads, strict=True)]
    return value, [w - 0.01 * m for w, m in zip(p[:half], moments, strict=True)], moments


def gpt_train(p: Any, ids: Any, labels: Any) -> Any:
    """A step of SGD for a transformer with embeddings and tied logits."""
    import jax

    def loss(w: Any) -> Any:
        logits = gpt_layer(w, ids, 4)
        return _xent(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))

    value, grads = jax.value_and_grad(loss)(p)
    return value, [w - 0.1 * g for w, g in zip(p, grads, strict=True)]


def mlp_adam(p: Any, x: Any, y: Any, step: Any) -> Any:
    """A step of Adam with bias correction by a step count, and dropout-free decay."""
    import jax
    import jax.numpy as jnp

    n = len(p) // 3
    w, m, v = p[:n], p[n : 2 * n], p[2 * n :]

    def loss(w: Any) -> Any:
        h = _relu(x @ w[0] + w[1])
        return _xent(h @ w[2] + w[3], y)

    g = jax.grad(loss)(w)
    t = step.astype(jnp.float32) + 1
    m = [0.9 * a + 0.1 * b for a, b in zip(m, g, strict=True)]
    v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g, strict=True)]
    hat = [a / (1 - 0.9**t) for a in m]
    scale = [jnp.sqrt(a / (1 - 0.999**t)) + 1e-8 for a in v]
    return [a - 1e-3 * b / c for a, b, c in zip(w, hat, scale, strict=True)], m, v


def vit(p: Any, x: Any) -> Any:
    """Patches by a strided convolution, a class token, attention of 3 heads, batch 2."""
    import jax
    import jax.numpy as jnp

    t = _conv(x, p[0], 8, "VALID") + p[1]
    t = t.reshape(t.shape[0], -1, t.shape[-1])
    t = jnp.concatenate([jnp.broadcast_to(p[2], (t.shape[0], 1, t.shape[-1])), t], 1) + p[3]
    y = _norm(t, p[4], p[5])
    q, k, v = jnp.split(y @ p[6] + p[7], 3, -1)
    t = t + _attend(_heads(q, 3), _heads(k, 3), _heads(v, 3)) @ p[8]
    t = t + jax.nn.gelu(_norm(t, p[4], p[5]) @ p[9]) @ p[10]
    return t[:, 0] @ p[11]


def mobile(p: Any, x: Any) -> Any:
    """A depthwise separable convolution."""
    y = _relu(_conv(x, p[0], feature_group_count=x.shape[-1]))
    return _relu(_conv(y, p[1]))


def graph(p: Any, x: Any, source: Any, target: Any) -> Any:
    """A graph convolution: gather by edge, sum by segments."""
    import jax
    import jax.numpy as jnp

    messages = (x @ p[0])[source]
    total = jnp.zeros((x.shape[0], p[0].shape[1])).at[target].add(messages)
    count = jnp.zeros((x.shape[0],)).at[target].add(1.0)
    return jax.nn.leaky_relu(total / jnp.maximum(count, 1.0)[:, None] + x @ p[1])


def sampling(p: Any, x: Any) -> Any:
    """Logits to the top probabilities, by argmax and cumulative sum."""
    import jax
    import jax.numpy as jnp

    probs = jax.nn.softmax(x @ p[0])
    return jnp.argmax(probs, -1), jnp.max(probs, -1), jnp.cumsum(probs, -1)


def top_k(p: Any, x: Any) -> Any:
    """The five largest logits and where they are."""
    import jax

    return jax.lax.top_k(x @ p[0], 5)


def conv1d(p: Any, x: Any) -> Any:
    """WaveNet-like: dilated causal 1-D convolutions with gates and skips."""
    import jax
    import jax.numpy as jnp

    skip = 0.0
    for i, d in enumerate((1, 2, 4)):
        y = jax.lax.conv_general_dilated(
            x, p[2 * i], (1,), ((d, 0),), rhs_dilation=(d,), dimension_numbers=("NWC", "WIO", "NWC")
        )
        a, b = jnp.split(y, 2, -1)
        y = jnp.tanh(a) * jax.nn.sigmoid(b)
        skip = skip + y @ p[2 * i + 1]
        x = x + y
    return skip

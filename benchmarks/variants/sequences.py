"""Attention, steps of decoding, logits of a vocabulary, experts and recurrences."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.variants.draw import Draw, Program, array, indices, letter

MOST_SCORES = 80_000_000
"""Limit of attention scores of a program."""
F32 = jnp.float32


def attention(draw: Draw) -> Program:
    """Attention with a mask or a bias, grouped heads, and heads before or behind the positions."""
    heads, size = draw.pick(4, 6, 8, 12, 16), draw.pick(32, 40, 48, 64, 80, 96, 128)
    rows = draw.pick(100, 128, 197, 256, 384, 500, 512, 768, 1000, 1024)
    keys = draw.pick(rows, rows, rows, 77, 300)
    most = MOST_SCORES // (heads * rows * keys)
    batch = draw.pick(*(n for n in (1, 2, 4) if n <= most))
    groups = draw.pick(1, *(n for n in (1, 2, 4) if heads % n == 0))
    masks = (
        ("none", "pad") if keys != rows else ("none", "causal", "window", "pad", "bias", "alibi")
    )
    mask, order, width = draw.pick(*masks), draw.pick("bhsd", "bshd"), draw.pick(64, 128, 200)
    dtype = draw.float_type()

    def function(q: Any, k: Any, v: Any, *given: Any) -> Any:
        if order == "bshd":
            q, k, v = (a.transpose(0, 2, 1, 3) for a in (q, k, v))
        k, v = (jnp.repeat(a, groups, 1) for a in (k, v))
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k).astype(F32) * size**-0.5
        at = jnp.arange(rows)
        behind = at[:, None] - at
        if mask == "causal":
            scores = jnp.where(behind >= 0, scores, -1e9)
        elif mask == "window":
            scores = jnp.where((behind >= 0) & (behind < width), scores, -jnp.inf)
        elif mask == "pad":
            scores = jnp.where((given[0] > 0)[:, None, None], scores, -1e9)
        elif mask == "bias":
            scores = scores + given[0]
        elif mask == "alibi":
            slopes = 2.0 ** -jnp.arange(1, heads + 1)
            scores = scores - jnp.abs(behind) * slopes[:, None, None]
        out = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores).astype(v.dtype), v)
        return out.transpose(0, 2, 1, 3) if order == "bshd" else out

    def operand(count: int, length: int) -> Any:
        dims = (count, length) if order == "bhsd" else (length, count)
        return array(batch, *dims, size, dtype=dtype)

    more = {"pad": [indices(batch, keys)], "bias": [array(heads, rows, keys)]}.get(mask, [])
    key = operand(heads // groups, keys)
    name = f"attention_{mask}_{order}_{batch}x{heads}x{rows}x{size}_{keys}_{groups}{letter(dtype)}"
    return Program(name, function, (operand(heads, rows), key, key, *more))


def decode(draw: Draw) -> Program:
    """A step of decoding, which updates its caches."""
    batch, heads, size = draw.pick(1, 1, 4, 8), draw.pick(8, 12, 16, 32), draw.pick(64, 128)
    length = draw.pick(256, 512, 1000, 2048)
    if batch * heads * size * length > 22_000_000:
        length = 256
    dtype, width = draw.float_type(), heads * size

    def function(x: Any, keys: Any, values: Any, at: Any, *weights: Any) -> Any:
        q, k, v = ((x @ w).reshape(batch, heads, 1, size) for w in weights[:3])
        zero = jnp.zeros((), at.dtype)
        keys = lax.dynamic_update_slice(keys, k, (zero, zero, at, zero))
        values = lax.dynamic_update_slice(values, v, (zero, zero, at, zero))
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, keys).astype(F32) * size**-0.5
        scores = jnp.where(jnp.arange(length) <= at, scores, -1e9)
        out = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores).astype(dtype), values)
        return out.reshape(batch, width) @ weights[3], keys, values

    cache = array(batch, heads, length, size, dtype=dtype)
    specs = (array(batch, width, dtype=dtype), cache, cache, indices())
    weights = [array(width, width, dtype=dtype)] * 4
    return Program(
        f"decode_{batch}x{heads}x{length}x{size}{letter(dtype)}", function, (*specs, *weights)
    )


def logits(draw: Draw) -> Program:
    """Logits of a vocabulary: themselves, their argmax, a cross-entropy or its gradient."""
    rows, size = draw.pick(1, 64, 128, 300, 512), draw.pick(256, 512, 768, 1024)
    words = draw.pick(10000, 16000, 30522, 32000, 50257)
    kind, tied = (
        draw.pick("loss", "gradient", "argmax", "logits", "logsumexp"),
        draw.pick(False, True),
    )
    if kind == "gradient" and rows * words > 17_000_000:
        rows = 128
    dtype = draw.float_type()

    def product(x: Any, table: Any) -> Any:
        return (x @ (table.T if tied else table)).astype(F32)

    def loss(x: Any, table: Any, wanted: Any) -> Any:
        chances = jax.nn.log_softmax(product(x, table))
        return -jnp.take_along_axis(chances, wanted[:, None], 1).mean()

    def function(x: Any, table: Any, wanted: Any) -> Any:
        if kind == "loss":
            return loss(x, table, wanted)
        if kind == "gradient":
            return jax.grad(loss, (0, 1))(x, table, wanted)
        found = product(x, table)
        if kind == "argmax":
            return found.argmax(-1)
        if kind == "logits":
            return found
        chosen = jnp.take_along_axis(found, wanted[:, None], 1)[:, 0]
        return jax.nn.logsumexp(found, -1) - chosen

    dims = (words, size) if tied else (size, words)
    specs = (array(rows, size, dtype=dtype), array(*dims, dtype=dtype), indices(rows))
    name = f"logits_{kind}_{rows}x{size}x{words}{'_tied' if tied else ''}{letter(dtype)}"
    return Program(name, function, specs)


def experts(draw: Draw) -> Program:
    """A mixture of experts that computes all of them, and adds the best."""
    rows, size = draw.pick(64, 128, 300, 512), draw.pick(256, 512, 768)
    count, hidden, best = draw.pick(4, 8, 16), draw.pick(512, 1024), draw.pick(1, 2)

    def function(x: Any, router: Any, first: Any, second: Any) -> Any:
        scores = x @ router
        top, at = lax.top_k(scores, best)
        rounds = jnp.arange(rows)[:, None]
        share = jnp.zeros_like(scores).at[rounds, at].set(jax.nn.softmax(top))
        inner = jax.nn.silu(jnp.einsum("td,edf->tef", x, first))
        return jnp.einsum("tef,efd,te->td", inner, second, share)

    specs = (
        array(rows, size),
        array(size, count),
        array(count, size, hidden),
        array(count, hidden, size),
    )
    return Program(f"experts_{rows}x{size}_{count}x{hidden}_{best}", function, specs)


def recurrent(draw: Draw) -> Program:
    """LSTM, GRU or RNN by a scan."""
    rounds, batch = draw.pick(50, 128, 300), draw.pick(1, 8, 32)
    size, kind = draw.pick(64, 128, 256, 400), draw.pick("lstm", "gru", "rnn")
    gates = {"lstm": 4, "gru": 3, "rnn": 1}[kind]

    def lstm(state: Any, given: Any, u: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(given + h @ u, 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def gru(state: Any, given: Any, u: Any) -> Any:
        (h,) = state
        (a, b, c), (d, e, n) = jnp.split(given, 3, 1), jnp.split(h @ u, 3, 1)
        z = jax.nn.sigmoid(b + e)
        h = (1 - z) * jnp.tanh(c + jax.nn.sigmoid(a + d) * n) + z * h
        return (h,), h

    def rnn(state: Any, given: Any, u: Any) -> Any:
        h = jnp.tanh(given + state[0] @ u)
        return (h,), h

    step = {"lstm": lstm, "gru": gru, "rnn": rnn}[kind]

    def function(x: Any, w: Any, u: Any, b: Any) -> Any:
        state = (jnp.zeros((batch, size)),) * (2 if kind == "lstm" else 1)
        return lax.scan(lambda s, row: step(s, row @ w + b, u), state, x)[1]

    matrix = array(size, gates * size)
    specs = (array(rounds, batch, size), matrix, matrix, array(gates * size))
    return Program(f"{kind}_{rounds}x{batch}x{size}", function, specs)


def linear_recurrence(draw: Draw) -> Program:
    """A selective scan, or a gated linear recurrence, by a loop or by an associative scan."""
    rounds, size = draw.pick(128, 256, 500), draw.pick(128, 256, 512, 768)
    states, loop = draw.pick(0, 8, 16), draw.pick(False, True)

    def scanned(a: Any, x: Any) -> Any:
        if loop:
            start = jnp.zeros(x.shape[1:])
            return lax.scan(lambda h, ax: (ax[0] * h + ax[1],) * 2, start, (a, x))[1]
        return lax.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, x))[1]

    def selective(u: Any, step: Any, b: Any, c: Any, a: Any) -> Any:
        decay = jnp.exp(step[:, :, None] * a)
        h = scanned(decay, (step * u)[:, :, None] * b[:, None])
        return (h * c[:, None]).sum(-1)

    def gated(x: Any, gate: Any) -> Any:
        return scanned(jax.nn.sigmoid(gate), x)

    rows = array(rounds, size)
    name = f"{'loop' if loop else 'tree'}_{rounds}x{size}"
    if not states:
        return Program(f"gated_{name}", gated, (rows, rows))
    vector = array(rounds, states)
    return Program(
        f"selective_{name}x{states}", selective, (rows, rows, vector, vector, array(size, states))
    )

"""Reductions, running sums, movement, look-ups and products of matrices."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.variants.draw import Draw, Program, array, indices, letter

F32 = jnp.float32


def reduction(draw: Draw) -> Program:
    """A reduction, a softmax or a running sum of a matrix along one of its dimensions."""
    rows, columns = draw.pick(100, 512, 1000, 4096), draw.pick(300, 1024, 2000, 5000)
    axis, dtype = draw.pick(0, 1), draw.float_type()
    kinds: dict[str, Callable[[Any], Any]] = {
        "sum": lambda x: x.astype(F32).sum(axis),
        "mean": lambda x: x.mean(axis),
        "argmax": lambda x: x.argmax(axis),
        "variance": lambda x: x.astype(F32).var(axis),
        "cumsum": lambda x: jnp.cumsum(x.astype(F32), axis),
        "softmax": lambda x: jax.nn.softmax(x, axis),
        "logsumexp": lambda x: jax.nn.logsumexp(x, axis),
        "norm": lambda x: x / jnp.sqrt((x * x).sum(axis, keepdims=True) + 1e-6),
    }
    kind = draw.pick(*kinds)
    name = f"{kind}{axis}_{rows}x{columns}{letter(dtype)}"
    return Program(name, kinds[kind], (array(rows, columns, dtype=dtype),))


def transpose(draw: Draw) -> Program:
    """A transpose of two, three or four dimensions."""
    rank, dtype = draw.pick(2, 3, 4), draw.float_type()
    dims = draw.some([64, 96, 128, 200, 333], 3)
    if rank == 2:
        dims = [draw.pick(500, 1024, 3000, 4096), draw.pick(384, 1000, 2048, 6000)]
    elif rank == 4:
        dims = [draw.pick(2, 4, 8), draw.pick(12, 16), draw.pick(128, 200), draw.pick(32, 64)]
    order = draw.some(range(rank), rank)
    if order == sorted(order):
        order.reverse()
    name = f"transpose_{'x'.join(map(str, dims))}_{''.join(map(str, order))}{letter(dtype)}"
    return Program(name, lambda x: x.transpose(order) * 2, (array(*dims, dtype=dtype),))


def movement(draw: Draw) -> Program:
    """Pixels that are shuffled, resized, rolled, joined or cut into windows."""
    side, channels, times = draw.pick(28, 56, 64, 98), draw.pick(16, 48, 64, 96), draw.pick(2, 4)
    image, rows = array(2, side, side, channels), array(draw.pick(500, 1000), draw.pick(300, 768))
    axis = draw.pick(0, 1)
    tall, wide = rows.shape

    def shuffle(x: Any) -> Any:
        h = x.reshape(2, side, side, 4, channels // 4).reshape(2, side, side, 2, 2, channels // 4)
        return h.transpose(0, 1, 3, 2, 4, 5).reshape(2, 2 * side, 2 * side, channels // 4)

    def windows(x: Any) -> Any:
        x = jnp.roll(x, (-3, -3), (1, 2))[:, : side // 7 * 7, : side // 7 * 7]
        h = x.reshape(2, side // 7, 7, side // 7, 7, channels)
        return h.transpose(0, 1, 3, 2, 4, 5).reshape(-1, 49, channels)

    def resize(method: str) -> Callable[[Any], Any]:
        dims = (2, side * times, side * times, channels)
        return lambda x: jax.image.resize(x, dims, method)

    def join(x: Any, y: Any) -> Any:
        if axis:
            return jnp.concatenate([x[:, : wide // 3], y, x[:, wide // 2 :]], 1)
        return jnp.concatenate([x[tall // 3 :], y, x[: tall // 2]], 0)

    kinds: dict[str, tuple[Callable[..., Any], Any]] = {
        "shuffle": (shuffle, (image,)),
        "windows": (windows, (image,)),
        "bilinear": (resize("bilinear"), (image,)),
        "nearest": (resize("nearest"), (image,)),
        "strided": (lambda x: jnp.concatenate([x[:, ::2], x[:, 1::2]], -1), (image,)),
        "roll": (lambda x: jnp.roll(x, tall // 7, axis) - x, (rows,)),
        "join": (join, (rows, rows)),
        "tile": (lambda x: jnp.tile(x, (4, 3)), (rows,)),
    }
    kind = draw.pick(*kinds)
    function, specs = kinds[kind]
    sizes = "x".join(map(str, specs[0].shape[1:] if len(specs[0].shape) > 2 else specs[0].shape))
    return Program(f"{kind}{axis}_{sizes}_{times}", function, specs)


def lookup(draw: Draw) -> Program:
    """Rows of a table that are read, summed, written or added."""
    words, size, count = (
        draw.pick(1000, 10000, 30522),
        draw.pick(64, 128, 300, 768),
        draw.pick(128, 512, 2048),
    )
    kinds: dict[str, Callable[..., Any]] = {
        "take": lambda table, at, x: table[at] + x,
        "bag": lambda table, at, x: table[at.reshape(-1, 16)].mean(1),
        "gradient": lambda table, at, x: jax.grad(lambda t: (t[at] * x).sum())(table),
        "one_hot": lambda table, at, x: jax.nn.one_hot(at, words) @ table,
        "set": lambda table, at, x: table.at[at].set(x),
        "segments": lambda table, at, x: jax.ops.segment_sum(x, at, words),
    }
    kind = draw.pick(*kinds)
    specs = (array(words, size), indices(count), array(count, size))
    return Program(f"{kind}_{words}x{size}_{count}", kinds[kind], specs)


def product(draw: Draw) -> Program:
    """A product of two matrices, either of which may be transposed, with an epilogue."""
    rows, inner = draw.pick(1, 16, 100, 512, 1000, 4096, 20000), draw.pick(64, 100, 512, 1000, 4096)
    columns, kind = draw.pick(32, 100, 512, 1000, 4096), draw.pick("nn", "nt", "tn", "bias", "gelu")
    if rows * inner * columns > 20_000_000_000:
        rows = 512
    dtype = draw.float_type()

    def function(a: Any, b: Any, c: Any) -> Any:
        found = (a.T if kind == "tn" else a) @ (b.T if kind == "nt" else b)
        if kind == "gelu":
            return jax.nn.gelu(found + c)
        return found + c if kind == "bias" else found

    left = (inner, rows) if kind == "tn" else (rows, inner)
    right = (columns, inner) if kind == "nt" else (inner, columns)
    specs = tuple(array(*dims, dtype=dtype) for dims in (left, right, (columns,)))
    return Program(f"product_{kind}_{rows}x{inner}x{columns}{letter(dtype)}", function, specs)


def products(draw: Draw) -> Program:
    """A batch of small products."""
    count, rows = draw.pick(8, 48, 100, 300), draw.pick(16, 50, 64, 128, 200)
    inner, columns = draw.pick(16, 32, 64, 100), draw.pick(16, 50, 64, 128)
    kind, dtype = draw.pick("bmk,bkn->bmn", "bmk,bnk->bmn", "bkm,bkn->bmn"), draw.float_type()
    sizes = {"b": count, "m": rows, "k": inner, "n": columns}
    operands = kind.split("->")[0].split(",")
    specs = tuple(array(*(sizes[d] for d in o), dtype=dtype) for o in operands)
    name = f"products_{operands[0]}_{operands[1]}_{count}x{rows}x{inner}x{columns}{letter(dtype)}"
    return Program(name, lambda a, b: jnp.einsum(kind, a, b), specs)


def order(draw: Draw) -> Program:
    """A sort, the positions of one, a quantile, or the rows that nucleus sampling keeps."""
    rows, columns = draw.pick(1, 8, 64, 200), draw.pick(500, 1024, 3000, 5000, 32000)
    if rows > 8:
        columns = min(columns, 5000)

    def nucleus(x: Any) -> Any:
        p = jax.nn.softmax(x, -1)
        best = -jnp.sort(-p, -1)
        return jnp.where(jnp.cumsum(best, -1) - best < 0.9, best, 0.0)

    kinds: dict[str, Callable[[Any], Any]] = {
        "sort": lambda x: jnp.sort(x, -1),
        "argsort": lambda x: jnp.argsort(x, -1),
        "median": lambda x: jnp.median(x, -1),
        "nucleus": nucleus,
    }
    kind = draw.pick(*kinds)
    return Program(f"{kind}_{rows}x{columns}f", kinds[kind], (array(rows, columns),))

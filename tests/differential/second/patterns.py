"""What frameworks write out: softmax, norms, activations, attention, layers one after the other."""

from collections.abc import Sequence

import numpy as np

from tests.differential.second.draw import Draw, Value, braces, product
from tests.differential.second.program import Array, Shape
from tests.differential.second.reductions import combiner

_FLOATS = ("f32", "f32", "f32", "bf16")


def _binary(draw: Draw, opcode: str, x: Value, y: Value) -> Value:
    rule = "choice" if opcode in ("maximum", "minimum") else opcode
    exact = False if opcode in ("multiply", "divide") else None
    return draw.add(opcode, x.shape, [x, y], rule=rule, exact=exact)


def _by(draw: Draw, opcode: str, x: Value, number: float) -> Value:
    return _binary(draw, opcode, x, draw.filled(number, x.shape))


def _function(draw: Draw, opcode: str, x: Value) -> Value:
    return draw.add(opcode, x.shape, [x], rule=opcode, exact=False)


def _reduced(draw: Draw, opcode: str, x: Value, axes: Sequence[int]) -> Value:
    """A reduction over `axes`, repeated to the shape of `x`."""
    name, text = combiner(draw, opcode, x.dtype)
    kept = [i for i in range(len(x.dims)) if i not in axes]
    shape = Shape(x.dtype, tuple(x.dims[i] for i in kept))
    first = draw.constant(_first(opcode, x), x.dtype)
    attributes = f", dimensions={braces(axes)}, to_apply={name}"
    whole = draw.add(
        "reduce",
        shape,
        [x, first],
        attributes,
        rule="choices" if opcode == "maximum" else "sum",
        terms=product([x.dims[i] for i in axes]) + 1,
        exact=None if opcode == "maximum" else False,
        signed=False,
        computations=[text],
    )
    return draw.broadcast(whole, x.shape, kept)


def _first(opcode: str, x: Value) -> Array:
    return np.asarray(-np.inf if opcode == "maximum" else 0.0).astype(x.shape.numpy)


def _axes(draw: Draw, x: Value) -> list[int]:
    """The last dimension, another one, or two of them."""
    rank = len(x.dims)
    usual = [rank - 1]
    other = sorted(draw.permutation(rank)[: draw.pick([1, 2]) if rank > 1 else 1])
    return draw.pick([usual, usual, other])


def _input(draw: Draw, least: int = 1) -> Value:
    """Something to normalise: no dimension of length 0, whose means are NaN."""
    x = draw.operand(_FLOATS, least, 4, tame=True, size=12_000)
    if x.shape.size:
        return x
    return draw.parameter(Shape("f32", (4,) * least), "normal")


def softmax(draw: Draw) -> Value:
    """exp(x - max) over its sum, along any dimensions; with a mask now and then."""
    x = _input(draw)
    if draw.chance(3):
        flag = draw.like(Shape("pred", x.dims))
        low = draw.filled(draw.pick([-1e9, -1e4]), x.shape)
        if x.dtype == "f32":
            x = draw.add("select", x.shape, [flag, x, low], rule="choice")
    axes = _axes(draw, x)
    moved = _binary(draw, "subtract", x, _reduced(draw, "maximum", x, axes))
    grown = _function(draw, "exponential", moved)
    return _binary(draw, "divide", grown, _reduced(draw, "add", grown, axes))


def norm(draw: Draw) -> Value:
    """A layer norm or RMS norm along any dimensions, with scale and bias or without."""
    x = _input(draw)
    axes = _axes(draw, x)
    count = product([x.dims[i] for i in axes])
    if draw.pick([True, False]):
        mean = _by(draw, "divide", _reduced(draw, "add", x, axes), float(count))
        x = _binary(draw, "subtract", x, mean)
    square = _binary(draw, "multiply", x, x)
    spread = _by(draw, "multiply", _reduced(draw, "add", square, axes), 1.0 / count)
    added = _by(draw, "add", spread, draw.pick([1e-3, 1e-2]))
    if draw.pick([True, False]):
        y = _binary(draw, "multiply", x, _function(draw, "rsqrt", added))
    else:
        y = _binary(draw, "divide", x, _function(draw, "sqrt", added))
    for opcode in ("multiply", "add"):
        if draw.pick([True, False]):
            row = draw.parameter(Shape(y.dtype, tuple(y.dims[i] for i in axes)), "normal")
            y = _binary(draw, opcode, y, draw.broadcast(row, y.shape, axes))
    return y


def activation(draw: Draw, x: Value | None = None) -> Value:
    """gelu in both forms, silu, relu, leaky relu, softplus."""
    x = _input(draw, 0) if x is None else x
    kind = draw.pick(("relu", "gelu", "tanh gelu", "silu", "leaky", "softplus", "hard swish"))
    if kind == "relu":
        return _by(draw, "maximum", x, 0.0)
    if kind == "leaky":
        slope = _by(draw, "multiply", x, 0.125)
        return _binary(draw, "maximum", x, slope)
    if kind == "gelu":
        half = _by(draw, "multiply", x, 0.5)
        inner = _function(draw, "erf", _by(draw, "multiply", x, 0.70710678))
        return _binary(draw, "multiply", half, _by(draw, "add", inner, 1.0))
    if kind == "tanh gelu":
        cube = _binary(draw, "multiply", _binary(draw, "multiply", x, x), x)
        inner = _binary(draw, "add", x, _by(draw, "multiply", cube, 0.044715))
        bent = _function(draw, "tanh", _by(draw, "multiply", inner, 0.7978845608))
        half = _by(draw, "multiply", _by(draw, "add", bent, 1.0), 0.5)
        return _binary(draw, "multiply", x, half)
    if kind == "silu":
        return _binary(draw, "multiply", x, _function(draw, "logistic", x))
    if kind == "softplus":
        return _function(draw, "log-plus-one", _function(draw, "exponential", x))
    three = _by(draw, "add", x, 3.0)
    low, high = draw.filled(0.0, Shape(x.dtype)), draw.filled(6.0, Shape(x.dtype))
    cut = draw.add("clamp", x.shape, [low, three, high], rule="choice", signed=False)
    return _binary(draw, "multiply", x, _by(draw, "multiply", cut, 1.0 / 6.0))


def _dot(draw: Draw, x: Value, y: Value, batch: int, left: int, right: int) -> Value:
    """A dot whose first `batch` dimensions are batch dimensions."""
    b = list(range(batch))
    m = [n for i, n in enumerate(x.dims) if i >= batch and i != left]
    n = [k for i, k in enumerate(y.dims) if i >= batch and i != right]
    attributes = f", lhs_batch_dims={braces(b)}" if b else ""
    attributes += f", lhs_contracting_dims={{{left}}}"
    attributes += f", rhs_batch_dims={braces(b)}" if b else ""
    attributes += f", rhs_contracting_dims={{{right}}}"
    shape = Shape(x.dtype, (*x.dims[:batch], *m, *n))
    return draw.add("dot", shape, [x, y], attributes, rule="dot", terms=x.dims[left], exact=False)


def attention(draw: Draw) -> Value:
    """Scaled scores, a mask, softmax and the product with the values."""
    dtype = draw.pick(("f32", "f32", "bf16"))
    heads = draw.pick([(2,), (1,), (2, 3), ()])
    queries, keys = (draw.pick([1, 4, 31, 64, 65, 128]) for _ in range(2))
    width = draw.pick([8, 4, 32, 33, 64])
    q = draw.parameter(Shape(dtype, (*heads, queries, width)), "normal")
    k = draw.parameter(Shape(dtype, (*heads, keys, width)), "normal")
    v = draw.parameter(Shape(dtype, (*heads, keys, width)), "normal")
    h = len(heads)
    scores = _by(draw, "multiply", _dot(draw, q, k, h, h + 1, h + 1), width**-0.5)
    mask = draw.pick(("none", "added", "causal", "flags"))
    if mask == "added":
        row = draw.parameter(Shape(dtype, (keys,)), "normal")
        scores = _binary(draw, "add", scores, draw.broadcast(row, scores.shape, [h + 1]))
    elif mask != "none":
        flags = draw.parameter(Shape("pred", (queries, keys)), "normal")
        if mask == "causal":
            counts = Shape("s32", (queries, keys))
            i = draw.add("iota", counts, [], ", iota_dimension=0")
            j = draw.add("iota", counts, [], ", iota_dimension=1")
            flags = draw.add("compare", Shape("pred", counts.dims), [i, j], ", direction=GE")
        wide = draw.broadcast(flags, Shape("pred", scores.dims), [h, h + 1])
        low = draw.filled(-1e4, scores.shape)
        scores = draw.add("select", scores.shape, [wide, scores, low], rule="choice")
    axes = [h + 1]
    moved = _binary(draw, "subtract", scores, _reduced(draw, "maximum", scores, axes))
    grown = _function(draw, "exponential", moved)
    shares = _binary(draw, "divide", grown, _reduced(draw, "add", grown, axes))
    return _dot(draw, shares, v, h, h + 1, h)


def layers(draw: Draw) -> Value:
    """A few equal layers: a product, a bias, an activation and what came in."""
    dtype = draw.pick(("f32", "f32", "bf16"))
    rows, width = draw.pick([4, 1, 33, 64, 128]), draw.pick([8, 32, 33, 64, 128, 129])
    x = draw.parameter(Shape(dtype, (rows, width)), "normal")
    residual, curved = draw.pick([True, False]), draw.pick(("tanh", "logistic", "maximum"))
    for _ in range(draw.among(2, 5)):
        weight = draw.parameter(Shape(dtype, (width, width)), "unit")
        small = _by(draw, "multiply", weight, width**-0.5)
        y = _dot(draw, x, small, 0, 1, 0)
        bias = draw.parameter(Shape(dtype, (width,)), "normal")
        y = _binary(draw, "add", y, draw.broadcast(bias, y.shape, [1]))
        y = _by(draw, "maximum", y, 0.0) if curved == "maximum" else _function(draw, curved, y)
        x = _binary(draw, "add", x, y) if residual else y
    return x


OPS = (softmax, norm, activation, attention, layers)

"""Ops that every correct execution computes bit for bit: results of loops are compared exactly."""

from dataclasses import replace

import numpy as np

from tests.differential.second.draw import Draw, Value, braces, product
from tests.differential.second.program import FLOATS, INTEGERS, Shape
from tests.differential.second.reductions import combiner

TYPES = tuple("f32 f32 f32 s32 s32 bf16 bf16 pred u8 s8 f16 s16 u16 u32 f8e5m2 f8e4m3".split())
SIZE = 6000
_WIDER = {
    "pred": ("s32", "f32", "u8", "bf16"),
    "u8": ("s32", "f32", "bf16", "u16"),
    "s8": ("s32", "f32", "s16"),
    "s16": ("s32", "f32", "s8"),
    "u16": ("s32", "f32", "u8"),
    "u32": ("s32", "u8"),
    "s32": ("f32", "s16", "u8", "pred"),
    "f8e5m2": ("f32", "bf16"),
    "f8e4m3": ("f32", "bf16"),
    "f16": ("f32",),
    "bf16": ("f32",),
    "f32": ("s32", "pred"),
}
"""Conversions whose result does not depend on an order or a precision in between."""


def some(draw: Draw, least: int = 0, most: int = 4, size: int = SIZE) -> Value:
    """A value of any type with ordinary numbers: there already, or new."""
    return draw.operand(TYPES, least, most, tame=True, exact=True, size=size)


def mix(draw: Draw) -> Value:
    """Combine two values of one shape."""
    x = some(draw)
    y = draw.like(x.shape, tame=True, exact=True)
    d = x.dtype
    if d.startswith("f8"):
        less = draw.add("compare", Shape("pred", x.dims), [x, y], ", direction=LT")
        return draw.add("select", x.shape, [less, x, y], signed=False)
    if d == "pred":
        return draw.add(draw.pick(("xor", "and", "or")), x.shape, [x, y])
    if d in INTEGERS:
        names = ("add", "subtract", "maximum", "minimum", "xor", "and")
        return draw.add(draw.pick(names), x.shape, [x, y])
    if d != "f32" or draw.pick([True, False]):
        return draw.add(draw.pick(("maximum", "minimum")), x.shape, [x, y], signed=False)
    # The product is exact, so one rounding is left, fused or not.
    both = draw.add(draw.pick(("add", "subtract")), x.shape, [x, y], signed=False, exact=True)
    return draw.add("multiply", x.shape, [both, draw.filled(0.5, x.shape)], exact=True)


def alone(draw: Draw) -> Value:
    """Change the values of one operand."""
    x = some(draw)
    if x.dtype == "pred" or (x.dtype in INTEGERS and draw.pick([True, False])):
        return draw.add("not", x.shape, [x])
    if x.dtype[0] == "u":
        return draw.add("add", x.shape, [x, draw.filled(1, x.shape)])
    return draw.add(draw.pick(("negate", "abs")), x.shape, [x], signed=False, rule="move")


def choose(draw: Draw) -> Value:
    """Select by a comparison of two values."""
    x = some(draw)
    y = draw.like(x.shape, tame=True, exact=True)
    way = draw.pick(("LT", "GE", "EQ", "NE"))
    flags = draw.add("compare", Shape("pred", x.dims), [x, y], f", direction={way}")
    z = draw.like(x.shape, tame=True, exact=True)
    return draw.add("select", x.shape, [flags, z, x])


def convert(draw: Draw) -> Value:
    """Convert to a type that holds the values, or to an integer."""
    x = some(draw)
    to = draw.pick(_WIDER[x.dtype])
    if x.dtype == "f32" and to == "s32":
        x = draw.add("clamp", x.shape, [draw.filled(-999, x.shape), x, draw.filled(999, x.shape)])
    return draw.add("convert", Shape(to, x.dims), [x], rule="convert")


def reduce(draw: Draw) -> Value:
    """Reduce several dimensions by an operation whose order does not matter."""
    x = some(draw, 1)
    if x.dtype.startswith("f8"):
        x = draw.add("convert", Shape("f32", x.dims), [x], rule="convert")
    names = ("maximum", "minimum")
    if x.dtype == "pred":
        names = ("or", "and")
    elif x.dtype == "s32":
        names = ("add", "maximum")
    opcode = draw.pick(names)
    count = draw.among(1, len(x.dims))
    axes = sorted(draw.permutation(len(x.dims))[:count])
    first = _neutral(draw, opcode, x.dtype)
    name, text = combiner(draw, opcode, x.dtype)
    dims = tuple(n for i, n in enumerate(x.dims) if i not in axes)
    attributes = f", dimensions={braces(axes)}, to_apply={name}"
    small = draw.add(
        "reduce", Shape(x.dtype, dims), [x, first], attributes, signed=False, computations=[text]
    )
    if draw.pick([True, False]):
        return small
    kept = [i for i in range(len(x.dims)) if i not in axes]
    return draw.broadcast(small, x.shape, kept)


def _neutral(draw: Draw, opcode: str, dtype: str) -> Value:
    shape = Shape(dtype)
    if opcode in ("maximum", "minimum"):
        least = opcode == "maximum"
        if dtype in FLOATS:
            return draw.filled(-np.inf if least else np.inf, shape)
        info = np.iinfo(shape.numpy)
        return draw.filled(int(info.min if least else info.max), shape)
    return draw.filled(1 if opcode == "and" else 0, shape)


def shift(draw: Draw) -> Value:
    """Rotate along a dimension by a concatenation of two slices, of one value or of two."""
    x = some(draw, 1)
    axis = draw.among(0, len(x.dims) - 1)
    n = x.dims[axis]
    if n < 2:
        return x
    k = draw.pick(sorted({1, n // 2, n - 1}))
    y = draw.like(x.shape, tame=True, exact=True) if draw.pick([False, True]) else x
    parts = [part(draw, x, axis, k, n), part(draw, y, axis, 0, k)]
    return draw.add("concatenate", x.shape, parts, f", dimensions={{{axis}}}", rule="move")


def part(draw: Draw, x: Value, axis: int, low: int, high: int) -> Value:
    """The slice of `x` from `low` to `high` along one dimension."""
    ranges = [f"[{low}:{high}]" if i == axis else f"[0:{n}]" for i, n in enumerate(x.dims)]
    dims = tuple(high - low if i == axis else n for i, n in enumerate(x.dims))
    attributes = f", slice={{{', '.join(ranges)}}}"
    return draw.add("slice", replace(x.shape, dims=dims), [x], attributes, rule="move")


def transposed(draw: Draw) -> Value:
    """Another order of the dimensions, a reshape, and back where that fits."""
    x = some(draw, 2)
    order = draw.permutation(len(x.dims))
    dims = tuple(x.dims[i] for i in order)
    turned = draw.add(
        "transpose", Shape(x.dtype, dims), [x], f", dimensions={braces(order)}", rule="move"
    )
    if draw.pick([False, True]):
        return turned
    return draw.add("reshape", x.shape, [turned], rule="move")


def flattened(draw: Draw) -> Value:
    """Two neighbouring dimensions joined, or one split in two."""
    x = some(draw, 1)
    axis = draw.among(0, len(x.dims) - 1)
    n = x.dims[axis]
    factors = [d for d in range(2, n) if n % d == 0]
    if axis and (not factors or draw.pick([True, False])):
        dims = (*x.dims[: axis - 1], x.dims[axis - 1] * n, *x.dims[axis + 1 :])
    elif factors and len(x.dims) < 4:
        d = draw.pick(factors)
        dims = (*x.dims[:axis], d, n // d, *x.dims[axis + 1 :])
    else:
        dims = (product(x.dims),)
    return draw.add("reshape", Shape(x.dtype, dims), [x], rule="move")

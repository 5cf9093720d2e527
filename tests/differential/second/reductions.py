"""Reduce with one or several operands, reduce-window, select-and-scatter."""

import numpy as np

from tests.differential.second.draw import Draw, Value, braces, product
from tests.differential.second.program import INTEGERS, Shape

_FLOATS = ("f32", "f32", "f32", "bf16", "f16")
_INTS = ("s32", "u32", "s8", "u8", "s16", "u16")
_NEUTRAL = {"add": 0.0, "multiply": 1.0, "maximum": -1e30, "minimum": 1e30}


def combiner(draw: Draw, opcode: str, dtype: str) -> tuple[str, str]:
    """Name and text of a computation that combines two scalars, its operands in any order."""
    name = draw.fresh("combine")
    a, b = ("a", "b") if draw.pick([True, True, False]) else ("b", "a")
    text = (
        f"{name} {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n"
        f"  ROOT c = {dtype}[] {opcode}({a}, {b})\n}}"
    )
    return name, text


def _initial(draw: Draw, opcode: str, dtype: str, terms: int = 2) -> Value:
    """The neutral element as a constant, or anything: a constant or a parameter. XLA leaves the
    initial value out where one element is reduced, and takes it more than once for many."""
    kind = draw.pick(("neutral", "neutral", "neutral", "any"))
    if kind == "any" and 1 < terms <= 16:
        return draw.parameter(Shape(dtype), "small")
    shape = Shape(dtype)
    if opcode in ("maximum", "minimum"):
        sign = -1 if opcode == "maximum" else 1
        if dtype in INTEGERS:
            info = np.iinfo(shape.numpy)
            return draw.filled(int(info.min if sign < 0 else info.max), shape)
        return draw.filled(sign * float("inf"), shape)
    if opcode == "and":
        most = 1 if dtype == "pred" else int(np.iinfo(shape.numpy).max)
        return draw.filled(-1 if dtype[0] == "s" else most, shape)
    return draw.filled(_NEUTRAL.get(opcode, 0.0), shape)


def _combined(draw: Draw) -> tuple[str, Value]:
    """An opcode of combiners and an operand that it may combine."""
    opcode = draw.pick(("add", "maximum", "minimum", "multiply", "and", "or", "xor"))
    if opcode in ("and", "or", "xor"):
        return opcode, draw.operand(("pred", "pred", *_INTS), 1)
    if opcode == "multiply":
        return opcode, draw.operand((*_FLOATS, *_INTS), 1, tame=True, size=800)
    # XLA's CPU backend drops some NaN of maxima and minima, by how it vectorises.
    return opcode, draw.operand((*_FLOATS, *_INTS), 1, tame=True)


def reduce(draw: Draw) -> Value:
    """Reduce any dimensions by one operation."""
    opcode, x = _combined(draw)
    axes = sorted(draw.permutation(len(x.dims))[: draw.among(1, len(x.dims))])
    name, text = combiner(draw, opcode, x.dtype)
    initial = _initial(draw, opcode, x.dtype, product([x.dims[i] for i in axes]))
    shape = Shape(x.dtype, tuple(n for i, n in enumerate(x.dims) if i not in axes))
    terms = product([x.dims[i] for i in axes]) + 1
    attributes = f", dimensions={braces(axes)}, to_apply={name}"
    choice = opcode in ("maximum", "minimum")
    exact = None if choice else False
    rule = "choices" if choice else {"add": "sum", "multiply": "products"}.get(opcode, "")
    return draw.add(
        "reduce",
        shape,
        [x, initial],
        attributes,
        rule=rule,
        terms=terms,
        exact=exact,
        signed=False,
        computations=[text],
    )


def argument(draw: Draw) -> Value:
    """The largest or smallest element along a dimension together with its place."""
    x = draw.operand((*_FLOATS, *_INTS), 1, exact=True, tame=True)
    axis = draw.among(0, len(x.dims) - 1)
    counter = draw.pick(("s32", "u32"))
    places = draw.add("iota", Shape(counter, x.dims), [], f", iota_dimension={axis}")
    way = draw.pick(("GT", "LT"))
    d, i, name = x.dtype, counter, draw.fresh("combine")
    # Of equal elements the one with the smaller place; JAX lets NaN win as well.
    usual = draw.pick([True] * 5 + [False])
    text = f"""{name} {{
  a = {d}[] parameter(0)
  i = {i}[] parameter(1)
  b = {d}[] parameter(2)
  j = {i}[] parameter(3)
  larger = pred[] compare(a, b), direction={way}
  odd = pred[] compare(a, a), direction=NE
  better = pred[] {"or(larger, odd)" if usual else "copy(larger)"}
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  take = pred[] or(better, tie)
  x = {d}[] select(take, a, b)
  y = {i}[] select(take, i, j)
  ROOT r = ({d}[], {i}[]) tuple(x, y)
}}"""
    largest = way != "LT"
    first = _initial(draw, "maximum" if largest else "minimum", x.dtype, 1)
    zero = draw.filled(0, Shape(counter))
    dims = tuple(n for k, n in enumerate(x.dims) if k != axis)
    shapes = [Shape(d, dims), Shape(i, dims)]
    attributes = f", dimensions={{{axis}}}, to_apply={name}"
    operands = [x, places, first, zero]
    return draw.leaves("reduce", shapes, operands, attributes, computations=[text])[1]


def together(draw: Draw) -> Value:
    """Two reductions in one: a sum and a maximum of two operands."""
    x = draw.operand(("s32", "f32", "u8"), 1, exact=True, tame=True)
    if x.shape.floating:
        x = draw.add("convert", Shape("s32", x.dims), [x], rule="convert")
    y = draw.like(Shape("f32", x.dims), exact=True, tame=True)
    axis = draw.among(0, len(x.dims) - 1)
    name, d = draw.fresh("combine"), x.dtype
    text = f"""{name} {{
  a = {d}[] parameter(0)
  i = f32[] parameter(1)
  b = {d}[] parameter(2)
  j = f32[] parameter(3)
  x = {d}[] add(a, b)
  y = f32[] maximum(i, j)
  ROOT r = ({d}[], f32[]) tuple(x, y)
}}"""
    dims = tuple(n for k, n in enumerate(x.dims) if k != axis)
    # XLA leaves the initial values out where one element is reduced.
    first = -3.5 if x.dims[axis] > 1 else -float("inf")
    operands = [x, y, draw.filled(0, Shape(d)), draw.filled(first, Shape("f32"))]
    attributes = f", dimensions={{{axis}}}, to_apply={name}"
    shapes = [Shape(d, dims), Shape("f32", dims)]
    return draw.leaves("reduce", shapes, operands, attributes, computations=[text])[0]


def window(draw: Draw) -> Value:
    """Reduce windows, with strides, padding and now and then dilation; running sums too."""
    opcode = draw.pick(("maximum", "add", "minimum", "multiply"))
    size = 400 if opcode == "multiply" else 8000
    x = draw.operand((*_FLOATS, "s32", "s8", "u8"), 1, 4, tame=True, size=size)
    if draw.chance(4) and x.shape.size:
        return _running(draw, opcode, x)
    parts: dict[str, list[str]] = {
        "size": [],
        "stride": [],
        "pad": [],
        "lhs_dilate": [],
        "rhs_dilate": [],
    }
    dims, terms = [], 1
    for n in x.dims:
        inside = draw.pick([False, True, True])
        width = draw.pick([k for k in (2, 3, 1, 5, 8) if k <= max(n, 1)]) if inside else 1
        stride = draw.pick([1, 1, 2, 3]) if inside else 1
        # Of windows of one element in the padding XLA's CPU backend reads beyond the operand.
        low, high = (draw.pick([0, 0, 1, 2]) if inside and width > 1 else 0 for _ in range(2))
        lhs, rhs = draw.pick([(1, 1)] * 8 + [(1, 2), (2, 1)]) if inside else (1, 1)
        # Windows of one element with strides lose their base dilation in XLA's CPU backend.
        lhs = lhs if width > 1 else 1
        wide = (n - 1) * lhs + 1 + low + high if n else low + high
        span = (width - 1) * rhs + 1
        parts["size"].append(str(width))
        parts["stride"].append(str(stride))
        parts["pad"].append(f"{low}_{high}")
        parts["lhs_dilate"].append(str(lhs))
        parts["rhs_dilate"].append(str(rhs))
        dims.append(max((wide - span) // stride + 1, 0) if wide >= span else 0)
        terms *= width
    return _windows(draw, opcode, x, parts, dims, terms)


def _running(draw: Draw, opcode: str, x: Value) -> Value:
    """A running sum or maximum along one dimension, forwards or backwards."""
    axis = draw.among(0, len(x.dims) - 1)
    n = x.dims[axis]
    backwards = draw.chance(3)
    size = ["1"] * len(x.dims)
    around = ["0_0"] * len(x.dims)
    size[axis] = str(n)
    around[axis] = f"0_{n - 1}" if backwards else f"{n - 1}_0"
    return _windows(draw, opcode, x, {"size": size, "pad": around}, list(x.dims), n)


def _windows(
    draw: Draw, opcode: str, x: Value, parts: dict[str, list[str]], dims: list[int], terms: int
) -> Value:
    name, text = combiner(draw, opcode, x.dtype)
    initial = _initial(draw, opcode, x.dtype, terms)
    usual = {"stride": "1", "pad": "0_0", "lhs_dilate": "1", "rhs_dilate": "1"}
    shown = [
        f"{key}={'x'.join(values)}"
        for key, values in parts.items()
        if any(v != usual.get(key) for v in values)
    ]
    choice = opcode in ("maximum", "minimum")
    rule = "choices" if choice else {"add": "sum", "multiply": "products"}[opcode]
    attributes = f", window={{{' '.join(shown)}}}, to_apply={name}"
    shape = Shape(x.dtype, tuple(dims))
    return draw.add(
        "reduce-window",
        shape,
        [x, initial],
        attributes,
        rule=rule,
        terms=terms + 1,
        exact=None if choice else False,
        signed=False,
        computations=[text],
    )


def select_and_scatter(draw: Draw) -> Value:
    """Add each element of a source to the largest (or smallest) element of its window."""
    x = draw.operand(("f32", "f32", "bf16"), 1, 4, exact=True, tame=True, size=3000)
    size, stride, dims, around = [], [], [], []
    for n in x.dims:
        inside = draw.pick([True, False])
        width = draw.pick([k for k in (2, 3, 1) if k <= max(n, 1)]) if inside else 1
        step = draw.pick([width, 1, 2]) if inside else 1
        low, high = (draw.pick([0, 0, 1]) if width > 1 else 0 for _ in range(2))
        size.append(str(width))
        stride.append(str(step))
        around.append(f"{low}_{high}")
        dims.append(max((n + low + high - width) // step + 1, 0))
    source = draw.like(Shape(x.dtype, tuple(dims)), tame=True)
    name, way = draw.fresh("choose"), draw.pick(("GE", "GT", "LE"))
    choose = (
        f"{name} {{\n  a = {x.dtype}[] parameter(0)\n  b = {x.dtype}[] parameter(1)\n"
        f"  ROOT c = pred[] compare(a, b), direction={way}\n}}"
    )
    added, text = combiner(draw, "add", x.dtype)
    window_text = f"size={'x'.join(size)} stride={'x'.join(stride)} pad={'x'.join(around)}"
    attributes = f", window={{{window_text}}}, select={name}, scatter={added}"
    zero = draw.filled(0.0, Shape(x.dtype))
    return draw.add(
        "select-and-scatter",
        x.shape,
        [x, source, zero],
        attributes,
        exact=False,
        signed=False,
        terms=product([int(n) for n in size]),
        computations=[choose, text],
    )


OPS = (*[reduce] * 6, *[window] * 4, argument, argument, select_and_scatter, together)

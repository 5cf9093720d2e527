"""Ops that move elements: broadcast, reshape, transpose, slice, pad, concatenate, reverse, iota."""

from dataclasses import replace

import numpy as np

from tests.differential.second.draw import BUDGET, USUAL, Draw, Value, braces, product
from tests.differential.second.program import DTYPES, Shape


def _operand(draw: Draw, least: int = 0, most: int = 4, size: int = BUDGET) -> Value:
    return draw.operand(USUAL, least, most, tiny=True, size=size)


def broadcast(draw: Draw) -> Value:
    """Repeat along new dimensions, which may stand before, between and behind the old ones."""
    x = _operand(draw, 0, 3, 4096)
    more = draw.among(0 if x.dims else 1, 2)
    extra = list(draw.dims(more, BUDGET // max(x.shape.size, 1)))
    places = sorted(draw.permutation(len(x.dims) + more)[: len(x.dims)])
    dims = [
        x.dims[places.index(i)] if i in places else extra.pop() for i in range(len(x.dims) + more)
    ]
    return draw.broadcast(x, Shape(x.dtype, tuple(dims)), places)


def reshape(draw: Draw) -> Value:
    """The same elements in other dimensions: joined, split, with ones put in or taken out."""
    x = _operand(draw)
    left, dims = x.shape.size, list[int]()
    if left == 0:
        return draw.add("reshape", Shape(x.dtype, (0,)), [x], rule="move")
    for _ in range(draw.among(0, 4)):
        divisors = [d for d in range(1, min(left, 130) + 1) if left % d == 0]
        dims.append(draw.pick(divisors))
        left //= dims[-1]
    if left != 1 or (not dims and draw.pick([False, True])):
        dims.insert(draw.among(0, len(dims)), left)
    return draw.add("reshape", Shape(x.dtype, tuple(dims)), [x], rule="move")


def transpose(draw: Draw) -> Value:
    """Any order of the dimensions."""
    x = _operand(draw, 1, 5)
    order = draw.permutation(len(x.dims))
    dims = tuple(x.dims[i] for i in order)
    attributes = f", dimensions={braces(order)}"
    return draw.add("transpose", Shape(x.dtype, dims), [x], attributes, rule="move")


def cut(draw: Draw) -> Value:
    """A slice with strides."""
    x = _operand(draw, 1)
    parts, dims = [], []
    for n in x.dims:
        if draw.pick([False, True]) or n == 0:
            low, high, step = 0, n, 1
        else:
            low = draw.pick(sorted({0, 1 % n, n // 2, n - 1}))
            high = draw.pick(sorted({n, low + 1, low + (n - low + 1) // 2, low}, reverse=True))
            if high == low and not draw.chance(20):
                high = n
            step = draw.pick((1, 1, 2, 3, 7))
        parts.append(f"[{low}:{high}:{step}]")
        dims.append(max(-(-(high - low) // step), 0))
    attributes = f", slice={{{', '.join(parts)}}}"
    return draw.add("slice", Shape(x.dtype, tuple(dims)), [x], attributes, rule="move")


def pad(draw: Draw) -> Value:
    """Padding at both ends and between elements; negative padding cuts."""
    x = _operand(draw, 1, 4, 6000)
    parts, dims = [], []
    size = x.shape.size
    for n in x.dims:
        low, high = (draw.pick((0, 0, 1, 2, 5, -1, 31)) for _ in range(2))
        inner = draw.pick((0, 0, 0, 1, 2))
        wide = n + max(n - 1, 0) * inner + low + high
        if wide < 0 or size * wide // max(n, 1) > BUDGET:
            low, high, inner, wide = 0, 0, 0, n
        size = size * wide // max(n, 1)
        parts.append(f"{low}_{high}_{inner}")
        dims.append(wide)
    filler = draw.like(Shape(x.dtype))
    shape = Shape(x.dtype, tuple(dims))
    return draw.add("pad", shape, [x, filler], f", padding={'x'.join(parts)}", rule="move")


def concatenate(draw: Draw) -> Value:
    """Two to four values end to end along any dimension."""
    x = _operand(draw, 1, 4, 8000)
    axis = draw.among(0, len(x.dims) - 1)
    parts = [x]
    for _ in range(draw.among(1, 3)):
        other = list(x.dims)
        if draw.pick([False, True]):
            rest = product([n for i, n in enumerate(x.dims) if i != axis])
            other[axis] = draw.dims(1, max(8000 // max(rest, 1), 1))[0]
        parts.append(draw.like(replace(x.shape, dims=tuple(other))))
    dims = list(x.dims)
    dims[axis] = sum(part.dims[axis] for part in parts)
    shape = Shape(x.dtype, tuple(dims))
    return draw.add("concatenate", shape, parts, f", dimensions={{{axis}}}", rule="move")


def reverse(draw: Draw) -> Value:
    """Some dimensions backwards."""
    x = _operand(draw, 1)
    axes = sorted(draw.permutation(len(x.dims))[: draw.among(1, len(x.dims))])
    return draw.add("reverse", x.shape, [x], f", dimensions={braces(axes)}", rule="move")


def iota(draw: Draw) -> Value:
    """Numbers that count along one dimension, small enough for the type."""
    dtype = draw.pick(("s32", "f32", "u32", "bf16", "f16", "s16", "u8", "s8", "u16"))
    most = {"bf16": 256, "f16": 2048, "u8": 255, "s8": 127}.get(dtype, BUDGET)
    dims = draw.dims(draw.rank(1, 3), min(most, BUDGET))
    axis = draw.among(0, len(dims) - 1)
    return draw.add("iota", Shape(dtype, dims), [], f", iota_dimension={axis}")


def start_type(draw: Draw, most: int) -> str:
    """A type of indices that may reach `most`: XLA clamps in the type of the index."""
    wide = [t for t in ("s8", "u8", "s16") if np.iinfo(DTYPES[t]).max >= most]
    return draw.pick(("s32", "s32", "s32", "u32", *wide))


def _starts(draw: Draw, dims: tuple[int, ...], part: list[int]) -> list[Value]:
    dtype = start_type(draw, max(dims))
    low = -2 if dtype[0] == "s" else 0
    return [
        draw.parameter(Shape(dtype), f"index:{low}:{n - size + 2}")
        for n, size in zip(dims, part, strict=True)
    ]


def _part(draw: Draw, dims: tuple[int, ...]) -> list[int]:
    return [draw.pick(sorted({n, min(1, n), (n + 1) // 2}, reverse=True)) for n in dims]


def dynamic_slice(draw: Draw) -> Value:
    """A slice whose start is known when it runs; the start is clamped."""
    x = _operand(draw, 1, 3)
    part = _part(draw, x.dims)
    starts = _starts(draw, x.dims, part)
    attributes = f", dynamic_slice_sizes={braces(part)}"
    return draw.add(
        "dynamic-slice", Shape(x.dtype, tuple(part)), [x, *starts], attributes, rule="move"
    )


def dynamic_update_slice(draw: Draw) -> Value:
    """Overwrite a part whose start is known when it runs."""
    x = _operand(draw, 1, 3)
    part = _part(draw, x.dims)
    update = draw.like(Shape(x.dtype, tuple(part)))
    starts = _starts(draw, x.dims, part)
    return draw.add("dynamic-update-slice", x.shape, [x, update, *starts], rule="move")


def plain(draw: Draw) -> Value:
    """Copies that mean nothing: copy, and a barrier to the optimiser."""
    x = _operand(draw)
    return draw.add(draw.pick(("copy", "opt-barrier")), x.shape, [x], rule="move")


OPS = (
    reshape,
    transpose,
    broadcast,
    cut,
    pad,
    concatenate,
    reverse,
    iota,
    dynamic_slice,
    dynamic_update_slice,
    plain,
)

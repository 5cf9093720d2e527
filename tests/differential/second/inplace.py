"""Parts of values overwritten while the old values are read again: in place, or not."""

from dataclasses import replace

from tests.differential.second.draw import Draw, Value, braces
from tests.differential.second.exact import mix, part, some
from tests.differential.second.indexed import gather, scatter
from tests.differential.second.program import Shape


def start(draw: Draw, limit: int) -> Value:
    """A start up to `limit`: a constant, or a scalar that is there, clamped by the op."""
    old = [v for v in draw.values if v.shape == Shape("s32")]
    if old and not draw.chance(3):
        value = draw.pick(old[::-1])
        if draw.chance(3):
            step = draw.filled(draw.pick((1, 2, -1, 7)), Shape("s32"))
            value = draw.add("add", Shape("s32"), [value, step])
        return value
    if draw.pick([True, False]):
        return draw.filled(
            draw.pick(sorted({0, 1, max(limit // 2, 0), max(limit, 0)})), Shape("s32")
        )
    return draw.parameter(Shape("s32"), f"index:0:{max(limit, 0)}")


def update(draw: Draw, x: Value, new: Value) -> Value:
    """Overwrite a part of `x` by `new`."""
    starts = [start(draw, n - k) for n, k in zip(x.dims, new.dims, strict=True)]
    return draw.add("dynamic-update-slice", x.shape, [x, new, *starts], rule="move")


def overlap(draw: Draw) -> Value:
    """Move a part of a value onto an overlapping part of the same value."""
    x = some(draw, 1)
    axis = draw.among(0, len(x.dims) - 1)
    n = x.dims[axis]
    if n < 2:
        return x
    k = draw.pick(sorted({1, (n + 1) // 2, n - 1}, reverse=True))
    low = draw.pick(sorted({0, n - k}))
    return update(draw, x, part(draw, x, axis, low, low + k))


def swapped(draw: Draw) -> Value:
    """Exchange the ends of a value by two updates."""
    x = some(draw, 1)
    axis = draw.among(0, len(x.dims) - 1)
    n = x.dims[axis]
    if n < 2:
        return x
    k = draw.among(1, n // 2)
    first, last = part(draw, x, axis, 0, k), part(draw, x, axis, n - k, n)
    for new, at in ((last, 0), (first, n - k)):
        starts = [draw.filled(at if i == axis else 0, Shape("s32")) for i in range(len(x.dims))]
        x = draw.add("dynamic-update-slice", x.shape, [x, new, *starts], rule="move")
    return x


def read_later(draw: Draw) -> Value:
    """Update a value, and combine the new one with the old one or a part of it."""
    x = some(draw, 1, 3)
    axis = draw.among(0, len(x.dims) - 1)
    if x.dims[axis] < 1:
        return x
    k = draw.among(1, max(x.dims[axis] // 2, 1))
    dims = tuple(k if i == axis else n for i, n in enumerate(x.dims))
    new = draw.like(replace(x.shape, dims=dims), tame=True, exact=True)
    after = update(draw, x, new)
    if draw.pick([True, False]):
        return update(draw, after, part(draw, x, axis, 0, k))
    parts = [part(draw, x, axis, 0, k), after]
    whole = tuple(n + k if i == axis else n for i, n in enumerate(x.dims))
    attributes = f", dimensions={{{axis}}}"
    return draw.add("concatenate", Shape(x.dtype, whole), parts, attributes, rule="move")


def row(draw: Draw) -> Value:
    """Read a row at a computed place, and write it at another."""
    x = some(draw, 1, 3)
    axis = draw.among(0, len(x.dims) - 1)
    n = x.dims[axis]
    if n < 1:
        return x
    dims = tuple(1 if i == axis else m for i, m in enumerate(x.dims))
    zero = draw.filled(0, Shape("s32"))
    starts = [start(draw, n - 1) if i == axis else zero for i in range(len(dims))]
    attributes = f", dynamic_slice_sizes={braces(dims)}"
    shape = replace(x.shape, dims=dims)
    taken = draw.add("dynamic-slice", shape, [x, *starts], attributes, rule="move")
    if draw.pick([False, True]):
        draw.values.append(taken)
        taken = mix(draw)
        if taken.shape != shape:
            return taken
    fit = [v for v in draw.values if v.shape == x.shape]
    return update(draw, draw.pick(fit[::-1]), taken)


OPS = (overlap, overlap, swapped, read_later, read_later, row, row, gather, scatter)

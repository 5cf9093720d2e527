"""Import shape operators, concatenation, splitting, repetition and padding."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import is_pred
from neuronir.frontends.graph import padding as P
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import broadcast_shape, broadcast_to, need_one_type
from neuronir.frontends.graph.indexing import joined
from neuronir.frontends.graph.reductions import axis_from, dims_from
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.frontends.tensorflow.values import Value
from neuronir.passes.hlo.support.values import shape

MOST_PARTS = 1 << 16
"""A tensor is unpacked into at most this many parts."""
LARGEST_RANGE = 1 << 24


@op("Shape", "ShapeN")
def shape_of(o: Op) -> Value | Sequence[Value]:
    """Return the shape of each operand as a constant."""
    return [o.index_constant(o.dims(i)) for i in range(len(o))]


@op("Size")
def size(o: Op) -> SSAValue:
    """Return the number of elements."""
    return o.index_constant(prod(o.dims()))


@op("Rank")
def rank(o: Op) -> SSAValue:
    """Return the number of dimensions."""
    return o.b.constant(np.array(len(o.dims()), np.int32))


@op("Reshape")
def reshape(o: Op) -> SSAValue:
    """Reshape; one dimension may be -1."""
    dims, count = list(o.ints(1, "the shape")), prod(o.dims())
    if dims.count(-1) > 1 or any(n < -1 for n in dims):
        refuse(f"shape {dims} is malformed")
    if -1 in dims:
        rest = prod(n for n in dims if n != -1)
        if rest == 0 or count % rest:
            refuse(f"shape {list(o.dims())} cannot become {dims}")
        dims[dims.index(-1)] = count // rest
    if prod(dims) != count:
        refuse(f"shape {list(o.dims())} cannot become {dims}")
    return o.b.reshape(o[0], dims)


@op("ExpandDims")
def expand_dims(o: Op) -> SSAValue:
    """Insert a dimension of size one."""
    dims = list(o.dims())
    dims.insert(axis_from(o.integer(1, "the axis"), len(dims) + 1), 1)
    return o.b.reshape(o[0], dims)


@op("Squeeze")
def squeeze(o: Op) -> SSAValue:
    """Remove dimensions of size one: all, or the named ones."""
    dims = o.dims()
    named = dims_from(o.int_list("squeeze_dims", ()), len(dims))
    if any(dims[d] != 1 for d in named):
        refuse(f"dimensions {list(named)} of shape {list(dims)} are not all of size one")
    gone = set(named) or {d for d, n in enumerate(dims) if n == 1}
    return o.b.reshape(o[0], [n for d, n in enumerate(dims) if d not in gone])


@op("Transpose", "ConjugateTranspose")
def transpose(o: Op) -> SSAValue:
    """Permute the dimensions."""
    order = o.ints(1, "the permutation")
    found = tuple(axis_from(d, len(o.dims())) for d in order)
    if sorted(found) != list(range(len(o.dims()))):
        refuse(f"{list(order)} is not a permutation of {len(o.dims())} dimensions")
    return o.b.transpose(o[0], found)


@op("Fill")
def fill(o: Op) -> SSAValue:
    """Fill a shape with a scalar."""
    return o.b.broadcast(o.b.reshape(o[1], ()), _sizes(o.ints(0, "the shape")), ())


def _sizes(dims: Sequence[int]) -> Sequence[int]:
    if any(n < 0 for n in dims):
        refuse(f"shape {list(dims)} has negative dimensions")
    return dims


@op("BroadcastTo")
def broadcast(o: Op) -> SSAValue:
    """Broadcast the operand to a shape."""
    return broadcast_to(o.b, o[0], _sizes(o.ints(1, "the shape")))


@op("BroadcastArgs")
def broadcast_args(o: Op) -> SSAValue:
    """Return the common broadcast shape of two shapes."""
    found = broadcast_shape(o.ints(0, "a shape"), o.ints(1, "a shape"))
    return o.index_constant(found, "T")


@op("Tile")
def tile(o: Op) -> SSAValue:
    """Repeat each dimension."""
    counts, dims = _sizes(o.ints(1, "the counts")), o.dims()
    if len(counts) != len(dims):
        refuse(f"{len(counts)} counts do not fit {len(dims)} dimensions")
    wide = [n for pair in zip(counts, dims, strict=True) for n in pair]
    spread = o.b.broadcast(o[0], wide, range(1, len(wide), 2))
    return o.b.reshape(spread, [c * n for c, n in zip(counts, dims, strict=True)])


@op("Pack")
def pack(o: Op) -> SSAValue:
    """Stack operands of one shape along a new dimension."""
    need_one_type(*o.tensors())
    dims = o.dims()
    if any(o.dims(i) != dims for i in range(len(o))):
        refuse("all operands must have one shape")
    axis = axis_from(o.int("axis", 0), len(dims) + 1)
    parts = [o.b.reshape(v, (*dims[:axis], 1, *dims[axis:])) for v in o.tensors()]
    return o.b.concatenate(parts, axis)


@op("Unpack", "Unstack")
def unpack(o: Op) -> list[Value]:
    """Split along a dimension and drop it."""
    dims = o.dims()
    axis = axis_from(o.int("axis", 0), len(dims))
    count = o.int("num", dims[axis])
    if count != dims[axis] or count > MOST_PARTS:
        refuse(f"dimension {axis} of size {dims[axis]} cannot be taken apart into {count}")
    rest = (*dims[:axis], *dims[axis + 1 :])
    return [o.b.reshape(part, rest) for part in _parts(o, o[0], axis, [1] * count)]


def _parts(o: Op, value: SSAValue, axis: int, sizes: Sequence[int]) -> list[SSAValue]:
    dims, parts, start = shape(value), [], 0
    for n in sizes:
        low, high = [0] * len(dims), list(dims)
        low[axis], high[axis] = start, start + n
        parts.append(o.b.slice(value, low, high))
        start += n
    return parts


@op("Split")
def split(o: Op) -> list[Value]:
    """Split into parts of equal size along a dimension, which is the first operand."""
    dims, count = o.dims(1), o.int("num_split")
    axis = axis_from(o.integer(0, "the axis"), len(dims))
    if not 1 <= count <= MOST_PARTS or dims[axis] % count:
        refuse(f"dimension {axis} of size {dims[axis]} does not divide into {count}")
    return list(_parts(o, o[1], axis, [dims[axis] // count] * count))


@op("SplitV")
def split_v(o: Op) -> list[Value]:
    """Split into parts of given sizes, one of which may be -1."""
    dims, sizes = o.dims(), list(o.ints(1, "the sizes"))
    axis = axis_from(o.integer(2, "the axis"), len(dims))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = dims[axis] - sum(n for n in sizes if n != -1)
    if any(n < 0 for n in sizes) or sum(sizes) != dims[axis]:
        refuse(f"sizes {sizes} do not make up dimension {axis} of size {dims[axis]}")
    return list(_parts(o, o[0], axis, sizes))


@op("ConcatV2")
def concat_v2(o: Op) -> SSAValue:
    """Concatenate operands; the dimension is the last operand."""
    return _concat(o, o.tensors(0, -1), o.integer(len(o) - 1, "the axis"))


@op("Concat")
def concat(o: Op) -> SSAValue:
    """Concatenate operands; the dimension is the first operand."""
    return _concat(o, o.tensors(1), o.integer(0, "the axis"))


def _concat(o: Op, values: list[SSAValue], axis: int) -> SSAValue:
    if not values:
        refuse("it has no inputs")
    return joined(o.b, values, axis)


@op("Pad", "PadV2")
def pad(o: Op) -> SSAValue:
    """Pad with a constant; zero for Pad."""
    low, high = _amounts(o)
    return P.pad(o.b, o[0], low, high, fill=o[2] if len(o) > 2 else None)


@op("MirrorPad")
def mirror_pad(o: Op) -> SSAValue:
    """Pad with mirrored elements."""
    low, high = _amounts(o)
    mode = o.text("mode").lower()
    most = 1 if mode == "reflect" else 0
    if any(max(a, c) > n - most for a, c, n in zip(low, high, o.dims(), strict=True)):
        refuse(f"padding {low} and {high} is more than shape {list(o.dims())} can be mirrored for")
    return P.pad(o.b, o[0], low, high, mode)


def _amounts(o: Op) -> tuple[list[int], list[int]]:
    amounts = o.array(1, "the padding")
    if amounts.shape != (len(o.dims()), 2) or bool((amounts.astype(np.int64) < 0).any()):
        refuse(f"the padding must be {len(o.dims())} pairs of non-negative integers")
    return [int(n) for n in amounts[:, 0]], [int(n) for n in amounts[:, 1]]


@op("ReverseV2")
def reverse_v2(o: Op) -> SSAValue:
    """Reverse dimensions."""
    return o.b.reverse(o[0], dims_from(o.ints(1, "the axes"), len(o.dims())))


@op("Reverse")
def reverse(o: Op) -> SSAValue:
    """Reverse the dimensions whose predicate holds."""
    chosen = o.array(1, "the choice of dimensions").reshape(-1)
    if not is_pred(o.element(1)) or chosen.size != len(o.dims()):
        refuse("it takes one predicate for each dimension")
    return o.b.reverse(o[0], [int(d) for d in np.flatnonzero(chosen)])


@op("Roll")
def roll(o: Op) -> SSAValue:
    """Rotate elements along dimensions."""
    value, axes, shifts = o[0], o.ints(2, "the axes"), o.ints(1, "the shift")
    if len(axes) != len(shifts):
        refuse(f"{len(shifts)} shifts do not fit {len(axes)} axes")
    for axis, by in zip(axes, shifts, strict=True):
        d = axis_from(axis, len(o.dims()))
        n = o.dims()[d]
        if n and by % n:
            first, last = _parts(o, value, d, [n - by % n, by % n])
            value = o.b.concatenate([last, first], d)
    return value


def _number(o: Op, index: int) -> Array:
    """Return a finite scalar that must be known."""
    array = o.array(index, "the bounds")
    if array.size != 1 or array.dtype.kind in "bc" or not np.isfinite(array.astype(np.float64)):
        refuse("the bounds must be finite scalars")
    return array.reshape(())


@op("Range")
def range_(o: Op) -> SSAValue:
    """Return values from a start to before a limit with a step."""
    need_one_type(*o.tensors())
    start, limit, step = (_number(o, i) for i in range(3))
    if float(step) == 0:
        refuse("the step must not be zero")
    count = max(0, int(np.ceil((float(limit) - float(start)) / float(step))))
    if count > LARGEST_RANGE:
        refuse(f"{count} elements are too many")
    dtype: Any = start.dtype
    values = np.multiply(np.arange(count).astype(dtype), step, dtype=dtype)
    return o.b.constant(np.add(values, start, dtype=dtype))


@op("LinSpace")
def linspace(o: Op) -> SSAValue:
    """Return evenly spaced values from a start to a stop."""
    start, stop = (_number(o, i) for i in range(2))
    count = o.integer(2, "the count")
    if not 1 <= count <= LARGEST_RANGE:
        refuse(f"{count} numbers cannot be generated")
    values = np.linspace(float(start), float(stop), count)
    return o.b.constant(values.astype(start.dtype))

"""Fold a long dimension into pieces, which lie on partitions."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.nc.machine import PARTITIONS
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.support.build import Builder, binary_region
from neuronir.passes.hlo.support.shifts import part
from neuronir.passes.hlo.support.values import element, shape

SHORT = 4096
"""Dimensions up to this length are not folded: a row takes a few microseconds."""
LONGEST = 16_384
"""Limit of elements of a piece: the limit of a row in SBUF."""


def pieces_of(dims: Sequence[int], axis: int) -> tuple[int, int] | None:
    """Return (pieces, length) in which a dimension is folded; the product may be less than its
    size, by fewer elements than there are pieces.

    Returns None if the dimension is short, or if other dimensions fill the partitions.
    """
    n, outer, inner = dims[axis], prod(dims[:axis]), prod(dims[axis + 1 :])
    if outer * inner >= PARTITIONS and inner > 1:
        return None
    most = max(PARTITIONS // max(1, outer), -(-n // LONGEST))
    if n <= SHORT or most < 2:
        return None
    divisor = next((k for k in range(most, most // 2, -1) if n % k == 0), most)
    return divisor, n // divisor


def split(x: SSAValue, axis: int, pieces: int, length: int, e: Builder) -> SSAValue:
    """Replace a dimension by two."""
    dims = shape(x)
    return e.reshape(x, (*dims[:axis], pieces, length, *dims[axis + 1 :]))


def running(
    x: SSAValue, axis: int, opcode: str, neutral: complex, backwards: bool, e: Builder
) -> SSAValue:
    """Build a running reduction along a dimension."""
    rank, n = len(shape(x)), shape(x)[axis]
    windows, padding = [1] * rank, [0] * (2 * rank)
    windows[axis], padding[2 * axis + backwards] = n, n - 1
    ones = i64_array([1] * rank)
    properties = {
        "window_dimensions": i64_array(windows),
        "window_strides": ones,
        "base_dilations": ones,
        "window_dilations": ones,
        "padding": i64_array(padding),
    }
    kind = element(x)
    operands = [x, e.scalar(neutral, kind)]
    return e.emit("reduce_window", operands, x.type, properties, [binary_region(opcode, kind)])


def running_in_pieces(
    x: SSAValue, axis: int, opcode: str, neutral: complex, backwards: bool, e: Builder
) -> SSAValue | None:
    """Build a running reduction of a long dimension:

        %r = running sum of %x [n]   ->   %y = running sum along 1 of %x [pieces, length]
                                          %t = running sum of %y[:, -1] [pieces]
                                          %r = %y + %t of the preceding piece

    Elements that are left over are reduced by themselves, at the end. Returns None if the
    dimension is not folded.
    """
    dims = shape(x)
    found = pieces_of(dims, axis)
    if found is None:
        return None
    pieces, length = found
    kind = element(x)
    if is_float(kind) and byte_size(kind) < byte_size(f32):  # sums are in f32
        x = e.convert(x, f32)
    n, main = dims[axis], pieces * length
    low, high = (n - main, n) if backwards else (0, main)
    folded = split(part(x, axis, low, high, e), axis, pieces, length, e)
    y = running(folded, axis + 1, opcode, neutral, backwards, e)
    edge = 0 if backwards else length - 1
    whole = (*dims[:axis], pieces, *dims[axis + 1 :])
    totals = e.reshape(part(y, axis + 1, edge, edge + 1, e), whole)
    totals = running(totals, axis, opcode, neutral, backwards, e)
    start = e.scalar(neutral, element(x))
    before, after = [0] * len(whole), [0] * len(whole)
    before[axis], after[axis] = (-1, 1) if backwards else (1, -1)
    preceding = e.pad(totals, start, before, after)
    kept = [d for d in range(len(dims) + 1) if d != axis + 1]
    y = e.binary(opcode, y, e.broadcast(preceding, shape(y), kept))
    y = e.reshape(y, shape(part(x, axis, low, high, e)))
    if main < n:
        rest = part(x, axis, 0, low, e) if backwards else part(x, axis, high, n, e)
        rest = running(rest, axis, opcode, neutral, backwards, e)
        edge = 0 if backwards else pieces - 1
        total = e.reshape(part(totals, axis, edge, edge + 1, e), (*dims[:axis], *dims[axis + 1 :]))
        kept = [d for d in range(len(dims)) if d != axis]
        rest = e.binary(opcode, rest, e.broadcast(total, shape(rest), kept))
        y = e.concatenate([rest, y] if backwards else [y, rest], axis)
    return e.convert(y, kind)

"""Rewrite running reductions over an outer dimension, in pieces that lie on partitions."""

from itertools import pairwise

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.cloning import clone_region
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.decompositions.windows import cumulative
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.walk import erase_dead

PIECES = 128
"""Limit of pieces: each lies on a partition."""
FEWEST = 32
"""Minimum of pieces."""
LONGEST = 64
"""Limit of elements of a piece, which are reduced one after the other."""


def expand_running(op: Operation, opcode: str) -> bool:
    """Write a running reduction along a dimension that is not the last one in pieces.

    Positions of other dimensions would have to lie on partitions, which takes two transposes. The
    elements of each piece are combined one after another, for all pieces at once, and then with the
    running reduction of the preceding pieces:

        %r = running max %x [2048, n]   ->   %y = running max along 1 of %x [128, 16, n]
                                             %t = running max of %y[:, 15] [128, n]
                                             %r = max(%y, %t of the preceding piece)

    A backward one begins at the end of each piece, and continues with the piece that follows.
    Returns False for other windows and for dimensions without suitable divisors.
    """
    found = cumulative(op)
    x, start = op.operands[0], op.operands[1]
    shape = shape_of(x)
    if found is None or found[0] == len(shape) - 1:
        return False
    d, backwards = found
    n = shape[d]
    pieces = max((k for k in range(1, PIECES + 1) if n % k == 0), default=1)
    length = n // pieces
    if pieces < FEWEST or not 2 <= length <= LONGEST:
        return False
    build = Emitter(op)
    split = build.reshape(x, [*shape[:d], pieces, length, *shape[d + 1 :]])
    rows = [_at(build, split, d + 1, i, 1) for i in range(length)]
    order = range(length)[::-1] if backwards else range(length)
    for i, j in pairwise(order):
        rows[j] = build.binary(opcode, rows[i], rows[j])
    whole = [*shape[:d], pieces, *shape[d + 1 :]]
    last = build.reshape(rows[order[-1]], whole)
    total = _again(build, op, last, d, backwards=backwards)
    kept = _at(build, total, d, int(backwards), pieces - 1)
    low, high = [0] * len(whole), [0] * len(whole)
    (high if backwards else low)[d] = 1
    before = build.pad(kept, start, low, high)
    before = build.reshape(before, [*shape[:d], pieces, 1, *shape[d + 1 :]])
    joined = build.concatenate([build.binary(opcode, row, before) for row in rows], d + 1)
    op.results[0].replace_all_uses_with(build.reshape(joined, shape))
    erase_dead(op)
    return True


def _again(build: Emitter, op: Operation, x: SSAValue, d: int, *, backwards: bool) -> SSAValue:
    """Build the same running reduction of a shorter dimension."""
    n, rank = shape_of(x)[d], len(shape_of(x))
    windows, padding = [1] * rank, [0] * (2 * rank)
    windows[d] = n
    padding[2 * d + backwards] = n - 1
    properties = {
        **op.properties,
        "window_dimensions": i64_array(windows),
        "padding": i64_array(padding),
    }
    regions = [clone_region(region) for region in op.regions]
    return build.emit("reduce_window", [x, op.operands[1]], x.type, properties, regions)


def _at(build: Emitter, x: SSAValue, d: int, first: int, count: int) -> SSAValue:
    """Return `count` positions along a dimension."""
    starts, limits = [0] * len(shape_of(x)), list(shape_of(x))
    starts[d], limits[d] = first, first + count
    return build.slice(x, starts, limits)

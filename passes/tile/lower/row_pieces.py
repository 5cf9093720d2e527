"""Decide in how many pieces to compute small values that are broadcast to large ones.

The mean of each row, and its derived values, are little work. Computed in one piece, they would
delay the first rows until the last ones are available.
"""

from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.tile.layout import layout_of
from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import row_major
from neuronir.passes.tile.layouts.place import from_layout

MOST = 4
"""Limit of pieces of a small value."""
FAR = 8
"""Limit of ops between a small value and its broadcast."""


def spreads(value: SSAValue, far: int = FAR) -> int:
    """Return how often elements of a value are read side by side in a larger one; 1 if never.

    The rows of the larger value follow those of the small value.
    """
    most = 1
    for use in value.uses:
        op = use.operation
        if not op.results or not far:
            continue
        result = op.results[0]
        if op.name == "hlo.broadcast":
            if _row_by_row(op):
                most = max(most, prod(shape_of(result)) // max(1, prod(shape_of(value))))
        elif op.name in ELEMENTWISE or op.name in ("hlo.reshape", "hlo.bitcast"):
            if prod(shape_of(result)) == prod(shape_of(value)):
                most = max(most, spreads(result, far - 1))
    return most


def _row_by_row(op: Operation) -> bool:
    """Return whether the outermost free digit of a broadcast's reader varies in the broadcast."""
    varies = ints(op, "dimensions")
    for use in op.results[0].uses:
        reader = use.operation
        layout = layout_of(reader.results[0]) if reader.results else None
        if layout is None or shape_of(reader.results[0]) != shape_of(op.results[0]):
            continue
        shape = shape_of(op.results[0])
        free = from_layout(shape, layout).free
        if not free:
            continue
        outer = max(free, key=lambda pair: pair[1])[0]
        top = outer.end // 2 if outer.size % 2 == 0 else outer.stride
        for d, (s, n) in enumerate(zip(row_major(shape), shape, strict=True)):
            if n > 1 and s <= top < s * n:
                return d in varies
    return False

"""In how many pieces small values of rows are made: as the large ones are that they spread over.

The mean of each row, and what is made of it, is little work; made in one piece it would still hold
up the first rows until the last ones are there.
"""

from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.tile.layout import layout_of
from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import row_major
from neuronir.passes.tile.layouts.place import from_layout

MOST = 4
"""Pieces of a small value at most."""
FAR = 8
"""Ops between a small value and what it spreads over at most."""


def spreads(value: SSAValue, far: int = FAR) -> int:
    """How often the elements of a value are read side by side in a larger one, whose rows come one
    after the other as those of the value do; 1 where nobody does so."""
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
    """Whether what reads a broadcast has outermost on its free axis a digit along which the
    broadcast varies."""
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

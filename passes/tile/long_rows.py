"""Let transfers pad and slice long rows, whose elements are on all partitions.

A row of 50,257 elements that is padded to 65,536 lies as 128 pieces of 512, and no layout divides
the pieces and the row. Transfers move it in boxes that are contiguous in the layout.
"""

from math import gcd, prod

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, BlockArgument, Operation

from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.tile.whole import LARGEST_ROW, MARK


def mark_margins(block: Block, partitions: int) -> int:
    """Mark pads of arguments, and slices of computed values, that have one long dimension; return
    their number.
    """
    found = [op for op in block.ops if _pads(op) or _slices(op, partitions)]
    for op in found:
        op.attributes[MARK] = UnitAttr()
    return len(found)


def _pads(op: Operation) -> bool:
    names = ("edge_padding_low", "edge_padding_high")
    return (
        op.name == "hlo.pad"
        and isinstance(op.operands[0], BlockArgument)
        and _is_long_row(shape_of(op.results[0]))
        and all(n >= 0 for name in names for n in ints(op, name))
        and not any(ints(op, "interior_padding"))
    )


def _slices(op: Operation, partitions: int) -> bool:
    """Return whether no piece of a row that fills the partitions divides a slice of it."""
    if op.name != "hlo.slice" or isinstance(op.operands[0], BlockArgument):
        return False
    shape = shape_of(op.operands[0])
    if not _is_long_row(shape) or any(n != 1 for n in ints(op, "strides")):
        return False
    along = shape.index(max(shape))
    ends = (ints(op, f"{name}_indices")[along] for name in ("start", "limit"))
    piece = gcd(shape[along], *ends)
    return piece * partitions < max(shape)


def _is_long_row(shape: tuple[int, ...]) -> bool:
    return prod(shape) == max(shape, default=1) > LARGEST_ROW

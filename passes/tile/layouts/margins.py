"""Count the transfers that pad or trim an array: several if a box must be cut into parts."""

from collections.abc import Sequence

from xdsl.ir import Operation

from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.layouts.maps import Partition, cut
from neuronir.passes.tile.whole import MARK


def parts(partition: Partition, shape: tuple[int, ...], dims: Sequence[int]) -> int:
    """Return the transfers of an array of `shape` that is smaller along `dims`.

    A digit on partitions is cut in two: its whole positions, and the last one, which is shorter.
    Digits with larger steps on partitions then take a transfer for each position.
    """
    pieces = cut(partition, shape)
    if pieces is None:
        return 1
    count = 1
    for _, step, d in pieces:
        if d in dims:
            count *= 2
            for other, outer, e in pieces:
                if outer > step and e not in dims:
                    count *= other.size
    return count


def margin_dims(op: object) -> list[int]:
    """Return the dimensions along which a transfer pads the result of an op, or trims its
    operand.
    """
    if not isinstance(op, Operation) or MARK not in op.attributes:
        return []
    if op.name not in ("hlo.pad", "hlo.slice"):
        return []
    sizes = zip(shape_of(op.operands[0]), shape_of(op.results[0]), strict=True)
    return [d for d, (n, m) in enumerate(sizes) if n != m]

"""Find instructions whose writes overlap their own reads.

An engine reads ahead of its writes by an unknown amount, and DMA engines process the parts of a
transfer in any order. An instruction may therefore write only bytes that it does not otherwise
access, or, in an elementwise instruction, the element from which the result is computed.
"""

from collections.abc import Callable

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import Shape, reads, shape_of, shapes_overlap, writes
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction
from neuronir.targets.simulator.walker import Env

_IN_PLACE: dict[str, tuple[int, ...]] = {
    "activation": (0,),
    "tensor_tensor": (0, 1),
    "tensor_scalar": (0,),
    "scalar_tensor_tensor": (0, 2),
    "tensor_tensor_scan": (0, 1),
    "tensor_copy": (0,),
    "copy_predicated": (0, 1),
    "reciprocal": (0,),
    "affine_select": (0,),
    "dma": (0,),
}
"""Elementwise instructions: the sources of which each element is read only for its own result."""

_Pair = tuple[Shape, Affine, Shape, Affine]


class SelfOverlaps:
    """The operand pairs of a static instruction that must not overlap."""

    def __init__(
        self, instruction: Instruction, widened: Callable[[AccessPattern], AccessPattern]
    ) -> None:
        """Create the check; `widened` extends a pattern to all values of registers in its
        address.
        """
        self._pairs: list[_Pair] = []
        i = instruction
        in_place = [i.src[role] for role in _IN_PLACE.get(i.opcode, ())]
        targets = writes(i)
        sources = reads(i) if i.opcode == "dma_gather" else [ap for ap in i.src if ap is not None]
        for k, target in enumerate(targets):
            for other in (*targets[:k], *sources):
                if not _same_partitions(target, other):
                    continue
                pair = (target, other)
                if target.address.terms == other.address.terms:
                    elementwise = k == 0 and any(other is ap for ap in in_place)
                    if elementwise and _same_elements(target, other):
                        if target.address == other.address:
                            continue
                else:  # registers that move both equally do not matter
                    pair = (widened(target), widened(other))
                (a, b), (x, y) = pair, (shape_of(ap) for ap in pair)
                self._pairs.append((x, a.address, y, b.address))

    def meet(self, env: Env) -> bool:
        """Return whether the operands of a pair share a byte for these values of the symbols."""
        return any(
            shapes_overlap(one, other, second.at(env) - first.at(env))
            for one, first, other, second in self._pairs
        )


def _same_partitions(a: AccessPattern, b: AccessPattern) -> bool:
    if a.space != b.space:
        return False
    return a.space == Space.HBM or (
        a.start < b.start + b.partitions and b.start < a.start + a.partitions
    )


def _same_elements(a: AccessPattern, b: AccessPattern) -> bool:
    """Return whether the n-th elements of both are the same bytes, at one address."""
    return (a.start, a.dtype.size, _dims(a)) == (b.start, b.dtype.size, _dims(b))


def _dims(ap: AccessPattern) -> list[tuple[int, int]]:
    """Return (stride, size) of the dimensions in bytes, outermost first, contiguous ones joined.

    Partitions come first.
    """
    size = ap.dtype.size
    on_chip = ap.space != Space.HBM
    # Partitions on the chip are not contiguous, so their number is a separate dimension.
    dims: list[tuple[int, int]] = []
    rows = [] if on_chip else [(ap.partition_stride, ap.partitions)]
    for stride, n in [*rows, *((stride * size, n) for stride, n in ap.free)]:
        if n == 1:
            continue
        if dims and dims[-1][0] == stride * n:
            dims[-1] = (stride, dims[-1][1] * n)
        else:
            dims.append((stride, n))
    return [(0, ap.partitions), *dims] if on_chip else dims

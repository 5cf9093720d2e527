"""Describe the ops of a group by what does not depend on its loops (see buffers.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size
from neuronir.passes.tile.axes import Key, Related
from neuronir.passes.tile.sums import carried_element


@dataclass(eq=False)
class Buffer:
    """A value that may have a buffer: its leaf axes, and the bytes of an element."""

    key: Key
    value: SSAValue
    leaves: Sequence[int]
    item: int
    related: Related

    @cached_property
    def based(self) -> frozenset[int]:
        """Return the axes, with derived ones replaced by their bases."""
        return self.related.based(self.leaves)

    @cached_property
    def shared(self) -> tuple[tuple[int, ...], int]:
        """Return what decides the size of a tile, besides the loops."""
        return tuple(self.leaves), self.item

    @cached_property
    def carried(self) -> int:
        """Return the bytes of an element in loops that add up a value made in the group."""
        return byte_size(carried_element(self.value))


@dataclass(frozen=True, slots=True)
class Step:
    """An op of a group that is no view.

    `roots` are the bases of its operands, `loaded` those from outside the group, `made` its
    buffered results, and `counts` the iotas that it reads with the axes that they count.
    """

    op: Operation
    roots: tuple[Key, ...]
    loaded: tuple[Buffer, ...]
    made: tuple[Buffer, ...]
    result: Buffer
    counts: tuple[tuple[Buffer, Sequence[int]], ...]

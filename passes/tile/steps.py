"""Describe the ops of a group by what does not depend on its loops (see buffers.py)."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from neuronir.passes.tile.axes import Key


@dataclass(frozen=True, slots=True)
class Buffer:
    """A value that may have a buffer: its leaf axes, their bases, and the bytes of an element.

    Loops that reduce carry elements of `carried` bytes.
    """

    key: Key
    value: SSAValue
    leaves: tuple[int, ...]
    based: frozenset[int]
    item: int
    carried: int


@dataclass(frozen=True, slots=True)
class Step:
    """An op of a group that is no view.

    `roots` are the bases of its operands, `loaded` those from outside the group, `made` its
    buffered results, and `counts` the iotas that it reads with the axes that they count.
    """

    op: Operation
    axes: frozenset[int]
    roots: tuple[Key, ...]
    loaded: tuple[Buffer, ...]
    made: tuple[Buffer, ...]
    result: Buffer
    counts: tuple[tuple[Buffer, Sequence[int]], ...]

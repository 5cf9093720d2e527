"""Decide how a value is converted between partitions, for costs and lowering alike."""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.layout import Atom, atom, span, split_at
from neuronir.passes.tile.layouts.maps import Partition, own, positions, repeats
from neuronir.passes.tile.layouts.stacks import stacked


class Way(Enum):
    """Methods of converting a partition."""

    SAME = "same"
    """No conversion is necessary."""
    SELECT = "select"
    """A product with zeros and ones: partitions are permuted or repeated."""
    TRANSPOSE = "transpose"
    """PE transposes: digits of the free axis and of partitions are exchanged."""
    PARTS = "parts"
    """PE transposes of some bits at a time as integers, exact for all bit patterns."""
    BLOCKS = "blocks"
    """DVE transposes of 32 x 32 blocks, which keep infinities and NaN intact."""
    STACK = "stack"
    """Copies to other partitions: free digits become the outermost ones on partitions, or vice
    versa."""
    MEMORY = "memory"
    """A store to HBM and a load."""


MOST_SCATTERED = 512
"""Minimum elements of a value for which digits are moved to one partition by transposes."""


def way(
    machine: Machine, size: int, dtype: DType, source: Partition, target: Partition, special: bool
) -> Way:
    """Return how a value of `size` elements is converted from `source` to `target`.

    `special` means that it may have infinities or NaN, which products would spread.
    """
    mine, wanted = own(source, size), own(target, size)
    if source == target or (not mine and not wanted and span(source) >= span(target)):
        return Way.SAME
    products = dtype.is_float and dtype.name in machine.matmul_dtypes
    digits = [a for a, _ in mine]
    if products and (not special or not mine) and dense(source) and within(machine, target):
        if digits == [a for a, _ in wanted] or set(digits) == {a for a, _ in wanted}:
            return Way.SELECT
    if repeats(target, size) or not (dense(mine) and dense(target)):
        return Way.MEMORY
    narrow = machine.pe_columns < machine.partitions  # elsewhere the copies delay recurrences
    if narrow and (stacked(machine, mine, wanted) or stacked(machine, wanted, mine)):
        return Way.STACK
    if not (leaves(mine, wanted, size) and leaves(wanted, mine, size)):
        return Way.MEMORY
    if not wanted and size > MOST_SCATTERED:
        return Way.MEMORY
    if (products and not special) or dtype.size == 1:
        return Way.TRANSPOSE
    if dtype.size in (2, 4):
        blocks = DType.F32.name not in machine.matmul_dtypes and len(wanted) <= 1
        return Way.BLOCKS if blocks else Way.PARTS
    return Way.MEMORY


@dataclass(frozen=True)
class Parts:
    """The parts of values that PE would corrupt: `count` integers of type `bits`, as `kind`."""

    count: int
    bits: DType
    kind: DType

    @classmethod
    def of(cls, dtype: DType, machine: Machine) -> "Parts":
        """Return the largest parts that PE multiplies exactly: 16 bits in fp32, or 8 in bf16."""
        if dtype.size > 1 and DType.F32.name in machine.matmul_dtypes:
            return cls(dtype.size // DType.U16.size, DType.U16, DType.F32)
        return cls(dtype.size, DType.U8, DType.BF16)


def within(machine: Machine, partition: Partition) -> bool:
    """Return whether a partition does not exceed the number of partitions."""
    return span(partition) <= machine.partitions


def dense(partition: Partition) -> bool:
    """Return whether a partition has no gaps."""
    return span(partition) == positions(partition)


@lru_cache(maxsize=100_000)
def leaves(taken: Partition, wanted: Partition, size: int) -> bool:
    """Return whether the digits of the other partition are whole in the rest of a partition."""
    cuts = {c for a, _ in taken for c in (a.stride, a.end)}
    rest = split_at(atom(size, 1), cuts)
    if rest is None:
        return False
    rest = tuple(
        r for r in rest if not any(a.stride <= r.stride and r.end <= a.end for a, _ in taken)
    )
    return all(any(_divides(a, r) for r in rest) for a, _ in wanted)


def _divides(a: Atom, whole: Atom) -> bool:
    inside = whole.stride <= a.stride and a.end <= whole.end
    return inside and a.stride % whole.stride == 0 and whole.end % a.end == 0

"""Find dimensions whose sizes do not divide over partitions, such as 197 tokens.

A layout puts digits of a dimension on partitions, and each digit must divide the dimension. If a
dot needs rows on partitions, and their number is a prime above the number of partitions, only one
partition can be used.
"""

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.interface import Need, Window
from neuronir.dialects.tile.rules import contracting, shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.tile.buffers import spread
from neuronir.passes.tile.whole import tiled

Dim = tuple[SSAValue, int]
"""A dimension of a value."""
LEAST = 0.5
"""A dot should use at least this share of the partitions."""
MOST_GROUPS = 16
"""From this many times the partitions on, a loop over strips loses little in its last, shorter one,
and padding would keep the dimension whole.
"""
MOST_CONSTANT = 1 << 20
"""Up to this many elements, a constant is padded at compile time."""


class Dims:
    """The dimensions of a block, in classes of equal size; `fixed` classes keep their size."""

    def __init__(self, block: Block) -> None:
        self._above: dict[Dim, Dim] = {}
        self.fixed: set[Dim] = set()
        self.last = block.last_op
        for op in block.ops:
            self._relate(op)
        self.fixed = {self.of(dim) for dim in self.fixed}

    def of(self, dim: Dim) -> Dim:
        """Return the representative of a dimension."""
        path = []
        while dim in self._above:
            path.append(dim)
            dim = self._above[dim]
        for one in path:
            self._above[one] = dim
        return dim

    def _join(self, a: Dim, b: Dim) -> None:
        one, other = self.of(a), self.of(b)
        if one != other:
            self._above[one] = other

    def _fix(self, values: Sequence[SSAValue]) -> None:
        for v in values:
            if isinstance(v.type, TensorType):
                self.fixed.update((v, d) for d in range(len(shape_of(v))))

    def _relate(self, op: Operation) -> None:
        if op is self.last or op.name == "hlo.tuple":
            return  # results are stored without padding
        tiling = tiled(op)
        if tiling is None or op.regions and op.name not in ("hlo.reduce", "hlo.composite"):
            self._fix((*op.operands, *op.results))
            return
        (result,) = op.results
        self.fixed.update((result, d) for d in tiling.whole if op.name != "hlo.constant")
        if op.name == "hlo.constant" and prod(shape_of(result)) > MOST_CONSTANT:
            self._fix(op.results)
        if tiling.regroups:
            self._regroup(op.operands[0], result)
            return
        for value, needs in zip(op.operands, tiling.operands, strict=True):
            for d, need in enumerate(needs):
                if isinstance(need, int):
                    self._join((value, d), (result, need))
                elif isinstance(need, Window):
                    self.fixed.update(((value, d), (result, need.dim)))
                elif need is Need.WHOLE:
                    self.fixed.add((value, d))
        if op.name == "hlo.dot":
            for a, b in zip(*contracting(op), strict=True):
                self._join((op.operands[0], a), (op.operands[1], b))

    def _regroup(self, source: SSAValue, result: SSAValue) -> None:
        """Join the dimensions that a reshape preserves."""
        before, after = shape_of(source), shape_of(result)
        ends = {(n, prod(before[d + 1 :])): d for d, n in enumerate(before) if n > 1}
        found = set()
        for d, n in enumerate(after):
            same = ends.get((n, prod(after[d + 1 :])))
            if n > 1 and same is not None:
                self._join((source, same), (result, d))
                found.add(same)
            else:
                self.fixed.add((result, d))
        self.fixed.update((source, d) for d in range(len(before)) if d not in found)


def padded_sizes(block: Block, machine: Machine) -> dict[Dim, int]:
    """Return the padded dimensions of all values of a block, with their padded sizes."""
    dims = Dims(block)
    roots = _awkward(block, dims, machine)
    out: dict[Dim, int] = {}
    for value in _values(block) if roots else ():
        if isinstance(value.type, TensorType):
            for d in range(len(shape_of(value))):
                size = roots.get(dims.of((value, d)))
                if size is not None:
                    out[value, d] = size
    return out


def _awkward(block: Block, dims: Dims, machine: Machine) -> dict[Dim, int]:
    """Return the representatives of the dimensions to pad, with their padded sizes."""
    found: dict[Dim, int] = {}
    for op in block.ops:
        if op.name != "hlo.dot" or tiled(op) is None:
            continue
        for value, d in _poor(op, machine.partitions):
            root = dims.of((value, d))
            n = shape_of(value)[d]
            if root not in dims.fixed and n > machine.partitions:
                groups = -(-n // machine.partitions)
                size = -(-n // groups) * groups
                if size != n and groups <= MOST_GROUPS:
                    found[root] = size
    return found


def _values(block: Block) -> Iterator[BlockArgument | SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _poor(op: Operation, limit: int) -> Iterator[Dim]:
    """Yield the dimensions that leave a dot few contracted rows, or few rows of its result."""
    sides = []
    names = ("lhs_batch_dims", "rhs_batch_dims")
    for value, dims, name in zip(op.operands, contracting(op), names, strict=True):
        shape = shape_of(value)
        if _few([shape[d] for d in dims], limit):
            yield from ((value, d) for d in dims)
        batch = ints(op, name)
        free = [d for d in range(len(shape)) if d not in dims and d not in batch]
        sides.append((value, free, [shape[d] for d in free]))
    most = max(prod(sizes) for _, _, sizes in sides)
    best = max(spread(tuple(sizes), limit) for _, _, sizes in sides)
    if most > limit and best < LEAST * limit:
        for value, free, _ in sides:
            yield from ((value, d) for d in free)


def _few(sizes: Sequence[int], limit: int) -> bool:
    return prod(sizes) > limit and spread(tuple(sizes), limit) < LEAST * limit

"""Choose the ops that are computed tile by tile: groups around values too large for SBUF.

A group is a convex set of ops that preserve a common tiled dimension. It grows from a large value
along large values (growing.py) and includes ops between its members. It is reduced until its whole
values (such as weights) and two iterations of its tiles fit in SBUF (fitting.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.data_movement import BroadcastOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layers.repetition import Repetition
from neuronir.passes.lowering.layers.shortened import shortened
from neuronir.passes.lowering.products.block_attribute import blockable
from neuronir.passes.lowering.streaming.blockwise import from_end_to_end
from neuronir.passes.lowering.streaming.dims import WHOLE
from neuronir.passes.lowering.streaming.fitting import Fitting
from neuronir.passes.lowering.streaming.group import Group, in_order, inner_bytes
from neuronir.passes.lowering.streaming.growing import Graph
from neuronir.passes.lowering.streaming.size import SEED_SHARE, VIEWS, loaded, nbytes, peak_bytes


def find_groups(
    block: Block,
    machine: Machine,
    layers: Sequence[Repetition] = (),
) -> list[Group]:
    """Return the groups of a block; none if all of its values fit in SBUF together.

    `layers` are the layers known to be equal.
    """
    capacity = machine.sbuf_usable_partition_bytes
    ops, same = shortened(block, layers)
    if peak_bytes(ops, machine, same) <= capacity * machine.partitions:
        return [
            Group([op], {}, 0, 0, blocked=True)
            for op in block.ops
            if blockable(op, machine) and from_end_to_end(op, block, machine)
        ]
    return _Finder(block, machine).find()


@dataclass(frozen=True, eq=False)
class _Span:
    """A part of the program, from op number `first` to `last`, and the groups that lie in it."""

    first: int
    last: int
    groups: tuple[Group, ...]


class _Finder:
    def __init__(self, block: Block, machine: Machine) -> None:
        self.machine = machine
        self.graph = Graph(block, machine)
        self.fitting = Fitting(machine)
        self.spans: list[_Span] = []
        """Disjoint parts of the program with all groups so far."""

    def find(self) -> list[Group]:
        groups: list[Group] = []
        seeds = [
            (loaded(value), self.graph.index[op], op, value)
            for op in self.graph.ops
            for value in (*op.operands, *op.results)
            if nbytes(value) * SEED_SHARE > self.graph.total
            and not self._narrowed(value)
            and not _one_number(value)
        ]
        tried: set[SSAValue] = set()
        for weight, _, op, value in sorted(seeds, key=lambda seed: seed[:2]):
            if op in self.graph.taken or value in tried or self.graph.pinned(value):
                continue
            tried.add(value)
            group = self._best(op, value)
            product = self._product(op, group)
            if product is not None:
                group = Group([product], {}, 0, 0, blocked=True)
            if weight and group is not None:
                if all(o.name in VIEWS or o.name == "hlo.convert" for o in group.ops):
                    continue  # its readers load it
            if group is not None and self._add(group):
                groups.append(group)
                self.graph.taken.update(group.ops)
        return groups

    def _add(self, group: Group) -> bool:
        """Add a group, and return True, unless it and others would depend on each other.

        Groups that depend on each other lie in one span, because only a group leads from an op to
        an earlier one.
        """
        places = [self.graph.index[op] for op in group.ops]
        first, last = min(places), max(places)
        met = [s for s in self.spans if s.first <= last and first <= s.last]
        span = _Span(
            min([first, *(s.first for s in met)]),
            max([last, *(s.last for s in met)]),
            (*(g for s in met for g in s.groups), group),
        )
        if not in_order(self.graph.ops[span.first : span.last + 1], span.groups):
            return False
        self.spans = [*(s for s in self.spans if s not in met), span]
        return True

    def _narrowed(self, value: SSAValue) -> bool:
        """Return whether a parameter is only loaded in other types.

        It is then on the chip only in those types.
        """
        return (
            self.machine.dma_casts
            and isinstance(value, BlockArgument)
            and all(use.operation.name == "hlo.convert" for use in value.uses)
        )

    def _best(self, op: Operation, value: SSAValue) -> Group | None:
        found: list[tuple[int, int, Group]] = []
        for dim, n in enumerate(shape_of(value)):
            if n < 2:
                continue
            tiling = self.graph.spread(op, value, dim)
            if tiling is None:
                continue
            members, tiling = self.graph.grow(op, tiling)
            group = self.fitting.fit(self.graph, op, members, tiling, n)
            if group is not None:
                found.append((inner_bytes(group), -dim, group))
        return max(found, key=lambda item: item[:2])[2] if found else None

    def _product(self, op: Operation, group: Group | None) -> Operation | None:
        """Return the dot that is lowered block by block instead of `group`, or None.

        The dot has the attribute for blocks and is the last op of the group, or it is `op` and no
        group fits. All other ops of the group are views and conversions. Returns None if the group
        tiles a computed operand of the dot: its tiles are then used directly, and the other operand
        is kept on the chip.
        """
        ops = [op] if group is None else group.ops
        products = [o for o in ops if blockable(o, self.machine)]
        if len(products) != 1 or ops[-1] is not products[0]:
            return None
        if any(o.name not in VIEWS and o.name != "hlo.convert" for o in ops[:-1]):
            return None
        if group is not None:
            followed = (v for v in products[0].operands if group.tiling.get(v, WHOLE) != WHOLE)
            if any(not loaded(v) for v in followed):
                return None
        return products[0]


def _one_number(value: SSAValue) -> bool:
    """Return whether a value is a broadcast scalar, which takes no memory."""
    op = value.owner
    return isinstance(op, BroadcastOp) and prod(shape_of(op.operands[0])) == 1

"""Choose groups: neighbours are fused if that is estimated to be faster.

Initially every op, or chain of elementwise ops, is a group. Values are then visited in the order of
the bytes of traffic that a fusion of their producers and readers saves. Two groups are fused if
their axes are compatible, a tile of the result fits, and the fused group takes less time than both.
"""

from collections.abc import Sequence
from itertools import combinations

from xdsl.ir import Block, Operation, OpResult, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.tile.group import (
    Group,
    Loop,
    is_source,
    is_view,
    make_group,
    nbytes,
    root_of,
)
from neuronir.passes.tile.group_order import INSERT, GroupOrder
from neuronir.passes.tile.room import Room
from neuronir.passes.tile.searches import found_before
from neuronir.passes.tile.tiles import uneven
from neuronir.passes.tile.times import GroupTimes, Times
from neuronir.passes.tile.whole import whole

MOST_LOOPS = 3
"""Limit of loops of a nest."""
MOST_AXES = 6
"""Limit of axes that are tried."""
SQUARES = (128, 256, 512, 1024, 2048)
"""Tile sizes of nests that split two axes, such as those of a transpose."""
MOST_UNEVEN = 6
"""Limit of unrolled iterations of a nest with padding at its edges."""
SPLIT = 1.1
"""How much slower a group may be in less room before it is split."""
MOST_BETWEEN = 8
"""Limit of groups fused at once, if each is between two others."""
MANY_OPS = 120
"""Limit of ops of a group, because the body of its loop is pipelined as a whole."""


APART = frozenset(("hlo.tuple", INSERT, "tile.empty", "tile.to_index"))
"""Arrays that loops assemble, trip counts and terminators of the program, which are in no group."""


class Grouping:
    """Finds the groups of a block."""

    def __init__(
        self,
        block: Block,
        machine: Machine,
        resident: frozenset[SSAValue],
        room: Room,
        part: Sequence[Operation] | None = None,
        again: frozenset[Operation] = frozenset(),
    ) -> None:
        """Create a search; `part` are the ops of the block to group (default: all but the last).

        `again` are ops that recompute values of other groups: they join their readers only.
        """
        self.machine = machine
        self.times = GroupTimes(machine, resident)
        self.resident = resident
        self.room = room
        self.beside = 0
        ops = [op for op in block.ops if op is not block.last_op]
        self.order = {op: i for i, op in enumerate(ops)}
        self.nodes = [
            op
            for op in (ops if part is None else part)
            if op.name not in APART and not is_view(op) and not is_source(op)
        ]
        self.groups = GroupOrder(())
        self.opaque: frozenset[Operation] = frozenset()
        self.known: dict[frozenset[Operation], Times | None] = {}
        self.made: dict[frozenset[Operation], Group] = {}
        self.again = again
        staying = [r.op for r in resident if isinstance(r, OpResult)]
        numbers = tuple(self._numbers(frozenset(some)) for some in (self.nodes, again, staying))
        self.before = found_before(block, machine, numbers, room.size)

    def find(self) -> list[Group]:
        """Return the groups in an order in which each follows its operands."""
        self.groups = GroupOrder(self.nodes)
        self.opaque = frozenset(op for op in self.nodes if whole(op))
        members = self.groups.members
        self._chains()
        edges: list[tuple[int, int, Operation, Operation]] = []
        for op in self.nodes:
            for v in op.operands:
                maker = root_of(v).owner
                if isinstance(maker, Operation) and maker in members:
                    if op in self.again and maker not in self.again:
                        continue
                    edges.append((-nbytes(root_of(v)), self.order[op], maker, op))
        changed = True
        while changed:
            changed = False
            for _, _, maker, reader in sorted(edges, key=lambda e: e[:2]):
                if members[maker] is not members[reader]:
                    changed |= self._join(members[maker], members[reader])
        found = dict.fromkeys(members.values())
        groups = [self._group(ops) for ops in found]
        return self._sorted(groups)

    def _chains(self) -> None:
        """Fuse elementwise ops of one shape with the only reader of their result, if they fit.

        That always saves a value, and fusing long chains op by op takes long.
        """
        chains: dict[Operation, list[Operation]] = {}
        for op in self.nodes:
            chains[op] = [op]
            if not self._is_chained(op):
                continue
            for v in op.operands:
                maker = v.owner
                if not isinstance(maker, Operation) or not self._is_chained(maker):
                    continue
                if v.has_one_use() and shape_of(v) == shape_of(op.results[0]):
                    chains[op] = [*chains.pop(maker), *chains[op]]
        for chain in chains.values():
            ops = frozenset(chain)
            if 1 < len(ops) <= MANY_OPS and self.best(ops) is not None:
                parts = [self.groups.members[op] for op in sorted(ops, key=self.order.__getitem__)]
                self.groups.fuse(parts, ops)

    def _is_chained(self, op: Operation) -> bool:
        known = op in self.groups.members and op not in self.again and op not in self.opaque
        return known and op.name in ELEMENTWISE

    def _group(self, ops: frozenset[Operation]) -> Group:
        self.best(ops)
        if ops in self.made:
            return self.made[ops]
        group = make_group(sorted(ops, key=self.order.__getitem__), self.order)
        assert group is not None  # a single op with compatible axes, or it would have been excluded
        before = self.before.get(self._numbers(ops))
        return group if before is None else group.with_loops(before[0])

    def _join(self, left: frozenset[Operation], right: frozenset[Operation]) -> bool:
        """Fuse two groups, and those between them, if that is faster."""
        if len(left) + len(right) > MANY_OPS or left | right in self.known:
            return False
        parts = [left, *self.groups.between(left, right), right]
        both = frozenset().union(*parts)
        if len(both) > MANY_OPS or len(parts) > MOST_BETWEEN or not both.isdisjoint(self.opaque):
            return False
        if len(parts) > 2 and both in self.known:
            return False
        merged = self.best(both)
        if merged is None:
            return False
        alone = [self.best(part) for part in parts]
        if all(a is not None for a in alone):
            before = sum(a.total for a in alone if a is not None)
            if merged.total > before:
                return False
        self.groups.fuse(parts, both)
        return True

    def best(self, ops: frozenset[Operation]) -> Times | None:
        """Return the times of the group of these ops with the fastest loops; None if none fits."""
        if ops not in self.known:
            self.known[ops] = self._best(ops)
        return self.known[ops]

    def _best(self, ops: frozenset[Operation]) -> Times | None:
        numbers = self._numbers(ops)
        if numbers in self.before:
            before = self.before[numbers]
            if before is None:
                return None
            if self.room.fits(before[1].bytes, self.beside):
                return before[1]
        group = make_group(sorted(ops, key=self.order.__getitem__), self.order)
        found = None if group is None else self._tiled(group)
        self.before[numbers] = None if found is None else (found[0].loops, found[1])
        if found is None:
            return None
        self.made[ops] = found[0]
        return found[1]

    def _numbers(self, ops: frozenset[Operation]) -> frozenset[int]:
        return frozenset([self.order[op] for op in ops])

    def stay(self, resident: frozenset[SSAValue]) -> None:
        """Set which values are in SBUF between groups."""
        self.resident = resident
        self.times = GroupTimes(self.machine, resident)

    def within(self, group: Group, beside: int) -> list[Group]:
        """Return a group with loops whose tiles fit in the room beside other values (bytes per
        partition), or several groups if that is faster.
        """
        found = self._tiled(group.with_loops(()), beside)
        before = self.times.of(group)
        if found is not None and found[1].total <= SPLIT * before.total:
            return [found[0]]
        part = Grouping.__new__(Grouping)
        part.__dict__.update(self.__dict__)
        part.beside = beside
        part.nodes = [op for op in group.ops if not is_view(op)]
        part.known, part.made, part.before = {}, {}, {}
        groups = part.find()
        total = sum(self.times.of(g).total for g in groups)
        if found is not None and found[1].total <= total:
            return [found[0]]
        return groups

    def _tiled(self, group: Group, beside: int | None = None) -> tuple[Group, Times] | None:
        beside = self.beside if beside is None else beside
        whole = self.times.of(group)
        if self.room.fits(whole.bytes, beside):
            return group, whole
        related = group.related
        best: tuple[Group, Times] | None = None
        for loops in self.candidates(group):
            tried = group.with_loops(loops)
            # a tile of an iota is an iota and a start
            if any(related.axes.apart(row, tried.extent) for row in group.counts):
                continue
            if related.derived and uneven(tried, loops) > MOST_UNEVEN:
                continue
            peak = self.times.peak(tried)
            if not self.room.fits(peak, beside):
                continue
            times = self.times.of(tried, peak)
            if best is None or times.order < best[1].order:
                best = tried, times
        return best

    def candidates(self, group: Group) -> list[tuple[Loop, ...]]:
        """Return nests of loops: outer ones of single positions, the innermost of tiles of all
        sizes.
        """
        size = group.related.axes.size
        largest = max((r for op in group.ops if not is_view(op) for r in op.results), key=nbytes)
        place = {axis: i for i, axis in enumerate(group.related.leaves(largest))}
        axes = sorted(group.parallel(), key=lambda a: place.get(a, -1))
        summed = group.summed()
        axes = axes[:MOST_AXES]
        out: list[tuple[Loop, ...]] = []
        for count in range(1, MOST_LOOPS + 1):
            for chosen in combinations([*axes, *summed[:2]], count):
                outer = tuple(Loop(a, size(a), 1) for a in chosen[:-1])
                last = chosen[-1]
                for tile in ladder(size(last)):
                    out.append((*outer, Loop(last, size(last), tile)))
        for a, b in combinations([*axes, *summed[:2]], 2):
            for x in SQUARES:
                for y in SQUARES:
                    if x < size(a) and y < size(b):
                        out.append((Loop(a, size(a), x), Loop(b, size(b), y)))
        return out

    def _sorted(self, groups: Sequence[Group]) -> list[Group]:
        owner = {op: g for g in groups for op in g.ops if not is_view(op)}
        done: set[Group] = set()
        out: list[Group] = []

        def visit(group: Group) -> None:
            if group in done:
                return
            done.add(group)
            work = [v for op in group.ops for v in op.operands]
            while work:
                maker = root_of(work.pop()).owner
                other = owner.get(maker) if isinstance(maker, Operation) else None
                if other is not None and other is not group:
                    visit(other)
                elif isinstance(maker, Operation) and maker.name == INSERT:
                    work.extend(maker.operands)
            out.append(group)

        for group in sorted(groups, key=lambda g: max(self.order[op] for op in g.ops)):
            visit(group)
        return out


def ladder(size: int) -> list[int]:
    """Return candidate tile sizes: powers of two and multiples of 128, without remainder if
    possible.
    """
    found = {1 << k for k in range(size.bit_length()) if 1 << k < size}
    found |= {d for d in range(2, min(size, 129)) if size % d == 0}
    found |= {128 * k for k in (1, 2, 3, 4, 6, 8, 12, 16, 32) if 128 * k < size}
    found |= {128 * k for k in (5, 7) if 128 * k < size and size % (128 * k) == 0}
    return sorted(found, reverse=True)

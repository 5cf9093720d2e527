"""Which ops are worked on tile by tile: groups around values that are too large for SBUF.

A group is a convex set of ops that pass one tiled dimension on to each other. It grows from a large
value along large values; ops between its members join it. It is cut until what it needs whole (such
as weights) and two rounds of its tiles fit in SBUF.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import prod

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.data_movement import BroadcastOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.demand import ints, shape_of
from neuronir.passes.lowering.layouts.layout import divisor
from neuronir.passes.lowering.products.blocking import Blocks
from neuronir.passes.lowering.products.matrices import blockable
from neuronir.passes.lowering.streaming.dims import ELEMENTWISE, WHOLE, Tiling, spread
from neuronir.passes.lowering.streaming.size import (
    VIEWS,
    attention_inside,
    nbytes,
    peak_bytes,
    tile_bytes,
)

SEED_SHARE, BIG_SHARE = 4, 16
"""A group begins at a value of more than this share of SBUF, and grows along values of that."""
ROW_BYTES = 4096
"""Bytes per partition of a tile: rows at which DMA is at its rate (hardware.md section 2.5)."""
LARGEST = 120
"""Ops of a group: the body of its loop is to be pipelined, so a few hundred instructions."""
WHOLE_SHARE = 2
"""What dots of a group need whole may take SBUF but for the rest."""
ROUNDS = 2
"""Rounds of a loop whose tiles are in SBUF at a time, where they fit."""
PANEL_SHARE = 0.75
"""Of SBUF, for the operand that stays while the other one of a large dot streams."""


@dataclass(eq=False)
class Group:
    """Ops in program order, the tiling of their values, the size of the tiled dimension and of a
    tile. `blocked` is a product of two matrices that goes block by block (products/blocked.py) and
    is not tiled. `nested` says that a tile does not fit either, so it is taken apart in turn."""

    ops: list[Operation]
    tiling: Tiling
    extent: int
    rows: int
    nested: bool = False
    blocked: bool = False

    def inputs(self) -> list[SSAValue]:
        """Values that come from outside, in order of use."""
        members = set(self.ops)
        operands = (v for op in self.ops for v in op.operands)
        return list(dict.fromkeys(v for v in operands if v.owner not in members))

    def outputs(self) -> list[SSAValue]:
        """Results that are used outside."""
        members = set(self.ops)
        return [
            r
            for op in self.ops
            for r in op.results
            if any(use.operation not in members for use in r.uses)
        ]


def inner_bytes(group: Group) -> int:
    """Bytes that need not be written and read again: results that only the group reads."""
    members = set(group.ops)
    return sum(
        nbytes(r)
        for op in group.ops
        for r in op.results
        if op.name not in VIEWS and all(u.operation in members for u in r.uses)
    )


def find_groups(
    block: Block,
    machine: Machine,
    direct: frozenset[SSAValue] = frozenset(),
    blocks: Blocks | None = None,
) -> list[Group]:
    """The groups of a block; none where all of its values fit in SBUF together. `direct` are
    operands of dots that lie in HBM with their contraction on partitions."""
    capacity = machine.sbuf_usable_partition_bytes
    ops = [op for op in block.ops if op is not block.last_op]
    if peak_bytes(ops, machine) <= capacity * machine.partitions:
        chosen = blocks or Blocks()
        return [
            Group([op], {}, 0, 0, blocked=True)
            for op in ops
            if _from_end_to_end(op, block, machine) and blockable(op, machine, chosen)
        ]
    return _Finder(block, machine, capacity, direct, blocks or Blocks()).find()


def _from_end_to_end(op: Operation, block: Block, machine: Machine) -> bool:
    """Whether arguments become a result by a dot, but for their type: nothing is on the chip yet,
    and nothing stays there. Dots of one tile of the contraction have nothing to gain."""
    if not isinstance(op, DotOp):
        return False
    if any(u.operation is not block.last_op for u in op.results[0].uses):
        return False
    contracted = ints(op.lhs_contracting_dims)
    if prod(shape_of(op.operands[0])[d] for d in contracted) <= machine.partitions:
        return False
    for value in op.operands:
        while isinstance(value.owner, Operation) and value.owner.name == "hlo.convert":
            value = value.owner.operands[0]
        if value not in block.args or not value.has_one_use():
            return False
    return True


class _Finder:
    def __init__(
        self,
        block: Block,
        machine: Machine,
        capacity: int,
        direct: frozenset[SSAValue],
        blocks: Blocks,
    ) -> None:
        self.blocks = blocks
        self.direct = direct
        self.machine = machine
        self.capacity = capacity
        self.total = capacity * machine.partitions
        self.ops = [op for op in block.ops if op is not block.last_op]
        self.index = {op: i for i, op in enumerate(self.ops)}
        self.taken: set[Operation] = set()
        self.spreads: dict[tuple[Operation, SSAValue, int], Tiling | None] = {}
        self.pins: dict[SSAValue, bool] = {}

    def find(self) -> list[Group]:
        groups: list[Group] = []
        seeds = [
            (_weight(value), self.index[op], op, value)
            for op in self.ops
            for value in (*op.operands, *op.results)
            if nbytes(value) * SEED_SHARE > self.total
            and not self._narrowed(value)
            and not _one_number(value)
        ]
        tried: set[SSAValue] = set()
        for weight, _, op, value in sorted(seeds, key=lambda seed: seed[:2]):
            if op in self.taken or value in tried or self._pinned(value):
                continue
            tried.add(value)
            group = self._best(op, value)
            product = self._product(op, group)
            if product is not None:
                group = Group([product], {}, 0, 0, blocked=True)
            if weight and group is not None:
                if all(o.name in VIEWS or o.name == "hlo.convert" for o in group.ops):
                    continue  # it is loaded by those who need it
            if group is not None and in_order(self.ops, [*groups, group]):
                groups.append(group)
                self.taken.update(group.ops)
        return groups

    def _narrowed(self, value: SSAValue) -> bool:
        """Whether it is a parameter that is only loaded into other types: it is on the chip as
        those alone."""
        return (
            self.machine.dma_casts
            and isinstance(value, BlockArgument)
            and all(use.operation.name == "hlo.convert" for use in value.uses)
        )

    def _spread(self, op: Operation, value: SSAValue, dim: int) -> Tiling | None:
        key = (op, value, dim)
        if key not in self.spreads:
            self.spreads[key] = spread(op, value, dim)
        return self.spreads[key]

    def _pinned(self, value: SSAValue) -> bool:
        if value not in self.pins:
            self.pins[value] = self._is_pinned(value)
        return self.pins[value]

    def _is_pinned(self, value: SSAValue) -> bool:
        """Whether an op that can't be tiled makes or takes a value that fits."""
        if nbytes(value) >= self.total:
            return False
        around = [use.operation for use in value.uses if use.operation in self.index]
        maker = value.owner
        if isinstance(maker, Operation):
            around.append(maker)
            if maker.name in ELEMENTWISE or isinstance(maker, CompositeOp):
                large = [v for v in maker.operands if nbytes(v) * BIG_SHARE >= self.total]
                if any(v.has_one_use() and self._pinned(v) for v in large):
                    return True  # it is computed as what it follows is evicted
        dims = [d for d, n in enumerate(shape_of(value)) if n > 1]
        return any(
            all(self._spread(op, value, d) is None for d in dims)
            for op in around
            if op.name not in ("hlo.constant", "hlo.tuple")
        )

    def _best(self, op: Operation, value: SSAValue) -> Group | None:
        found: list[tuple[int, int, Group]] = []
        for dim, n in enumerate(shape_of(value)):
            if n < 2:
                continue
            tiling = self._spread(op, value, dim)
            if tiling is None:
                continue
            members, tiling = self._grow(op, tiling)
            group = self._fit(op, members, tiling, n)
            if group is not None:
                found.append((inner_bytes(group), -dim, group))
        if found:
            return max(found, key=lambda item: item[:2])[2]
        return self._panels(op)

    def _product(self, op: Operation, group: Group | None) -> Operation | None:
        """The product of two matrices that is all there is to be done in a group, and that goes
        block by block: neither side fits, or a weight is what is tiled. Tiles of what was computed
        before are followed up as they are, with the other side whole on the chip."""
        ops = [op] if group is None else group.ops
        products = [o for o in ops if blockable(o, self.machine, self.blocks)]
        if len(products) != 1 or ops[-1] is not products[0]:
            return None
        if any(o.name not in VIEWS and o.name != "hlo.convert" for o in ops[:-1]):
            return None
        if group is not None:
            followed = (v for v in products[0].operands if group.tiling.get(v, WHOLE) != WHOLE)
            if any(not _weight(v) for v in followed):
                return None
        return products[0]

    # growing

    def _grow(self, seed: Operation, first: Tiling) -> tuple[set[Operation], Tiling]:
        members, tiling = {seed}, dict(first)
        work = [v for v, d in tiling.items() if d != WHOLE]
        while work:
            value = work.pop(0)
            if nbytes(value) * BIG_SHARE < self.total or self._pinned(value):
                continue
            for op in self._neighbours(value):
                added = self._join(op, value, members, tiling)
                work.extend(added)
        self._close(seed, members, tiling)
        return members, tiling

    def _neighbours(self, value: SSAValue) -> list[Operation]:
        found = {use.operation for use in value.uses}
        if isinstance(value.owner, Operation):
            found.add(value.owner)
        ready = [op for op in found if op in self.index and op not in self.taken]
        return sorted(ready, key=self.index.__getitem__)

    def _join(
        self, op: Operation, value: SSAValue, members: set[Operation], tiling: Tiling
    ) -> list[SSAValue]:
        """Add `op`, a neighbour of a tiled value; the values that are tiled by it."""
        if op in members or len(members) >= LARGEST:
            return []
        found = self._spread(op, value, tiling[value])
        if found is None or any(tiling.get(v, d) != d for v, d in found.items()):
            return []
        large = [v for v in (*op.operands, *op.results) if nbytes(v) * BIG_SHARE >= self.total]
        if any(self._pinned(v) for v in large):
            return []
        whole = [v for v, d in found.items() if d == WHOLE]
        if any(isinstance(v.owner, Operation) and v.owner in members for v in whole):
            return []
        if isinstance(op, DotOp):
            stays = {v for v in whole if v not in tiling}
            stays |= {v for o in members if isinstance(o, DotOp) for v in o.operands}
            kept = sum(nbytes(v) for v in stays if tiling.get(v, WHOLE) == WHOLE)
            if kept * WHOLE_SHARE > self.total:
                return []
        added = [v for v, d in found.items() if d != WHOLE and v not in tiling]
        members.add(op)
        tiling.update(found)
        return added

    def _close(self, seed: Operation, members: set[Operation], tiling: Tiling) -> None:
        """Add the ops between members, or drop the members that come after them."""
        while True:
            between = self._between(members)
            if not between:
                return
            progress = False
            for op in between:
                for value in (*op.operands, *op.results):
                    if tiling.get(value, WHOLE) != WHOLE and op not in members:
                        self._join(op, value, members, tiling)
                        progress |= op in members
            if progress:
                continue
            after = self._reachable([between[0]], forward=True)
            dropped = {op for op in members if op in after}
            if seed in dropped:  # then what comes before goes
                before = self._reachable([between[-1]], forward=False)
                dropped = {op for op in members if op in before}
            _drop(members, tiling, dropped)

    def _reachable(self, start: Iterable[Operation], forward: bool) -> set[Operation]:
        seen = set(start)
        work = list(seen)
        while work:
            op = work.pop()
            if forward:
                following: Iterable[Operation | Block] = [
                    u.operation for r in op.results for u in r.uses
                ]
            else:
                following = [v.owner for v in op.operands]
            for other in following:
                if isinstance(other, Operation) and other in self.index and other not in seen:
                    seen.add(other)
                    work.append(other)
        return seen

    def _between(self, members: set[Operation]) -> list[Operation]:
        """Ops outside on a path from a member to a member."""
        after = self._reachable(members, forward=True)
        before = self._reachable(members, forward=False)
        return sorted((after & before) - members, key=self.index.__getitem__)

    # fitting

    def _fit(
        self, seed: Operation, members: set[Operation], tiling: Tiling, extent: int
    ) -> Group | None:
        """The group with its tile, cut until it fits."""
        while True:
            ops = sorted(members, key=self.index.__getitem__)
            rows = self._rows(ops, tiling, extent)
            if rows is not None:
                return Group(ops, tiling, extent, rows)
            dots = [op for op in ops if isinstance(op, DotOp) and op is not seed]
            if not dots:
                return None
            gone = self._reachable([dots[-1]], forward=True) & members
            if seed in gone:
                gone = self._reachable([dots[0]], forward=False) & members
            if seed in gone:
                return None
            _drop(members, tiling, gone)
            self._close(seed, members, tiling)

    def _rows(self, ops: Sequence[Operation], tiling: Tiling, extent: int) -> int | None:
        """The tile: as many rows as make long DMA rows, fewer where they do not fit."""
        base = self._unit(ops, tiling, extent)
        widest = max(nbytes(v) for v, d in tiling.items() if d != WHOLE)
        row = -(-widest // extent)
        rows = base
        while rows * 2 <= extent and rows * row < ROW_BYTES * self.machine.partitions:
            rows *= 2
        while self.estimate(ops, tiling, rows / extent, ROUNDS) > self.capacity:
            if rows <= base:
                if self.estimate(ops, tiling, rows / extent, 1) > self.capacity:
                    return None
                break
            rows = max(base, rows // 2)
        if rows % self.machine.partitions:
            return rows if rows < extent else None
        whole = _even(extent, rows, self.machine.partitions)
        return whole if whole < extent else None

    def _unit(self, ops: Sequence[Operation], tiling: Tiling, extent: int) -> int:
        """The smallest tile worth a round: all partitions, or a whole bank of columns."""
        inner = [
            prod(shape_of(v)[d + 1 : -1])
            for v, d in tiling.items()
            if d != WHOLE and nbytes(v) * BIG_SHARE >= self.total
        ]
        limit = -(-self.machine.partitions // min(inner, default=1))
        for op in ops:
            if isinstance(op, DotOp) and tiling.get(op.operands[1], WHOLE) != WHOLE:
                if tiling.get(op.operands[0], WHOLE) == WHOLE:
                    limit = self.machine.matmul_max_moving
        if any(tiling.get(v, WHOLE) != WHOLE for v in attention_inside(ops, self.machine)):
            limit = max(limit, self.machine.matmul_max_moving)
        for v, d in tiling.items():
            large = nbytes(v) * BIG_SHARE >= self.total
            if large and d != WHOLE and d == len(shape_of(v)) - 1 and v.owner not in ops:
                limit = max(limit, ROW_BYTES // 2 // (nbytes(v) // prod(shape_of(v))))
        return min(limit, extent)

    def estimate(self, ops: Sequence[Operation], tiling: Tiling, share: float, rounds: int) -> int:
        """Bytes per partition that the group takes, a tile being that `share` of the whole."""
        whole, tile = tile_bytes(ops, tiling, share, self.machine, self.direct)
        return whole + rounds * tile

    def _panels(self, op: Operation) -> Group | None:
        """A dot neither of whose operands fits: panels of its right side, within which the rows of
        the left one stream."""
        if not isinstance(op, DotOp):
            return None
        rhs = op.operands[1]
        for dim in reversed(range(len(shape_of(op.results[0])))):
            tiling = self._spread(op, op.results[0], dim)
            if tiling is None or tiling[rhs] == WHOLE or tiling[op.operands[0]] != WHOLE:
                continue
            extent = shape_of(op.results[0])[dim]
            column = -(-nbytes(rhs) // extent)
            unit = self.machine.matmul_max_moving
            rows = int(PANEL_SHARE * self.total) // column // unit * unit
            if 0 < rows < extent:
                return Group([op], tiling, extent, _even(extent, rows, unit), True)
        return None


def _weight(value: SSAValue) -> bool:
    """Whether a value is a parameter or constant, but for its order and type."""
    while isinstance(value.owner, Operation):
        if value.owner.name not in VIEWS and value.owner.name != "hlo.convert":
            return False
        if not value.owner.operands:
            return True
        value = value.owner.operands[0]
    return True


def _one_number(value: SSAValue) -> bool:
    """Whether a value is a broadcast scalar, which takes no memory."""
    op = value.owner
    return isinstance(op, BroadcastOp) and prod(shape_of(op.operands[0])) == 1


def _drop(members: set[Operation], tiling: Tiling, gone: set[Operation]) -> None:
    members -= gone
    kept = {v for op in members for v in (*op.operands, *op.results)}
    for v in list(tiling):
        if v not in kept:
            del tiling[v]


def _even(extent: int, rows: int, unit: int) -> int:
    """A tile of at most `rows` that leaves no shorter one at the end, where there is one of half of
    that or more."""
    for n in range(rows // unit, 0, -1):
        if extent % (n * unit) == 0 and 2 * n * unit > rows:
            return n * unit
    best = divisor(extent, rows)
    return best if 4 * best >= 3 * rows else rows


def groups_inside(
    groups: Sequence[Group], layers: Sequence[Sequence[Operation]]
) -> list[Group] | None:
    """The groups with ops of layers; None where one has ops of two, or others too. Views belong to
    whoever reads them."""
    layer = {op: i for i, ops in enumerate(layers) for op in ops}
    found: list[Group] = []
    for group in groups:
        where = {layer[op] for op in group.ops if op in layer}
        if not where:
            continue
        if len(where) > 1 or any(op not in layer and op.name not in VIEWS for op in group.ops):
            return None
        found.append(group)
    return found


def in_order(ops: Sequence[Operation], groups: Sequence[Group]) -> list[Operation | Group]:
    """Ops and groups in an order in which each comes after what it needs, near the program's.

    Empty where groups need each other.
    """
    if not groups:
        return list(ops)
    unit: dict[Operation, Operation | Group] = {op: op for op in ops}
    for group in groups:
        unit.update(dict.fromkeys(group.ops, group))
    place = {op: i for i, op in enumerate(ops)}
    waiting: dict[Operation | Group, int] = {}
    users: dict[Operation | Group, list[Operation | Group]] = {}
    for u in dict.fromkeys(unit.values()):
        operands = u.inputs() if isinstance(u, Group) else u.operands
        owners = (v.owner for v in operands)
        needed = {unit[o] for o in owners if isinstance(o, Operation) and o in unit}
        waiting[u] = len(needed)
        for n in needed:
            users.setdefault(n, []).append(u)

    def key(u: Operation | Group) -> int:
        return place[u.ops[-1] if isinstance(u, Group) else u]

    ready = [(key(u), u) for u, n in waiting.items() if n == 0]
    heapify(ready)
    out: list[Operation | Group] = []
    while ready:
        u = heappop(ready)[1]
        out.append(u)
        for user in users.get(u, ()):
            waiting[user] -= 1
            if waiting[user] == 0:
                heappush(ready, (key(user), user))
    return out if len(out) == len(waiting) else []

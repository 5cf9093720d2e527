"""Grow groups of ops that preserve a tiled dimension, from a value along large values."""

from collections.abc import Iterable

from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.streaming.dims import ELEMENTWISE, WHOLE, Tiling, spread
from neuronir.passes.lowering.streaming.size import nbytes

BIG_SHARE = 16
"""A group grows along values above this fraction of SBUF."""
LARGEST = 120
"""Limit of ops of a group: the body of its loop must be pipelined, so a few hundred instructions.
"""
WHOLE_SHARE = 2
"""The fraction of SBUF for whole values of a group's dots."""


class Graph:
    """The ops of a block in program order; `taken` are those of groups that were found."""

    def __init__(self, block: Block, machine: Machine) -> None:
        self.machine = machine
        self.total = machine.sbuf_usable_partition_bytes * machine.partitions
        self.ops = [op for op in block.ops if op is not block.last_op]
        self.index = {op: i for i, op in enumerate(self.ops)}
        self.taken: set[Operation] = set()
        self.spreads: dict[tuple[Operation, SSAValue, int], Tiling | None] = {}
        self.pins: dict[SSAValue, bool] = {}

    def spread(self, op: Operation, value: SSAValue, dim: int) -> Tiling | None:
        """Return the tiling of an op if `value`, one of its own, is tiled along `dim` (dims.py)."""
        key = (op, value, dim)
        if key not in self.spreads:
            self.spreads[key] = spread(op, value, dim)
        return self.spreads[key]

    def pinned(self, value: SSAValue) -> bool:
        """Return whether a value cannot be tiled, because an adjacent op needs or makes all of
        it.
        """
        if value not in self.pins:
            self.pins[value] = self._is_pinned(value)
        return self.pins[value]

    def _is_pinned(self, value: SSAValue) -> bool:
        """Return whether an op that cannot be tiled makes or reads a value that fits."""
        if nbytes(value) >= self.total:
            return False
        around = [use.operation for use in value.uses if use.operation in self.index]
        maker = value.owner
        if isinstance(maker, Operation):
            around.append(maker)
            if maker.name in ELEMENTWISE or isinstance(maker, CompositeOp):
                large = [v for v in maker.operands if nbytes(v) * BIG_SHARE >= self.total]
                if any(v.has_one_use() and self.pinned(v) for v in large):
                    return True  # it is computed during the eviction of its operand
        dims = [d for d, n in enumerate(shape_of(value)) if n > 1]
        return any(
            all(self.spread(op, value, d) is None for d in dims)
            for op in around
            if op.name not in ("hlo.constant", "hlo.tuple")
        )

    def grow(self, seed: Operation, first: Tiling) -> tuple[set[Operation], Tiling]:
        """Return all ops that are computed together with `seed`, tiled as `first`, and their
        tilings.
        """
        members, tiling = {seed}, dict(first)
        work = [v for v, d in tiling.items() if d != WHOLE]
        while work:
            value = work.pop(0)
            if nbytes(value) * BIG_SHARE < self.total or self.pinned(value):
                continue
            for op in self._neighbours(value):
                added = self._join(op, value, members, tiling)
                work.extend(added)
        self.close(seed, members, tiling)
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
        """Add `op`, a neighbour of a tiled value; return the values that it tiles."""
        if op in members or op in self.taken or len(members) >= LARGEST:
            return []
        found = self.spread(op, value, tiling[value])
        if found is None or any(tiling.get(v, d) != d for v, d in found.items()):
            return []
        large = [v for v in (*op.operands, *op.results) if nbytes(v) * BIG_SHARE >= self.total]
        if any(self.pinned(v) for v in large):
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

    def close(self, seed: Operation, members: set[Operation], tiling: Tiling) -> None:
        """Add the ops between members, or drop the members after them."""
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
            dropped = members & self.reachable([between[0]], members, forward=True)
            if seed in dropped:  # then the preceding ops are dropped
                dropped = members & self.reachable([between[-1]], members, forward=False)
            drop(members, tiling, dropped)

    def reachable(
        self, start: Iterable[Operation], members: Iterable[Operation], *, forward: bool
    ) -> set[Operation]:
        """Return `start` and the ops that depend on it, or on which it depends.

        Only ops from the first to the last of `members` in program order are visited: no path
        between members leaves that part.
        """
        index = self.index
        places = [index[op] for op in members]
        first, last = min(places), max(places)
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
                if not isinstance(other, Operation) or other in seen:
                    continue
                if first <= index.get(other, -1) <= last:
                    seen.add(other)
                    work.append(other)
        return seen

    def _between(self, members: set[Operation]) -> list[Operation]:
        """Return outer ops on a path from a member to a member."""
        after = self.reachable(members, members, forward=True)
        before = self.reachable(members, members, forward=False)
        return sorted((after & before) - members, key=self.index.__getitem__)


def drop(members: set[Operation], tiling: Tiling, gone: set[Operation]) -> None:
    """Remove ops from a group, with the tilings of values that no other member has."""
    members -= gone
    kept = {v for op in members for v in (*op.operands, *op.results)}
    for v in list(tiling):
        if v not in kept:
            del tiling[v]

"""Fence loops whose trip count is loaded at run time.

The waits behind such a loop cannot name the semaphore values that its iterations add up to, because
nobody knows how many there are. So every engine meets every other one at barriers: before and after
the load of the count or of a condition, before the loop, and at the end of each iteration. A
barrier also waits for all transfers in flight. No dependence then crosses the border of an
iteration, and the semaphores of the loop are its own: in a wait, the iteration number of the loop
counts all iterations of all its runs, and one iteration adds a constant.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from neuronir.dialects.nc.counts import count_load, next_load
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.ops import build
from neuronir.dialects.nc.sync import BarrierOp
from neuronir.dialects.support.loops import LoopOp, yield_of
from neuronir.dialects.support.walking import walk_in
from neuronir.passes.nc.carried import Dependence
from neuronir.passes.nc.listing import Node


def insert_fences(block: Block) -> None:
    """Insert the barriers of all counted loops of a block, at any depth."""
    for loop in list(walk_in(block)):
        load = count_load(loop) if isinstance(loop, LoopOp) else None
        if load is None or not isinstance(loop, LoopOp):
            continue
        _around(load, loop)
        if not isinstance(loop.prev_op, BarrierOp):
            _barrier(loop, loop)
        if isinstance(loop, scf.WhileOp):
            _around(next_load(loop), loop)
        last = yield_of(loop)
        if isinstance(loop, scf.ForOp) or not isinstance(last.prev_op, BarrierOp):
            _barrier(last, loop)


def _around(load: Operation, loop: LoopOp) -> None:
    """Put barriers before and after a load, unless they are there."""
    if isinstance(load.next_op, BarrierOp):
        return
    _barrier(load, loop)
    behind = load.next_op
    assert behind is not None
    _barrier(behind, loop)


def _barrier(before: Operation, loop: LoopOp) -> None:
    barrier = build(BarrierOp, (), (), engine=Engine.SP)
    barrier.location = loop.location
    assert before.parent is not None
    before.parent.insert_op_before(barrier, before)


def scope_of(node: Node, loops: Sequence[Node]) -> int:
    """Return the innermost counted loop around an instruction, -1 if there is none."""
    return next((n for n in reversed(node.inside) if loops[n].counted), -1)


@dataclass(frozen=True)
class Fences:
    """The barriers of a function, by position, in order; `spans` are (first, end) of each loop."""

    places: list[int]
    spans: Sequence[tuple[int, int]]

    @staticmethod
    def of(nodes: Sequence[Node], spans: Sequence[tuple[int, int]]) -> "Fences":
        """Return the barriers among the instructions of a function."""
        places = [i for i, n in enumerate(nodes) if n.record and n.record.opcode == "barrier"]
        return Fences(places, spans)

    def _between(self, low: int, high: int) -> bool:
        """Return whether there is a barrier at a position from `low` to before `high`."""
        return bisect_left(self.places, low) < bisect_left(self.places, high)

    def _parted(self, d: Dependence, after: int) -> bool:
        """Return whether a barrier lies between both instructions of a dependence."""
        if d.distance == 0:
            return self._between(d.before + 1, after)
        first, end = self.spans[d.loop]
        return self._between(d.before + 1, end) or self._between(first, after)

    def apply(self, nodes: Sequence[Node], found: Sequence[Sequence[Dependence]]) -> None:
        """Drop the dependences that barriers order, and let barriers depend on the transfers that
        may be in flight when they are reached.
        """
        if not self.places:
            return
        for after, dependences in enumerate(found):
            assert isinstance(dependences, list)
            dependences[:] = [d for d in dependences if not self._parted(d, after)]
        for place in self.places:
            dependences = found[place]
            assert isinstance(dependences, list)
            dependences[:] = self._in_flight(nodes, place)

    def _in_flight(self, nodes: Sequence[Node], place: int) -> list[Dependence]:
        number = bisect_right(self.places, place - 1)
        first = self.places[number - 1] + 1 if number else 0
        out: list[Dependence] = []
        around = nodes[place].inside
        for before in range(first, place):
            if _is_transfer(nodes[before]):
                common = [a for a, b in zip(nodes[before].inside, around, strict=False) if a == b]
                out.append(Dependence(before, common[-1] if common else -1, 0, True))
        for loop in around:
            begin, end = self.spans[loop]
            if self._between(begin, place):
                continue
            last = self.places[bisect_left(self.places, end) - 1]  # `place` itself at least
            for before in range(last + 1, end):
                if _is_transfer(nodes[before]):
                    out.append(Dependence(before, loop, 1, True))
        return out


def _is_transfer(node: Node) -> bool:
    return node.record is not None and node.record.engine.is_dma

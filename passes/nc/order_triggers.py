"""nc-order-triggers: order the transfers that each engine starts by the time they can start.

A waiting transfer delays everything behind it on its engine. Once buffers have addresses, all of
its waits are known, including those for buffers that used the same bytes before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.carried import Analysis
from neuronir.passes.nc.dependence import Predecessors, Shared, conflict, dependences
from neuronir.passes.nc.list_schedule import Work, list_schedule, work_of
from neuronir.passes.nc.listing import (
    LOOP,
    Access,
    Buffer,
    Listing,
    Node,
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.rewrite import write_order
from neuronir.passes.nc.split_transfers import SCHEDULED
from neuronir.passes.statistics import record

_ROUNDS = 4
"""Iterations of a loop that are examined: the first ones fill the pipeline."""

_STEADY = ("constant", "input")
"""Kinds of variables that are never written."""

Chains = list[tuple[int, int]]


@dataclass(frozen=True)
class NcOrderTriggersPass(ModulePass):
    """Reorder the transfers that each engine triggers by the time at which they can start.

    The pass estimates the timing of straight-line code and of iterations of innermost loops with
    all waits. Each engine triggers the ready transfer that is most urgent; compute instructions
    keep their order. The new order is kept if it is estimated to be faster. A load moves before a
    loop if nothing writes its source and the loop does not use its bytes. Functions that
    nc-schedule did not order are not changed.
    """

    name = "nc-order-triggers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Order the triggers of every function."""
        require_phase(op, self.name, "allocated")
        machine = machine_of(op)
        kinds = variables(op)
        with bodies_in_place(op):
            for func in functions(op):
                if SCHEDULED in func.attributes:
                    order_triggers(list_function(func, kinds, placed=True), machine)


def order_triggers(listing: Listing, machine: Machine) -> None:
    """Order the triggers of a function."""
    nodes = _ahead_of_loops(listing)
    order = _block(listing, nodes, (), machine)
    write_order(listing.func.body.block, order)


def _ahead_of_loops(listing: Listing) -> list[Node]:
    """Return the nodes of a function with loads moved before loops that they need not wait for."""
    segments: list[list[Node]] = [[]]
    loops: list[Node] = []
    for node in listing.nodes:
        if node.record is None:
            loops.append(node)
            segments.append([])
        else:
            segments[-1].append(node)
    moved = 0
    for number in range(len(loops) - 1, -1, -1):
        loop, behind = loops[number], segments[number + 1]
        free = _may_pass(loop, behind, listing)
        if free:
            segments[number] += [n for n in behind if n.index in free]
            segments[number + 1] = [n for n in behind if n.index not in free]
            moved += len(free)
    record("nc-order-triggers", "loads moved in front of loops", moved)
    out = segments[0]
    for loop, segment in zip(loops, segments[1:], strict=True):
        out = [*out, loop, *segment]
    return out


def _may_pass(loop: Node, behind: Sequence[Node], listing: Listing) -> set[int]:
    """Return the loads after a loop, by node index, that can move before it.

    They read variables that are never written, into bytes that neither the loop nor anything in
    between accesses.
    """
    buffers = listing.buffers
    candidates = [n for n in behind if _loads_steady(n, buffers)]
    if not candidates or loop.record is not None or not loop.body:
        return set()
    inside = [a for a in loop.accesses if a.pattern.space == Space.SBUF]
    between = _Touched(inside, listing)
    found: set[int] = set()
    wanted = {n.index for n in candidates}
    for node in behind:
        written = [a for a in node.accesses if a.write]
        if node.index in wanted and not any(map(between.meets, written)):
            found.add(node.index)
            continue
        for access in node.accesses:
            if access.pattern.space == Space.SBUF:
                between.add(access)
    return found


class _Touched:
    """SBUF accesses, indexed by address range."""

    _PIECE = 11  # log2 of bytes

    def __init__(self, accesses: Sequence[Access], listing: Listing) -> None:
        self.bounds = listing.bounds
        self.by_piece: dict[int, list[Access]] = {}
        for access in accesses:
            self.add(access)

    def add(self, access: Access) -> None:
        """Add the accesses of a node."""
        for piece in self._pieces(access):
            self.by_piece.setdefault(piece, []).append(access)

    def meets(self, access: Access) -> bool:
        """Return whether an access shares bytes with any of them."""
        return any(
            conflict(other, access, self.bounds)
            for piece in self._pieces(access)
            for other in self.by_piece.get(piece, ())
        )

    def _pieces(self, access: Access) -> range:
        return range(access.low >> self._PIECE, ((access.high - 1) >> self._PIECE) + 1)


def _loads_steady(node: Node, buffers: Sequence[Buffer]) -> bool:
    """Return whether a node loads from a constant address of a variable that is never written."""
    if node.record is None or node.record.opcode != "dma" or node.record.waits:
        return False
    if any(not access.fixed for access in node.accesses):
        return False
    return all(
        access.pattern.space == Space.SBUF
        if access.write
        else buffers[access.buffer].role in _STEADY
        for access in node.accesses
    )


def _block(
    listing: Listing, nodes: Sequence[Node], around: tuple[int, ...], machine: Machine
) -> list[Node]:
    """Return the nodes of a block in their new order."""
    out: list[Node] = []
    segment: list[Node] = []
    for node in nodes:
        if node.record is not None:
            segment.append(node)
            continue
        out += _straight(listing, segment, around, machine)
        segment = []
        if node.body and all(n.record is not None for n in node.body):
            node.body = _rounds(listing, node, machine)
        elif node.body:
            node.body = _block(listing, node.body, (*around, node.loop), machine)
        out.append(node)
    out += _straight(listing, segment, around, machine)
    return out


def _straight(
    listing: Listing, segment: list[Node], around: tuple[int, ...], machine: Machine
) -> list[Node]:
    """Return straight-line nodes in their new order."""
    if not _has_choice(segment):
        return segment

    nodes = [n.numbered(i) for i, n in enumerate(segment)]
    shared: Shared = {LOOP + number: (0, 0) for number in around}
    found = dependences(
        nodes,
        listing.buffers,
        listing.bounds,
        placed=True,
        streams=[_in_order(n) for n in nodes],
        shared=shared,
    )

    def timed(order: Sequence[int], free: bool) -> tuple[list[float], list[Work]]:
        at = {i: k for k, i in enumerate(order)}
        # Orders keep all dependences, so the dependences of one order hold for the other.
        follows = [{at[j]: data for j, data in found[i].items()} for i in order]
        moved = [segment[i] for i in order]
        works = _works(moved, machine)
        return _start(works, follows, _chains(moved, free), machine), works

    usual = range(len(segment))
    before = _end(*timed(usual, False))
    start, works = timed(usual, True)
    if _end(start, works) >= before:
        return segment
    order = _by_start(start)
    saved = before - _end(*timed(order, False))
    if saved <= 0:
        return segment
    record("nc-order-triggers", "ns saved in straight-line code", round(saved))
    return [segment[i] for i in order]


def _in_order(node: Node) -> int:
    """Return the engine of a compute instruction, whose order stays; -1 for a transfer."""
    assert node.record is not None
    return -1 if node.record.engine.is_dma else node.record.engine


def _rounds(listing: Listing, loop: Node, machine: Machine) -> list[Node]:
    """Return the body of an innermost loop in its new order."""
    body = loop.body
    if not _has_choice(body):
        return body
    count = len(body)
    rounds = min(_ROUNDS, loop.trip_count)
    number = {n.place: i for i, n in enumerate(body)}
    places = max(number) + 1
    found = Analysis(listing, places).run_loop(loop)
    carried: list[list[tuple[int, int, bool]]] = []
    for node in body:
        carried.append(
            [
                (number[d.before], d.distance, d.data)
                for d in found[node.place].values()
                if d.before in number and d.loop == loop.loop
            ]
        )

    def timed(order: Sequence[int], free: bool) -> tuple[list[float], list[Work]]:
        at = {i: k for k, i in enumerate(order)}
        predecessors: Predecessors = []
        for r in range(rounds):
            for i in order:
                waits: dict[int, bool] = {}
                for before, distance, data in carried[i]:
                    if distance <= r:
                        key = (r - distance) * count + at[before]
                        waits[key] = waits.get(key, False) or data
                predecessors.append(waits)
        works = _works([body[i] for i in order], machine) * rounds
        chains = _chains([body[i] for i in order] * rounds, free)
        if free:
            chains += _between_rounds(works, count)
        return _start(works, predecessors, chains, machine), works

    usual = list(range(count))
    before = _period(*timed(usual, False), rounds)
    start, _ = timed(usual, True)
    last = start[(rounds - 1) * count :]
    order = _by_start(last)
    saved = before - _period(*timed(order, False), rounds)
    if saved <= 0:
        return body
    record("nc-order-triggers", "ns saved per iteration of loops", round(saved))
    return [body[i] for i in order]


def _has_choice(nodes: Sequence[Node]) -> bool:
    """Return whether an engine starts a transfer and does other work."""
    streams = [n.record.stream for n in nodes if n.record is not None]
    starting = {n.record.stream for n in nodes if n.record is not None and n.record.engine.is_dma}
    return any(streams.count(s) > 1 for s in starting)


def _works(nodes: Sequence[Node], machine: Machine) -> list[Work]:
    return [work_of(n.record, machine) for n in nodes if n.record is not None]


def _start(
    works: Sequence[Work], predecessors: Predecessors, chains: Chains, machine: Machine
) -> list[float]:
    return list_schedule(works, predecessors, machine, window=len(works) + 1, chains=chains)


def _chains(nodes: Sequence[Node], free: bool) -> Chains:
    """Return the ordered work of each engine.

    This is everything assigned to it, or with `free` its compute instructions, and the transfers of
    each queue, which move in the order in which they were started.
    """
    out: Chains = []
    last: dict[Engine, int] = {}
    for i, node in enumerate(nodes):
        assert node.record is not None
        lane = node.record.engine if free else node.record.stream
        if lane in last:
            out.append((last[lane], i))
        last[lane] = i
    return out


def _between_rounds(works: Sequence[Work], count: int) -> Chains:
    """Order transfers after the previous iteration of their engine, and before the next one."""
    return [
        (i, j)
        for first in range(0, len(works) - count, count)
        for i in range(first, first + count)
        for j in _next_of(works, i, first + count, count)
    ]


def _next_of(works: Sequence[Work], i: int, begin: int, count: int) -> Iterator[int]:
    mine = works[i]
    for j in range(begin, begin + count):
        other = works[j]
        if other.engine == mine.engine and (mine.transfer or other.transfer):
            yield j


def _by_start(start: Sequence[float]) -> list[int]:
    return sorted(range(len(start)), key=lambda i: (start[i], i))


def _end(start: Sequence[float], works: Sequence[Work]) -> float:
    return max(at + work.latency for at, work in zip(start, works, strict=True))


def _period(start: Sequence[float], works: Sequence[Work], rounds: int) -> float:
    """Return the time of an iteration in the steady state."""
    count = len(works) // rounds
    ends = [
        _end(start[r * count : (r + 1) * count], works[r * count : (r + 1) * count])
        for r in range(rounds)
    ]
    return (ends[-1] - ends[rounds // 2 - 1]) / (rounds - rounds // 2) if rounds > 1 else ends[0]

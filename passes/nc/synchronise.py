"""nc-synchronise: insert waits and updates that order the work of different engines."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from neuronir.dialects.nc.attributes import (
    UpdateAttr,
    UpdateSpec,
    WaitAttr,
    WaitSpec,
    number_of,
)
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp, segments_attr
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.carried import Analysis
from neuronir.passes.nc.clocks import ENGINES, find_waits
from neuronir.passes.nc.counters import Count, Counters
from neuronir.passes.nc.fences import Fences, insert_fences
from neuronir.passes.nc.listing import (
    Listing,
    Node,
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.reuse import mark_reuse
from neuronir.passes.nc.semaphores import allot_semaphores
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class NcSynchronisePass(ModulePass):
    """Insert the waits that dependences between engines require, and no others."""

    name = "nc-synchronise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Synchronise every function of the module."""
        require_phase(op, self.name, "allocated")
        machine = machine_of(op)
        kinds = variables(op)
        with bodies_in_place(op):
            for func in functions(op):
                mark_reuse(func.body.block)  # spilling may have put a reload between two matmuls
                insert_fences(func.body.block)
                synchronise_function(list_function(func, kinds, placed=True), machine)
        op.attributes["neuronir.phase"] = StringAttr("synchronised")


def synchronise_function(listing: Listing, machine: Machine) -> None:
    """Set the waits and updates of a function."""
    nodes: list[Node] = []
    spans = [(0, 0)] * len(listing.loops)
    _flatten(listing.nodes, nodes, spans)
    streams = [
        int(n.record.engine) if n.record is not None and n.record.engine < ENGINES else -1
        for n in nodes
    ]
    found_dependences = Analysis(listing, len(nodes), streams).run()
    Fences.of(nodes, spans).apply(nodes, found_dependences)
    found = find_waits(nodes, found_dependences, [first for first, _ in spans])
    signals = allot_semaphores(nodes, found, machine, listing.loops)
    counters = Counters(listing.nodes, listing.loops, signals.update)
    total = 0
    for node in nodes:
        waits = [
            (signals.update[d.before][0], counters.value(d.before, d.loop, d.distance))
            for d in found.waits[node.place]
        ]
        if node.place in signals.alone:
            semaphore, amount = signals.update[node.place]
            innermost = node.inside[-1] if node.inside else -1
            own = counters.value(node.place, innermost, 0)
            waits.append((semaphore, Count(own.const - amount, own.rounds)))
        waits = _merged(waits)
        _write(node, waits, signals.update.get(node.place), listing.loops)
        total += len(waits)
    record("nc-synchronise", "dependences", sum(len(d) for d in found_dependences))
    record("nc-synchronise", "waits", total)
    record("nc-synchronise", "semaphores", signals.count)


def _flatten(nodes: Sequence[Node], out: list[Node], spans: list[tuple[int, int]]) -> None:
    for node in nodes:
        if node.record is None:
            first = len(out)
            _flatten(node.body, out, spans)
            spans[node.loop] = (first, len(out))
        else:
            out.append(node)


def _merged(waits: Sequence[tuple[int, Count]]) -> list[tuple[int, Count]]:
    """Merge waits on the same semaphore that grow alike into one for the largest count."""
    most: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    for semaphore, count in waits:
        key = (semaphore, count.rounds)
        most[key] = max(most.get(key, count.const), count.const)
    return [(semaphore, Count(const, rounds)) for (semaphore, rounds), const in most.items()]


def _write(
    node: Node,
    waits: Sequence[tuple[int, Count]],
    update: tuple[int, int] | None,
    loops: Sequence[Node],
) -> None:
    """Set the properties of an instruction; iteration numbers become index operands."""
    op = node.op
    if not isinstance(op, InstructionOp):
        return
    n_buffers = op.buffer_count
    indices = list(op.operands[n_buffers:])
    had = len(indices)
    specs: list[Attribute] = []
    for semaphore, count in waits:
        terms = []
        for number, amount in count.rounds:
            loop = loops[number].op
            if amount and isinstance(loop, LoopOp):
                terms.append((number_of(indices, body_of(loop).args[0]), amount))
        specs.append(WaitAttr(WaitSpec(semaphore, count.const, tuple(terms))))
    if specs:
        op.properties["waits"] = ArrayAttr(specs)
    if len(indices) > had:
        op.operands = [*op.operands[:n_buffers], *indices]
        sizes = segments_attr(n_buffers, len(indices))
        op.properties["operandSegmentSizes"] = sizes
    if update is not None:
        op.properties["updates"] = ArrayAttr([UpdateAttr(UpdateSpec(*update))])

"""nc-synchronise: the waits and updates that keep what different engines do in order."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from neuronir.dialects.nc.attributes import UpdateAttr, UpdateSpec, WaitAttr, WaitSpec
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.passes.nc.clocks import ENGINES, find_waits
from neuronir.passes.nc.dependence import dependences
from neuronir.passes.nc.listing import (
    Listing,
    functions,
    list_function,
    machine_of,
    require_phase,
    variables,
)
from neuronir.passes.nc.semaphores import allot_semaphores
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class NcSynchronise(ModulePass):
    """Insert the waits that dependences between engines need, and no others."""

    name = "nc-synchronise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Synchronise every function of the module."""
        require_phase(op, self.name, "allocated")
        machine = machine_of(op)
        kinds = variables(op)
        for func in functions(op):
            synchronise_function(list_function(func, kinds, placed=True), machine)
        op.attributes["neuronir.phase"] = StringAttr("synchronised")


def synchronise_function(listing: Listing, machine: Machine) -> None:
    """Set waits and updates of a straight-line function."""
    nodes = listing.nodes
    engines = [int(n.record.engine) if n.record is not None else int(Engine.SP) for n in nodes]
    streams = [e if e < ENGINES else -1 for e in engines]
    predecessors = dependences(nodes, listing.buffers, listing.bounds, placed=True, streams=streams)
    found = find_waits(engines, predecessors)
    signals = allot_semaphores(engines, found, machine)
    for node in nodes:
        op = node.op
        if not isinstance(op, InstructionOp):
            continue
        waits = found.waits[node.index]
        if waits:
            op.properties["waits"] = ArrayAttr(
                [WaitAttr(WaitSpec(signals.update[p][0], signals.value[p])) for p in waits]
            )
        update = signals.update.get(node.index)
        if update is not None:
            op.properties["updates"] = ArrayAttr([UpdateAttr(UpdateSpec(*update))])
    record("nc-synchronise", "dependences", sum(len(p) for p in predecessors))
    record("nc-synchronise", "waits", sum(len(w) for w in found.waits))
    record("nc-synchronise", "semaphores", signals.count)

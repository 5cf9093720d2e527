"""nc-assign-queues: put loads on the queues that serve them in the order of their triggers.

Queues with work share the DMA engines equally, so that loads on several queues all end late. On one
queue the first load ends first, and what waits for it starts earlier. A queue that cannot keep all
DMA engines busy leaves the rest to others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import OWN_QUEUE, InstructionOp
from neuronir.dialects.nc.records import shape_record
from neuronir.dialects.support.walking import walk, walk_in
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.engines import LOADS, NAMES, stream_of
from neuronir.passes.nc.listing import functions, machine_of, require_phase
from neuronir.passes.nc.split_transfers import SCHEDULED
from neuronir.passes.statistics import record

_NEARLY = 0.01
"""A queue that leaves this fraction of the DMA engines idle needs no other one."""

_SP = {Engine.SP.name.lower()}


@dataclass(frozen=True)
class NcAssignQueuesPass(ModulePass):
    """Put the loads that SP triggers on as few queues as keep all DMA engines busy.

    Loads with long rows share the first load queue, in which each moves at the full rate in its
    turn. Loads with short rows or few descriptors are spread over more of the load queues: each
    goes to the queue whose earlier loads take the least time. Queues of other transfers, queues
    that the program names (`nc.own_queue`), and functions that nc-schedule did not order are not
    changed.
    """

    name = "nc-assign-queues"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Assign queues in every function."""
        require_phase(op, self.name, "allocated")
        machine = machine_of(op)
        moved = 0
        with bodies_in_place(op):
            queues = _queues_of_sp(op, machine)
            for func in functions(op):
                if SCHEDULED in func.attributes:
                    moved += assign_queues(walk_in(func.body.block), queues, machine)
        record(self.name, "loads on another queue", moved)


def _queues_of_sp(module: ModuleOp, machine: Machine) -> list[Engine]:
    """Return the queues for loads that no engine but SP uses."""
    users: dict[Engine, set[str]] = {}
    for op in walk(module):
        if isinstance(op, InstructionOp) and op.spec.triggers and op.engine is not None:
            users.setdefault(Engine[op.engine.data.upper()], set()).add(stream_of(op))
    there = [queue for queue in sorted(LOADS) if queue - Engine.DMA0 < machine.dma_queues]
    return [queue for queue in there if users.get(queue, _SP) == _SP]


def assign_queues(ops: Iterable[Operation], queues: Sequence[Engine], machine: Machine) -> int:
    """Assign `queues` to the loads among `ops`, in order; return how many loads change theirs."""
    ahead = [0.0] * len(queues)  # the time of the loads on each queue, in ns
    moved = 0
    for op in ops:
        if not isinstance(op, DmaOp) or op.engine is None:
            continue
        queue = Engine[op.engine.data.upper()]
        if queue not in queues:
            continue
        spent = cost(shape_record(op), machine)
        used = spent.parallel * spent.share / machine.dma_engines
        enough = min(len(queues), ceil(1 / used - _NEARLY))
        number = queues.index(queue)
        if OWN_QUEUE not in op.attributes:
            number = min(range(enough), key=lambda n: (ahead[n], n))
        ahead[number] += spent.dma_load_ns / (machine.dma_engines * used)
        if queues[number] is not queue:
            op.properties["engine"] = NAMES[queues[number]]
            moved += 1
    return moved

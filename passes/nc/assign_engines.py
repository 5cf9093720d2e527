"""nc-assign-engines: assign engines, DMA queues and the engines that trigger transfers."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.engines import QueueAllotter, assign_engines, place_register_loads
from neuronir.passes.nc.listing import functions, machine_of, require_phase, variables
from neuronir.passes.nc.triggers import choose_triggers


@dataclass(frozen=True)
class NcAssignEnginesPass(ModulePass):
    """Assign an engine to every instruction, and a DMA queue and a trigger to every transfer.

    Instructions that name an engine keep it. Work that DVE and POOL can both execute goes to DVE,
    because the two share the SBUF port. The weight stream uses DMA queue 0, other loads use queues
    1 to 3, stores use queues 4 to 7 (each argument and result uses one of them; nc-assign-queues
    changes those of loads), and scratch and spills use queues 8 to 11. SP triggers loads, and POOL
    triggers stores if it is not busy with descriptors. If the triggers of loads would take SP
    longer than any other engine works, ACT or PE trigger some arrays (`by act`). A register is
    loaded on each engine that reads it.
    """

    name = "nc-assign-engines"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Assign engines in every function.

        Raises NIR_NC007 if an engine has too few registers.
        """
        require_phase(op, self.name, "virtual")
        machine = machine_of(op)
        with bodies_in_place(op):
            queues = QueueAllotter(machine, variables(op), walk(op))
            for func in functions(op):
                block = func.body.block
                assign_engines(block, machine, queues)
                choose_triggers(block, machine, queues)
                place_register_loads(block, machine)

"""hlo-mark-stages: which core of a pipeline each op runs on."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.stages.costs import live_bytes, unit_costs
from neuronir.passes.hlo.stages.cuts import find_cuts
from neuronir.passes.hlo.stages.graph import Graph
from neuronir.passes.lowering.entry import entry_on
from neuronir.passes.statistics import record

STAGE = "hlo.stage"


@dataclass(frozen=True)
class HloMarkStagesPass(ModulePass):
    """Mark each op of the entry function with its stage in a pipeline over cores.

    The program is cut where the estimated time of the slowest stage or link is least. Ops that are
    not marked are copied into each stage that reads them: constants, values computed from
    constants, and broadcasts. `neuronx-cc --neuroncore-pipeline-cores` makes a program of each
    stage, and cuts again by simulated times.

        %y = hlo.dot %x, %w            %y = hlo.dot %x, %w {hlo.stage = 0}
        %z = hlo.tanh %y        ->     %z = hlo.tanh %y {hlo.stage = 1}
    """

    name = "hlo-mark-stages"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    cores: int = field(default=2, metadata={"help": "largest number of stages"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.cores < 1:
            raise NeuronError(
                "NIR_PASS_OPTION", f"hlo-mark-stages: cores must be at least 1, not {self.cores}"
            )
        for block, machine in entry_on(op, self.target):
            graph = Graph.of(block)
            if not graph.units:
                return
            sent = live_bytes(graph)
            cuts = find_cuts(unit_costs(graph, machine), sent, machine, self.cores)
            for stage, (low, high) in enumerate(zip(cuts.bounds, cuts.bounds[1:], strict=False)):
                for unit in graph.units[low:high]:
                    unit.attributes[STAGE] = IntegerAttr(stage, i64)
            record(self.name, "stages", cuts.stages)
            record(self.name, "estimated ns of the slowest", round(cuts.bottleneck_ns))

"""hlo-assign-layouts: choose partition dimensions for all dots and norms of a function together."""

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.bounds import least_dma_ns, least_pe_ns
from neuronir.passes.lowering.entry import entry_on
from neuronir.passes.lowering.layers.repetition import find_repetitions
from neuronir.passes.lowering.layers.twins import twins
from neuronir.passes.lowering.layouts.demand import DEPTH, Demand, demand
from neuronir.passes.lowering.products.assigned import (
    PARTITION_DIM,
    STATIONARY,
    assign_across,
    assign_stationary,
)
from neuronir.passes.lowering.products.assignment import choose_sides
from neuronir.passes.lowering.products.norm_sides import choose_norms


@dataclass(frozen=True)
class HloAssignLayoutsPass(ModulePass):
    """Choose the partition dimension of every dot and norm in the entry function, globally.

    The cost model minimises the load of the busiest resource (PE, the PSUM port or DMA) over the
    whole function. Ops of equal shape get equal choices. lower-hlo-to-nc reads the choices from
    two attributes; existing attributes are overwritten, and ops without an attribute are decided
    locally:

    - `nc.stationary` ("lhs" or "rhs") on a dot names its stationary operand, whose free dimension
      becomes the partition dimension of the result. Users at any distance that want this dimension
      need no transpose, but PE may take longer.
    - `nc.partition_dim` on a norm places its rows along partitions. A dot that consumes the norm
      then needs no transpose, and the sums of the norm become dots with ones.

    Blocked dots and dots of attention are skipped. Without a target, the module is not changed.
    """

    name = "hlo-assign-layouts"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    norms: bool = field(default=True, metadata={"help": "assign layouts to norms"})
    products: bool = field(default=True, metadata={"help": "assign stationary operands to dots"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Assign the layouts of the entry function."""
        for block, machine in entry_on(op, self.target):
            assign_block(block, machine, self.norms, self.products)


def assign_block(block: Block, machine: Machine, norms: bool = True, products: bool = True) -> None:
    """Assign the layouts of the norms and of the dots of a block, or of one kind."""
    dma_ns = least_dma_ns(block, machine)
    for op in block.ops:
        op.attributes.pop(PARTITION_DIM, None)
        op.attributes.pop(STATIONARY, None)
    alike = twins(find_repetitions(block, outside=True), DEPTH)
    across: frozenset[Operation] = frozenset()
    if norms:
        tensor_bound = least_pe_ns(block, machine) > dma_ns
        across = choose_norms(list(block.ops), machine, dma_ns, tensor_bound, alike)

    def want(value: SSAValue) -> Demand:
        return demand(value, machine.partitions, across)

    for op in across:
        assign_across(cast(CompositeOp, op))
    if products:
        for dot, side in choose_sides(block.ops, want, machine, dma_ns, alike).items():
            assign_stationary(dot, side)

"""hlo-assign-layouts: what lies on partitions, for all products of a function together."""

from dataclasses import dataclass
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
class HloAssignLayouts(ModulePass):
    """Choose what lies on partitions for all products of the entry function together.

    `products`: which operand of each product is stationary, whose free dimension lies on the
    partitions of the result: with that which users at any distance want there, nothing is
    transposed, but PE may take longer. `norms`: which normalisations have their rows along
    partitions, so that what they make needs no transpose before it is contracted; their sums are
    products with ones then. Both by what the busiest of PE, the port to PSUM and DMA takes, by the
    machine's costs, for all ops of a shape alike. The choices become attributes, which
    lower-hlo-to-nc reads: `nc.stationary` ("lhs" or "rhs") of dots of which users want one side,
    and `nc.partition_dim` of normalisations; an op without is decided on by itself. Those that are
    there are made anew. Products that go block by block or are a part of attention have their own
    way. The target is the option, or else the module attribute `nc.machine`; without either the
    module is left as it is.
    """

    name = "hlo-assign-layouts"
    target: str = ""
    norms: bool = True
    products: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Assign the layouts of the entry function."""
        for block, machine in entry_on(op, self.target):
            assign_block(block, machine, self.norms, self.products)


def assign_block(block: Block, machine: Machine, norms: bool = True, products: bool = True) -> None:
    """Assign the layouts of the normalisations and of the products of a block, or of one kind."""
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

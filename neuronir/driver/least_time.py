"""Compute a lower bound of the time of a program in phase `hlo`."""

from math import prod

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.shapes import extents
from neuronir.dialects.support.walking import walk_in
from neuronir.driver.weights import entry_function
from neuronir.passes.lowering.bounds import least_dma_ns, least_pe_ns
from neuronir.passes.tile.group import is_view

FREE = frozenset(("hlo.dot", "hlo.convolution", "hlo.constant", "hlo.slice"))
"""Ops that take PE or transfers alone."""
PARTLY_READ = frozenset(("hlo.dynamic_slice", "hlo.gather"))
"""Ops that read a part of their operands."""


def least_ns(module: ModuleOp, machine: Machine) -> float:
    """Return the lower bound of a program's time: transfers, dots, and elementwise work.

    ACT and DVE share the elementwise work, at three operations per two instructions.
    """
    block = entry_function(module).body.block
    elements = sum(map(_worked, walk_in(block)))
    vector = elements / machine.partitions / (1.5 * (machine.act_ghz + machine.dve_ghz))
    return max(least_dma_ns(block, machine), least_pe_ns(block, machine), vector)


def _worked(op: Operation) -> int:
    """Return the elements that ACT or DVE process for an op: none of a product, and none of a view
    or a conversion that is part of a transfer.
    """
    if op.name in FREE or is_view(op):
        return 0
    values = op.results if op.name in PARTLY_READ else (*op.operands, *op.results)
    sizes = [prod(extents(v.type)) for v in values if isinstance(v.type, TensorType)]
    return max(sizes, default=0)

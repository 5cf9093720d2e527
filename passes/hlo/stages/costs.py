"""Estimate the load of a program's units on a core, by resource, and the bytes across cuts."""

from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.flops import useful_flops
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.support.walking import walk
from neuronir.passes.hlo.stages.graph import Graph, outer_operands
from neuronir.passes.hlo.support.values import element

RESOURCES = ("pe", "vector", "dma", "weights")
ENGINES = 2
"""The first resources are engines (ns), the others bytes that DMA moves."""
WEIGHTS = RESOURCES.index("weights")
_FOR_WEIGHTS = 0.75
"""The fraction of SBUF for weights that stay there from request to request."""
_COMPOSITE_PASSES = 3.0
"""Passes of ACT and DVE over the elements of a softmax, a norm or an activation."""

Floats = NDArray[np.float64]


def bytes_of(value: SSAValue) -> int:
    """Return the bytes of an array."""
    type_ = value.type
    if not isinstance(type_, TensorType):
        return 0
    return prod(type_.get_shape()) * max(1, byte_size(element(value)))


def unit_costs(graph: Graph, machine: Machine) -> Floats:
    """[units, resources] in ns: products at PE's peak rate, elements on ACT and DVE, and the bytes
    of the arguments (dma) and of the constants (weights) that a unit is the first to read."""
    costs = np.zeros((len(graph.units), len(RESOURCES)))
    seen: set[SSAValue] = set()
    for number, op in enumerate(graph.units):
        flops = sum(useful_flops(inner) for inner in walk(op))
        costs[number, 0] = flops / machine.peak_flops_bf16 * 1e9
        costs[number, 1] = _vector_ns(op, machine)
        for value in _fetched(op, graph):
            if value not in seen:
                seen.add(value)
                column = WEIGHTS if isinstance(value.owner, Operation) else 2
                costs[number, column] += bytes_of(value) / machine.dma_gbps
    return costs


def stage_ns(sums: Floats, sent_ns: Floats | float, machine: Machine) -> Floats:
    """The estimated time of stages from the sums of their units' costs [..., resources] and what
    DMA takes for the values that come and go. Weights that fit in SBUF are loaded only once."""
    room = _FOR_WEIGHTS * machine.sbuf_usable_partition_bytes * machine.partitions
    loaded = np.where(sums[..., WEIGHTS] * machine.dma_gbps > room, sums[..., WEIGHTS], 0.0)
    dma: Floats = sums[..., 2] + loaded + sent_ns
    return np.maximum(np.maximum(sums[..., 0], sums[..., 1]), dma)


def _vector_ns(op: Operation, machine: Machine) -> float:
    """Return the elements of the largest array, over the lanes of two engines."""
    values = [*op.results, *op.operands]
    if op.name in ("hlo.dot", "hlo.convolution"):
        values = list(op.results)
    elements = max(
        (prod(v.type.get_shape()) for v in values if isinstance(v.type, TensorType)), default=0
    )
    passes = _COMPOSITE_PASSES if op.name == "hlo.composite" else 1.0
    rate = machine.partitions * 2 * machine.dve_ghz
    return passes * elements / rate + machine.dve_overhead_cycles / machine.dve_ghz


def _fetched(op: Operation, graph: Graph) -> list[SSAValue]:
    """Return the arguments and constants that an op reads, through copied ops."""
    found: list[SSAValue] = []
    pending = list(outer_operands(op))
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if not isinstance(owner, Operation):
            found.append(value)
        elif owner in graph.copied:
            if owner.name == "hlo.constant":
                found.append(value)
            pending += outer_operands(owner)
    return found


def live_bytes(graph: Graph) -> Floats:
    """[units + 1]: the bytes that cross a cut in front of each unit. What a later stage reads
    passes through all links in between; only the first stage has the arguments."""
    steps = np.zeros(len(graph.units) + 2)
    for value, last in graph.last.items():
        first = graph.made[value] + 1
        if last >= first:
            steps[first] += bytes_of(value)
            steps[last + 1] -= bytes_of(value)
    return np.cumsum(steps)[:-1]

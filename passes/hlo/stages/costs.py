"""Estimate the load of a program's units on a core, by resource, and the bytes across cuts."""

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.flops import useful_flops
from neuronir.dialects.hlo.interpreter_bounds import ASSUMED_TRIPS
from neuronir.dialects.hlo.semantics.registry import integer
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.support.walking import ops_of, walk
from neuronir.passes.hlo.stages.graph import Graph, outer_operands
from neuronir.passes.hlo.support.values import element

RESOURCES = ("pe", "vector", "dma", "weights")
ENGINES = 2
"""The first resources are engines (ns), the others bytes that DMA moves."""
WEIGHTS = RESOURCES.index("weights")
_FOR_WEIGHTS = 0.75
"""The fraction of SBUF for weights that stay there between requests; the rest is for activations.
It is used only for the first cuts, because later cuts use simulated times of allocated programs.
"""
_COMPOSITE_PASSES = 3.0
"""Passes of ACT and DVE over the elements of a composite: a softmax or a norm has a reduction, an
activation or a scale, and a product. The first cuts only, as `_FOR_WEIGHTS`."""
_FREE = ("hlo.tuple", "hlo.get_tuple_element")

Floats = NDArray[np.float64]


def bytes_of(value: SSAValue) -> int:
    """Return the bytes of an array."""
    type_ = value.type
    assert isinstance(type_, TensorType), "only arrays are sent"
    return prod(type_.get_shape()) * max(1, byte_size(element(value)))


def unit_costs(graph: Graph, machine: Machine) -> Floats:
    """[units, resources] in ns: products at PE's peak rate, elements on ACT and DVE, and the bytes
    of the arguments (dma) and of the constants (weights) that a unit is the first to read."""
    costs = np.zeros((len(graph.units), len(RESOURCES)))
    seen: set[SSAValue] = set()
    for number, op in enumerate(graph.units):
        costs[number, :ENGINES] = _work(op, machine)
        for value in _fetched(op, graph):
            if value not in seen:
                seen.add(value)
                column = WEIGHTS if isinstance(value.owner, Operation) else 2
                costs[number, column] += bytes_of(value) / machine.dma_gbps
    return costs


def stage_ns(sums: Floats, sent_ns: Floats | float, machine: Machine) -> Floats:
    """Return the estimated time of stages from the sums of their units' costs [..., resources] and
    the DMA time for values received and sent. Weights that fit in SBUF are loaded only once.
    """
    room = _FOR_WEIGHTS * machine.sbuf_usable_partition_bytes * machine.partitions
    loaded = np.where(sums[..., WEIGHTS] * machine.dma_gbps > room, sums[..., WEIGHTS], 0.0)
    dma: Floats = sums[..., 2] + loaded + sent_ns
    return np.maximum(np.maximum(sums[..., 0], sums[..., 1]), dma)


def _work(op: Operation, machine: Machine) -> Floats:
    """Return the time of an op on PE and on the vector engines; of a loop, that of all trips."""
    if op.name == "hlo.while":
        once = sum((_work(inner, machine) for inner in _body(op)), start=np.zeros(ENGINES))
        return integer(op, "trip_count", ASSUMED_TRIPS) * once
    flops = sum(useful_flops(inner) for inner in walk(op))
    return np.array([flops / machine.peak_flops_bf16 * 1e9, _vector_ns(op, machine)])


def _body(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            yield from ops_of(block)


def _vector_ns(op: Operation, machine: Machine) -> float:
    """Return the elements of the largest array, over the lanes of two engines."""
    if op.name in _FREE:
        return 0.0
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
    """Return the bytes that cross a cut before each unit, as an array of [units + 1].

    They are infinite if a tuple would cross the cut, because stages send arrays only. Values that a
    later stage reads pass through all links in between, and only the first stage has the arguments.
    """
    steps, tuples = np.zeros((2, len(graph.units) + 2))
    for value, last in graph.last.items():
        first = graph.made[value] + 1
        if last >= first:
            is_array = isinstance(value.type, TensorType)
            size = bytes_of(value) if is_array else 1
            crossing = steps if is_array else tuples
            crossing[first] += size
            crossing[last + 1] -= size
    sent: Floats = np.where(np.cumsum(tuples) > 0, np.inf, np.cumsum(steps))
    return sent[:-1]

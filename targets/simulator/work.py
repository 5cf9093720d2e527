"""Find the work of the busiest resource at its full rate: all of its time that is not a loss.

A run that is close to its roofline has hardly any losses: nearly all of its time is this work.
"""

from collections.abc import Iterator

from neuronir.dialects.nc.cost import matmul_passes, stride_factor
from neuronir.targets.simulator.attribution import ENGINES, Usage, resource_times
from neuronir.targets.simulator.losses import SPILL, partitions_of, repeated
from neuronir.targets.simulator.parts import Entry, Part, summed
from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import BARRIER, TRANSFER, Op
from neuronir.targets.simulator.unread import unread_of
from neuronir.targets.simulator.waits import Words

_READS = {
    "input": (
        "dma reads inputs at its full rate",
        "only fewer bytes help: use narrower types, or keep values in SBUF between runs",
    ),
    "constant": (
        "dma reads constants at its full rate",
        "only fewer bytes help: use narrower types, or a larger batch that uses them more often",
    ),
}
_OUTPUTS = (
    "dma writes outputs at its full rate",
    "only fewer bytes help: use narrower types, or reduce results on the chip",
)
_SCRATCH = (
    "dma moves values from op to op through HBM",
    "keep them in SBUF: fuse the ops, use smaller tiles, or use a value soon after it is computed",
)
_INSIDE = ("dma copies within SBUF", "let engines read the values where they are")
_PRODUCTS = (
    "tensor computes products at its peak rate",
    "only fewer FLOPs or more cores help",
)
_ENGINES = {
    "vector": (
        "vector computes at its full rate",
        "make fewer passes over the data: fuse arithmetic, use bf16 operands, or move a part to "
        "scalar or gpsimd",
    ),
    "scalar": (
        "scalar computes at its full rate",
        "process fewer elements, or move arithmetic to vector: an activation takes a cycle for "
        "each element of a partition",
    ),
    "gpsimd": (
        "gpsimd computes at its full rate",
        "it is the slowest engine: move work to vector or scalar",
    ),
}


def find_work(result: TimingResult, usage: Usage, resource: str) -> list[Part]:
    """Return the work of `resource` at its full rate by kind, largest first."""
    if resource == "dma":
        return summed(_moved(result, usage))
    if resource.endswith("_port"):
        return summed(_held(result, usage, resource))
    return summed(_computed(result, usage, resource))


def _moved(result: TimingResult, usage: Usage) -> Iterator[Entry]:
    """Return the time of transfers at the rate of all DMA engines, without repeated reads, unread
    bytes and spills.
    """
    ops, gbps = result.code.ops, result.machine.dma_gbps
    fractions = unread_of(result.code, usage)
    for table, read in ((usage.reads, True), (usage.writes, False)):
        for (number, index), moved in table.items():
            kind = result.program.variables[index].kind if index >= 0 else ""
            if kind == SPILL:
                continue
            fresh: float = moved
            if read:
                fresh *= (1.0 - repeated(result, usage, index)) * (1.0 - fractions.get(number, 0.0))
            yield _moves(kind, read), ops[number].instruction.source, fresh / gbps
    for op, count in zip(ops, usage.counts, strict=True):
        if op.kind == TRANSFER and not op.cost.hbm_read_bytes and not op.cost.hbm_write_bytes:
            yield _INSIDE, op.instruction.source, count * op.cost.bytes / gbps


def _moves(kind: str, read: bool) -> Words:
    if kind == "output" and not read:
        return _OUTPUTS
    if kind in ("scratch", "output"):
        return _SCRATCH
    if read and kind in _READS:
        return _READS[kind]
    return (f"dma {'reads' if read else 'writes'} HBM at its full rate", _OUTPUTS[1])


def _computed(result: TimingResult, usage: Usage, resource: str) -> Iterator[Entry]:
    """Return the work of the instructions of an engine, without losses."""
    for op, count in zip(result.code.ops, usage.counts, strict=True):
        if op.kind in (BARRIER, TRANSFER) or ENGINES[op.instruction.stream] != resource:
            continue
        if resource == "tensor":
            yield _PRODUCTS, op.instruction.source, count * _peak(result, op)
        elif resource in _ENGINES:
            share = partitions_of(op) / result.machine.partitions
            packed = op.cost.work_ns / stride_factor(op.instruction, result.machine)
            yield _ENGINES[resource], op.instruction.source, count * packed * share


def _peak(result: TimingResult, op: Op) -> float:
    """Return the time of a product in one pass at the peak rate; transposes are losses."""
    if op.instruction.opcode == "transpose":
        return 0.0
    return op.cost.peak_ns / matmul_passes(op.instruction, result.machine)


def _held(result: TimingResult, usage: Usage, resource: str) -> Iterator[Entry]:
    """Return for which instructions a shared port was held."""
    memory = resource.removesuffix("_port").upper()
    for op, count in zip(result.code.ops, usage.counts, strict=True):
        ns = 0.0 if op.kind == TRANSFER else resource_times(op, 1).get(resource, 0.0)
        if ns:
            engine = ENGINES[op.instruction.stream]
            words = (
                f"{engine} holds the port of {memory} that it shares",
                f"keep values that are read often out of {memory}, read them in fewer "
                "instructions, or move the work to an engine that has time",
            )
            yield words, op.instruction.source, count * ns

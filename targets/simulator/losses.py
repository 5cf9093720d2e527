"""Explain the largest losses of a run relative to its roofline.

The bottleneck of a run is its busiest resource. It loses time while it is idle (idle.py has the
reasons), and while it works below its peak rate: on overheads, on small pieces, or on work that
another compile or type would avoid. Losses of one kind are summed over all ops with the same
opcodes.
"""

from collections.abc import Iterator, Mapping, Sequence

from neuronir.dialects.nc.cost import matmul_passes, stride_factor
from neuronir.dialects.nc.machine import Machine
from neuronir.targets.simulator.attribution import ENGINES, Usage, read_times
from neuronir.targets.simulator.idle import TRANSFERS, Cause, Wait
from neuronir.targets.simulator.parts import Entry, Part, summed
from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import BARRIER, TRANSFER, Op
from neuronir.targets.simulator.unread import unread_of
from neuronir.targets.simulator.waits import Words, last_words, words_of

_OTHERS = (Cause.SEMAPHORE, Cause.FIRST)
"""Waits for another engine or for a transfer."""
SPILL = "spill"
"""The kind of variables for values that do not fit in SBUF."""


def waiting_streams(result: TimingResult, resource: str, usage: Usage) -> list[int]:
    """Return the streams whose idle time is that of `resource`.

    For a port this is the busier of the engines that share it; for dma the transfers (TRANSFERS +
    number) of the engine that starts most.
    """
    streams = result.streams
    if resource == "dma":
        by_engine = {s.engine: TRANSFERS + s.index for s in streams}
        moved: dict[int, float] = {}
        for op, count in zip(result.code.ops, usage.counts, strict=True):
            if op.kind == TRANSFER:
                index = by_engine[op.instruction.trigger]
                moved[index] = moved.get(index, 0.0) + count * op.cost.dma_load_ns
        return [max(sorted(moved), key=lambda i: moved[i])] if moved else []
    wanted = {"psum_port": ("vector", "scalar"), "sbuf_port": ("vector", "gpsimd")}
    names = wanted.get(resource, (resource,))
    found = [s for s in streams if ENGINES.get(s.engine) in names]
    return [max(found, key=lambda s: s.active).index] if found else []


def find_losses(result: TimingResult, usage: Usage, resource: str) -> list[Part]:
    """Return all losses of `resource`, largest first."""
    streams = waiting_streams(result, resource, usage)
    entries = [*_idle(result, resource, streams), *_overheads(result, usage, resource)]
    if resource == "dma":
        entries += [*_again(result, usage), *_spilled(result, usage), *_unread(result, usage)]
    return summed(entries)


def _idle(result: TimingResult, resource: str, streams: Sequence[int]) -> Iterator[Entry]:
    sources, ops = result.program.sources, result.code.ops
    for wait, ns in result.idle.sums().items():
        if wait.stream in streams:
            yield words_of(wait, resource, result), _to_blame(wait, resource, ops), ns
    for index in streams:
        stream = result.streams[index % TRANSFERS]
        end = stream.idle if index >= TRANSFERS else result.total_ns - stream.finish
        if end > 0 and result.last >= 0:
            last = ops[result.last]
            cause = _cause_of_end(result, last) if index >= TRANSFERS else None
            if cause is not None:
                yield words_of(cause, resource, result), _to_blame(cause, resource, ops), end
            else:
                yield (
                    last_words(last, resource, sources),
                    last.instruction.source,
                    end,
                )


def _cause_of_end(result: TimingResult, last: Op) -> Wait | None:
    """Return the longest wait of the last transfer of a run, if another engine triggered it."""
    if last.kind != TRANSFER:
        return None
    sums = result.idle.sums()
    trigger = next(s.index for s in result.streams if s.engine == last.instruction.trigger)
    found = [
        wait
        for wait in sums
        if wait.stream == TRANSFERS + trigger
        and wait.source == last.instruction.source
        and wait.cause in _OTHERS
    ]
    return max(found, key=lambda wait: sums[wait], default=None)


def _to_blame(wait: Wait, resource: str, ops: Sequence[Op]) -> int:
    """Return the source that an idle time is attributed to: for a wait for a transfer, that of the
    transfer.
    """
    maker = ops[wait.maker] if 0 <= wait.maker < len(ops) else None
    if wait.cause in _OTHERS and resource != "dma" and maker and maker.kind == TRANSFER:
        return maker.instruction.source
    return wait.source


def _again(result: TimingResult, usage: Usage) -> Iterator[Entry]:
    """Return the time of repeated reads of inputs and constants by DMA, at its full rate."""
    times = read_times(result.code, usage)
    for (number, index), moved in usage.reads.items():
        excess = repeated(result, usage, index)
        if excess > 0:
            kind = result.program.variables[index].kind
            words = (
                f"dma reads {kind}s {times[kind]:.1f} x on average",
                "keep reused values in SBUF: use smaller tiles of the other operand, another order "
                "of loops, or narrower types",
            )
            source = result.code.ops[number].instruction.source
            yield words, source, excess * moved / result.machine.dma_gbps


def repeated(result: TimingResult, usage: Usage, index: int) -> float:
    """Return the fraction of the bytes read of a variable that had been read before; 0 but for
    inputs and constants.
    """
    variable = result.program.variables[index] if index >= 0 else None
    if variable is None or variable.kind not in ("input", "constant"):
        return 0.0
    return max(0.0, 1.0 - variable.size / usage.variables[index].read)


def _unread(result: TimingResult, usage: Usage) -> Iterator[Entry]:
    """Return the time of loads of bytes that no instruction reads, at the full rate of DMA."""
    words = (
        "dma loads values that nothing reads",
        "load only the values that are used: shorter rows, or another order of dimensions in HBM",
    )
    fractions = unread_of(result.code, usage)
    for (number, index), moved in usage.reads.items():
        fraction = fractions.get(number, 0.0) * (1.0 - repeated(result, usage, index))
        if index < 0 or result.program.variables[index].kind != SPILL:
            source = result.code.ops[number].instruction.source
            yield words, source, fraction * moved / result.machine.dma_gbps


def _spilled(result: TimingResult, usage: Usage) -> Iterator[Entry]:
    """Return the time of spilled values in DMA, at its full rate."""
    words = (
        "dma saves and reloads values that do not fit in SBUF",
        "use smaller tiles, a smaller batch or narrower types, which need less SBUF at once",
    )
    for (number, index), moved in (*usage.reads.items(), *usage.writes.items()):
        if index >= 0 and result.program.variables[index].kind == SPILL:
            source = result.code.ops[number].instruction.source
            yield words, source, moved / result.machine.dma_gbps


def _overheads(result: TimingResult, usage: Usage, resource: str) -> Iterator[Entry]:
    """Return the work of the resource below its peak rate, by the costs of its instructions."""
    machine = result.machine
    for op, count in zip(result.code.ops, usage.counts, strict=True):
        found: Mapping[Words, float] = {}
        name = ENGINES[op.instruction.stream]
        if op.kind == BARRIER:
            continue
        if op.kind == TRANSFER:
            if resource == "dma":
                found = _transfer(op, machine)
            elif resource == name:
                found = _trigger(op, resource)
        elif resource == "tensor" == name:
            found = _tensor(op, machine)
        elif resource == name:
            found = _vector(op, resource, machine)
        for words, ns in found.items():
            yield words, op.instruction.source, count * ns


def _transfer(op: Op, machine: Machine) -> dict[Words, float]:
    c = op.cost
    lost = (c.dma_load_ns - c.bytes / machine.dma_engine_gbps) / machine.dma_engines
    full = machine.dma_descriptor_ns * machine.dma_engine_gbps / 1024
    words = (
        "dma moves rows that are too short for its rate",
        f"use rows of {full:.1f} KiB or more: store values that are read together contiguously",
    )
    return {words: lost}


def _trigger(op: Op, resource: str) -> dict[Words, float]:
    c = op.cost
    return {
        (
            f"{resource} starts transfers",
            "use fewer, larger transfers, or start them from an engine that has less work",
        ): c.issue_ns - c.software_ns,
        (
            f"{resource} makes descriptors of gathers and scatters",
            "use slices instead of indices for rows that are known at compile time",
        ): c.software_ns,
    }


def _tensor(op: Op, machine: Machine) -> dict[Words, float]:
    c, i = op.cost, op.instruction
    if i.opcode == "transpose":
        words = (
            "tensor transposes operands",
            "store operands in the layout in which they are used: swap the operands of the "
            "product, or store weights transposed",
        )
        return {words: c.issue_ns}
    passes = matmul_passes(i, machine)
    issue, work, peak = c.issue_ns / passes, c.work_ns / passes, c.peak_ns / passes
    return {
        (
            "tensor computes products in fp32",
            f"bf16 (--auto-cast matmult) takes 1 pass instead of {machine.fp32_passes}",
        ): c.issue_ns - issue,
        (
            "tensor loads stationary operands and starts products",
            "use larger batches or tiles: the overhead is smallest for products of "
            f"{machine.matmul_max_moving} columns",
        ): issue - work,
        (
            "tensor uses a part of its rows and columns",
            f"join small products and pad less: products of fewer than {machine.pe_rows} rows or "
            f"{machine.pe_columns} columns leave the rest idle",
        ): work - peak,
    }


def _vector(op: Op, resource: str, machine: Machine) -> dict[Words, float]:
    c = op.cost
    packed = c.work_ns / stride_factor(op.instruction, machine)
    return {
        (
            f"{resource} starts instructions",
            "use larger tiles and fewer steps: the overhead is smaller for instructions of more "
            "elements",
        ): c.issue_ns - c.work_ns,
        (
            f"{resource} reads or writes elements far apart",
            "store elements that are used together contiguously: use another order of dimensions",
        ): c.work_ns - packed,
        (
            f"{resource} uses a part of its {machine.partitions} partitions",
            "spread the values over more partitions: split a dimension that lies within a "
            "partition",
        ): packed * (1.0 - partitions_of(op) / machine.partitions),
    }


def partitions_of(op: Op) -> int:
    """Return on how many partitions an instruction works."""
    i = op.instruction
    return max((ap.partitions for ap in (*i.dst, *i.src) if ap is not None), default=1)

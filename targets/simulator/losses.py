"""Explain the largest losses of a run relative to its roofline.

The bottleneck of a run is its busiest resource. It loses time while it is idle (idle.py has the
reasons), and while it works below its peak rate: on overheads, on small pieces, or on work that
another compile or type would avoid. Losses of one kind are summed over all ops with the same
opcodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.instruction import Source
from neuronir.dialects.nc.machine import Machine
from neuronir.targets.simulator.attribution import ENGINES, Usage, read_times
from neuronir.targets.simulator.idle import TRANSFERS, Cause, Wait
from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import TRANSFER, Op
from neuronir.targets.simulator.timing_state import Stream

_SHORT = 64
"""Below this size of a descriptor, a transfer is slow mainly for that reason."""


@dataclass(slots=True)
class Loss:
    """Time lost in ns, by op (source number); `what` and `advice` are sentences."""

    what: str
    advice: str
    ns: float = 0.0
    by_source: dict[int, float] = field(default_factory=dict)

    def add(self, source: int, ns: float) -> None:
        """Add the loss of one op."""
        self.ns += ns
        self.by_source[source] = self.by_source.get(source, 0.0) + ns

    def worst(self) -> int:
        """Return the op that lost most."""
        return max(sorted(self.by_source), key=lambda source: self.by_source[source])


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


def find_losses(result: TimingResult, usage: Usage, resource: str) -> list[Loss]:
    """Return all losses of `resource`, largest first."""
    losses: dict[tuple[str, str], Loss] = {}
    for (what, advice), source, ns in (
        *_idle(result, resource, waiting_streams(result, resource, usage)),
        *_work(result.code.ops, usage, resource, result.machine),
        *(_again(result, usage) if resource == "dma" else ()),
    ):
        losses.setdefault((what, advice), Loss(what, advice)).add(source, ns)
    return sorted((loss for loss in losses.values() if loss.ns >= 1), key=lambda loss: -loss.ns)


_Entry = tuple[tuple[str, str], int, float]


def _idle(result: TimingResult, resource: str, streams: Sequence[int]) -> Iterator[_Entry]:
    sources, ops = result.program.sources, result.code.ops
    for wait, ns in result.idle.sums().items():
        if wait.stream in streams:
            yield _why(wait, resource, sources, ops), _to_blame(wait, resource, ops), ns
    for index in streams:
        stream = result.streams[index % TRANSFERS]
        last = _last_source(result, stream.index)
        end = result.total_ns - stream.finish
        words = f"{resource} has nothing to do after its last instruction"
        if index >= TRANSFERS:
            end = stream.idle
            words = f"dma has little or nothing to move after the last transfer by {_by(stream)}"
        if end > 0:
            yield (words, "only less to do at the end of the program helps"), last, end


def _to_blame(wait: Wait, resource: str, ops: Sequence[Op]) -> int:
    """Return the source to which an idle time counts: for a wait for a transfer, the transfer's."""
    maker = ops[wait.maker] if 0 <= wait.maker < len(ops) else None
    if wait.cause == Cause.SEMAPHORE and resource != "dma" and maker and maker.kind == TRANSFER:
        return maker.instruction.source
    return wait.source


def _again(result: TimingResult, usage: Usage) -> Iterator[_Entry]:
    """Return the time of repeated reads of inputs and constants by DMA, at its full rate."""
    program, machine = result.program, result.machine
    times = read_times(result.code, usage)
    for (number, index), moved in usage.reads.items():
        variable = program.variables[index] if index >= 0 else None
        if variable is None or variable.kind not in ("input", "constant"):
            continue
        excess = 1.0 - variable.size / usage.variables[index].read
        if excess > 0:
            words = (
                f"dma reads {variable.kind}s {times[variable.kind]:.1f} x on average",
                "keep what is used again in SBUF: smaller tiles of the other operand, another "
                "order of loops, or smaller types",
            )
            yield (
                words,
                result.code.ops[number].instruction.source,
                excess * moved / (machine.dma_engine_gbps * machine.dma_engines),
            )


def _by(stream: Stream) -> str:
    return ENGINES[stream.engine]


def _last_source(result: TimingResult, index: int) -> int:
    """Return the source of the last instruction in the text of a stream."""
    steps = result.streams[index].frames[0].code.steps
    return next((s.instruction.source for s in reversed(steps) if isinstance(s, Op)), 0)


def _why(
    wait: Wait, resource: str, sources: Sequence[Source], ops: Sequence[Op]
) -> tuple[str, str]:
    """Describe an idle time, and what helps."""
    mine = _kind(sources, wait.source)
    match wait.cause:
        case Cause.TABLE:
            return (
                f"{resource} loads activation function sets for {mine}",
                "put activations of one set next to each other, or use functions of one set",
            )
        case Cause.RESULT:
            return (
                f"{resource} waits for its own result of the instruction before, in {mine}",
                "work on more elements at once, or mix independent work between the steps",
            )
        case Cause.PORT:
            return (
                f"{resource} waits in {mine} for a memory port that another engine holds",
                "move one of the two to another engine, or its operand to another memory",
            )
        case Cause.SLOW:
            return (
                f"transfers of {mine} leave DMA engines idle while they move",
                "one queue keeps all engines busy with 16 rows or more of 2.7 KiB: longer rows, or "
                "several arrays at once",
            )
        case Cause.SMALL:
            return (
                f"{resource} waits to start small transfers of {mine}, which start one by one",
                "move more at once: transfers of more than 512 bytes have no part in it",
            )
        case Cause.BARRIER:
            return (f"{resource} waits at barriers in {mine}", "drop the barriers")
        case Cause.SEMAPHORE:
            pass
        case _:
            return (
                f"{resource} has nothing to move until the next transfer, of {mine}, starts",
                "more transfers under way at once, started earlier or by more engines, keep the "
                "engines busy",
            )
    maker = ops[wait.maker] if 0 <= wait.maker < len(ops) else None
    if maker is None:
        return (f"{resource} waits for other engines in {mine}", "overlap more independent work")
    theirs = _kind(sources, maker.instruction.source)
    if maker.kind == TRANSFER:
        if resource == "dma":
            return (
                f"transfers of {mine} wait for other transfers, of {theirs}",
                "what goes through HBM could stay in SBUF, or be prefetched",
            )
        piece = maker.cost.bytes / maker.cost.descriptors
        if piece < _SHORT:
            return (
                f"{resource} waits in {mine} for transfers of {theirs} in pieces of less than "
                f"{_SHORT} bytes",
                "lay out what is moved so that descriptors move 2 KiB or more: pack it, change "
                "the order of its dimensions, or move it once and spread it on the chip",
            )
        return (
            f"{resource} waits in {mine} for transfers of {theirs}",
            "load earlier (more room in SBUF, more buffers) or less (bind weights, smaller types)",
        )
    engine = ENGINES[maker.instruction.stream]
    if resource == "dma":
        return (
            f"transfers of {mine} wait until {engine} is done with {theirs}",
            "buffers are full or results late: keep less in SBUF, use smaller tiles, speed up "
            f"{engine}",
        )
    return (
        f"{resource} waits in {mine} for {engine} to finish {theirs}",
        "the two take turns: more independent work (batch, strands, smaller tiles) would overlap",
    )


def _kind(sources: Sequence[Source], number: int) -> str:
    source = sources[number] if number < len(sources) else None
    if source is None or not (source.opcode or source.name):
        return "ops without a name"
    return source.opcode or source.name.rstrip("0123456789").rstrip(".")


def _work(ops: Sequence[Op], usage: Usage, resource: str, machine: Machine) -> Iterator[_Entry]:
    """Return the work of the resource below its peak rate, by the costs of its instructions."""
    for op, count in zip(ops, usage.counts, strict=True):
        if not count:
            continue
        found: Mapping[tuple[str, str], float] = {}
        name = ENGINES[op.instruction.stream]
        if op.kind == TRANSFER:
            if resource == "dma":
                found = _transfer(op, machine)
            elif resource == name:
                found = _trigger(op, resource)
        elif resource == "tensor" == name:
            found = _tensor(op, machine)
        elif resource == name:
            found = _vector(op, resource)
        for words, ns in found.items():
            if ns > 0:
                yield words, op.instruction.source, count * ns


def _transfer(op: Op, machine: Machine) -> dict[tuple[str, str], float]:
    c = op.cost
    lost = (c.dma_load_ns - c.bytes / machine.dma_engine_gbps) / machine.dma_engines
    full = machine.dma_descriptor_ns * machine.dma_engine_gbps / 1024
    words = (
        "dma moves rows that are too short for its rate",
        f"rows of {full:.1f} KiB and more reach it: pack what is read together side by side",
    )
    return {words: lost}


def _trigger(op: Op, resource: str) -> dict[tuple[str, str], float]:
    c = op.cost
    return {
        (
            f"{resource} starts transfers",
            "fewer, larger transfers; or let an engine start them that has less to do",
        ): c.issue_ns - c.software_ns,
        (
            f"{resource} makes descriptors of gathers and scatters",
            "rows that are known when compiling need none: slices in place of indices",
        ): c.software_ns,
    }


def _tensor(op: Op, machine: Machine) -> dict[tuple[str, str], float]:
    c, i = op.cost, op.instruction
    if i.opcode == "transpose":
        words = (
            "tensor transposes operands",
            "keep them in the layout of their use: swap the sides of the product, or store "
            "weights transposed",
        )
        return {words: c.issue_ns}
    moving = i.src[-1]
    assert moving is not None
    single = any(ap is not None and ap.dtype == DType.F32 for ap in i.src)
    passes = machine.fp32_passes if single else 1
    issue, work, peak = c.issue_ns / passes, c.work_ns / passes, c.peak_ns / passes
    return {
        (
            "tensor computes products in fp32",
            f"bf16 (--auto-cast matmult) takes 1 pass in place of {machine.fp32_passes}",
        ): c.issue_ns - issue,
        (
            "tensor loads stationary operands and starts products",
            f"products of {machine.matmul_max_moving} columns have least of it: larger batches or "
            "tiles",
        ): issue - work,
        (
            "tensor uses a part of its rows and columns",
            f"products over fewer than {machine.pe_rows} rows or {machine.pe_columns} columns "
            "leave the rest idle: join small products, pad less",
        ): work - peak,
    }


def _vector(op: Op, resource: str) -> dict[tuple[str, str], float]:
    c = op.cost
    return {
        (
            f"{resource} starts instructions",
            "instructions of more elements have less of it: larger tiles, fewer steps",
        ): c.issue_ns - c.work_ns
    }

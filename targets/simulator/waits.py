"""Describe the waits of an idle engine, with advice."""

import re
from collections.abc import Sequence

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import Source
from neuronir.targets.simulator.attribution import ENGINES
from neuronir.targets.simulator.idle import Cause, Wait
from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import TRANSFER, Op

SHORT = 64
"""Below this size of a descriptor (bytes), a transfer is slow mainly for that reason."""
_DIALECT = "."
"""Opcodes with the name of a dialect are of the compiler, not of the model."""

_NUMBER = re.compile(r"(?<![:\d])\.?\d+$")
"""The number at the end of the name of an HLO instruction; a position in a file has colons."""

Words = tuple[str, str]
"""A description of a wait or loss, and advice."""


def words_of(wait: Wait, resource: str, result: TimingResult) -> Words:
    """Describe an idle time of a resource."""
    sources, machine = result.program.sources, result.machine
    mine = kind_of(sources, wait.source)
    match wait.cause:
        case Cause.TABLE:
            return (
                f"{resource} loads activation function sets for {mine}",
                "group activations of the same set, or use functions of one set only",
            )
        case Cause.RESULT:
            return (
                f"{resource} waits for its own result of the instruction before, in {mine}",
                "process more elements per instruction, or interleave independent work",
            )
        case Cause.PORT:
            return (
                f"{resource} waits in {mine} for a memory port that another engine holds",
                "move one of the two instructions to another engine, or its operand to another "
                "memory",
            )
        case Cause.SLOW:
            return (
                f"transfers of {mine} leave DMA engines idle while they move",
                "use longer rows, or load several arrays at once: one queue keeps all engines busy "
                f"only with {machine.dma_engines} or more rows of "
                f"{machine.dma_queue_descriptor_ns * machine.dma_engine_gbps / 1024:.1f} KiB",
            )
        case Cause.SMALL:
            return (
                f"{resource} waits to start small transfers of {mine}, which start one by one",
                "use larger transfers: this limit applies only to transfers of up to "
                f"{machine.dma_small_bytes} bytes",
            )
        case Cause.BARRIER:
            return (f"{resource} waits at barriers in {mine}", "remove the barriers")
        case Cause.SEMAPHORE | Cause.FIRST:
            return _for_another(wait, resource, result)
        case _:
            return (
                f"{resource} has nothing to move until the next transfer, of {mine}, starts",
                "start transfers earlier or from more engines, so that more of them are in flight",
            )


def _for_another(wait: Wait, resource: str, result: TimingResult) -> Words:
    """Describe a wait for another engine or for a transfer."""
    sources, ops = result.program.sources, result.code.ops
    mine = kind_of(sources, wait.source)
    maker = ops[wait.maker] if 0 <= wait.maker < len(ops) else None
    if maker is None:
        return (f"{resource} waits for other engines in {mine}", "overlap more independent work")
    theirs = kind_of(sources, maker.instruction.source)
    if maker.kind == TRANSFER:
        moved = transfers_of(sources, maker)
        if resource == "dma":
            return (
                f"transfers of {mine} wait for other transfers, {moved}",
                "keep these values in SBUF, or prefetch them",
            )
        if maker.cost.bytes / maker.cost.descriptors < SHORT:
            return (
                f"{resource} waits in {mine} for {moved} in pieces of less than {SHORT} bytes",
                "use descriptors of 2 KiB or more: pack the data, change the order of its "
                "dimensions, or load it once and distribute it on the chip",
            )
        if wait.cause == Cause.FIRST:
            return (
                f"{resource} waits for its first operands, {moved}",
                "nothing can run before they arrive: load a smaller first tile, or fewer bytes "
                "(narrower types)",
            )
        return (
            f"{resource} waits in {mine} for {moved}",
            "load earlier (more free SBUF, more buffers), or load less (bind weights, narrower "
            "types)",
        )
    engine = ENGINES[maker.instruction.stream]
    if engine == resource:
        return words_of(wait._replace(cause=Cause.RESULT), resource, result)
    if resource == "dma":
        return (
            f"transfers of {mine} wait until {engine} is done with {theirs}",
            "the buffers are full or the results are late: keep less in SBUF, use smaller tiles, "
            f"or speed up {engine}",
        )
    return (
        f"{resource} waits in {mine} for {engine} to finish {theirs}",
        "the engines take turns: add independent work that can overlap (batch, strands, smaller "
        "tiles)",
    )


def last_words(last: Op, resource: str, sources: Sequence[Source]) -> Words:
    """Describe the idle time of a resource at the end of a run, until the op `last` is done."""
    if last.kind == TRANSFER:
        moved = transfers_of(sources, last)
        return (
            f"{resource} has nothing to do until the last transfers are done, {moved}",
            "store results earlier, in smaller tiles, or store fewer bytes",
        )
    engine = ENGINES[last.instruction.stream]
    kind = kind_of(sources, last.instruction.source)
    if engine == resource:
        return (
            f"{resource} waits for the result of its last instruction, of {kind}",
            "reduce the work at the end of the program",
        )
    return (
        f"{resource} has nothing to do while {engine} finishes {kind}",
        "use smaller tiles at the end, so that the last work overlaps the work before it",
    )


def kind_of(sources: Sequence[Source], number: int) -> str:
    """Return the opcode of a source op, or its name without a number."""
    source = sources[number] if number < len(sources) else None
    if source is None or not (source.opcode or source.name):
        return "ops without a name"
    if _DIALECT in source.opcode:
        return "layout conversions"
    return source.opcode or _NUMBER.sub("", source.name)


def transfers_of(sources: Sequence[Source], op: Op) -> str:
    """Describe a transfer: one of an op, or a load or store that the compiler inserted."""
    number = op.instruction.source
    opcode = sources[number].opcode if number < len(sources) else ""
    if _DIALECT not in opcode:
        return f"transfers of {kind_of(sources, number)}"
    dst, src = op.instruction.dst[0], op.instruction.src[0]
    if src is not None and src.space == Space.HBM:
        return "loads of operands"
    return "stores of results" if dst is not None and dst.space == Space.HBM else "copies in SBUF"

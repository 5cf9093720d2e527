"""Describe the waits of an idle engine, with advice."""

import re
from collections.abc import Sequence

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import Source
from neuronir.targets.simulator.attribution import ENGINES
from neuronir.targets.simulator.idle import Cause, Wait
from neuronir.targets.simulator.timing_code import TRANSFER, Op

SHORT = 64
"""Below this size of a descriptor (bytes), a transfer is slow mainly for that reason."""
_DIALECT = "."
"""Opcodes with the name of a dialect are of the compiler, not of the model."""

_NUMBER = re.compile(r"(?<![:\d])\.?\d+$")
"""The number at the end of the name of an HLO instruction; a position in a file has colons."""

Words = tuple[str, str]
"""What happened, and what helps."""


def words_of(wait: Wait, resource: str, sources: Sequence[Source], ops: Sequence[Op]) -> Words:
    """Describe an idle time of a resource."""
    mine = kind_of(sources, wait.source)
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
        case Cause.SEMAPHORE | Cause.FIRST:
            return _for_another(wait, resource, sources, ops)
        case _:
            return (
                f"{resource} has nothing to move until the next transfer, of {mine}, starts",
                "more transfers under way at once, started earlier or by more engines, keep the "
                "engines busy",
            )


def _for_another(wait: Wait, resource: str, sources: Sequence[Source], ops: Sequence[Op]) -> Words:
    """Describe a wait for another engine or for a transfer."""
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
                "what goes through HBM could stay in SBUF, or be prefetched",
            )
        if maker.cost.bytes / maker.cost.descriptors < SHORT:
            return (
                f"{resource} waits in {mine} for {moved} in pieces of less than {SHORT} bytes",
                "lay out what is moved so that descriptors move 2 KiB or more: pack it, change "
                "the order of its dimensions, or move it once and spread it on the chip",
            )
        if wait.cause == Cause.FIRST:
            return (
                f"{resource} waits for its first operands, {moved}",
                "nothing can run before they are there: move a smaller part first (smaller first "
                "tile), or fewer bytes (narrower types)",
            )
        return (
            f"{resource} waits in {mine} for {moved}",
            "load earlier (more room in SBUF, more buffers) or less (bind weights, smaller types)",
        )
    engine = ENGINES[maker.instruction.stream]
    if engine == resource:
        return words_of(wait._replace(cause=Cause.RESULT), resource, sources, ops)
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


def last_words(last: Op, resource: str, sources: Sequence[Source]) -> Words:
    """Describe the idle time of a resource at the end of a run, until the op `last` is done."""
    if last.kind == TRANSFER:
        moved = transfers_of(sources, last)
        return (
            f"{resource} has nothing to do until the last transfers are done, {moved}",
            "store results as they are computed, in smaller tiles, or fewer bytes of them",
        )
    engine = ENGINES[last.instruction.stream]
    kind = kind_of(sources, last.instruction.source)
    if engine == resource:
        return (
            f"{resource} waits for the result of its last instruction, of {kind}",
            "only less to do at the end of the program helps",
        )
    return (
        f"{resource} has nothing to do while {engine} finishes {kind}",
        "split what comes last, so that it overlaps with what is before it: smaller tiles",
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

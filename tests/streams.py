"""Streams of programs that are written by hand with the transfers of each queue by themselves."""

from collections.abc import Mapping, Sequence

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Instruction, Item, Loop
from neuronir.dialects.nc.opcodes import OPCODES

_TRIGGERS = (Engine.SP, Engine.POOL, Engine.DVE, Engine.ACT, Engine.PE)


def triggered(streams: Mapping[Engine, Sequence[Item]]) -> dict[Engine, list[Item]]:
    """The streams with an engine for each queue that starts its transfers: one that has nothing
    else to do, as long as there is one. Transfers of other queues follow those of the first."""
    out = {engine: list(items) for engine, items in streams.items() if not engine.is_dma}
    free = [engine for engine in _TRIGGERS if engine not in out]
    for queue, items in streams.items():
        if not queue.is_dma:
            continue
        wanted = [e for e in free if _may_start(e, items)]
        trigger = wanted[0] if wanted else Engine.POOL if _by_pool(items) else Engine.SP
        if wanted:
            free.remove(trigger)
        started_by(trigger, items)
        out.setdefault(trigger, []).extend(items)
    return out


def started_by(trigger: Engine, items: Sequence[Item]) -> None:
    """Let an engine start all transfers of a stream, and run what else is in it."""
    for item in items:
        if isinstance(item, Loop):
            started_by(trigger, item.body)
        elif isinstance(item, Instruction):
            if OPCODES[item.opcode].triggers:
                item.trigger = trigger
            elif item.engine.is_dma:
                item.engine = trigger


def _by_pool(items: Sequence[Item]) -> bool:
    return not _may_start(Engine.SP, items)


def _may_start(engine: Engine, items: Sequence[Item]) -> bool:
    return all(
        _may_start(engine, item.body)
        if isinstance(item, Loop)
        else not isinstance(item, Instruction)
        or engine in (OPCODES[item.opcode].triggers or (engine,))
        for item in items
    )

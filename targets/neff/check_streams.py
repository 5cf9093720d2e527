"""Check properties of whole streams: queue owners, semaphore ranges, and loaded registers."""

from collections.abc import Iterator

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import (
    REGISTER,
    SEMAPHORE_BITS,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
)
from neuronir.dialects.nc.items import instructions_of
from neuronir.targets.neff.header import invalid


def streams_of(program: Program) -> Iterator[Iterator[Instruction]]:
    """Yield the static instructions of each stream."""
    for streams in program.streams.values():
        for items in streams.values():
            yield instructions_of(items)


def check_queues(program: Program, path: str | None) -> None:
    """Raise NIR_NEFF008 if two engines start transfers of one DMA queue."""
    owners: dict[Engine, Engine] = {}
    for stream in streams_of(program):
        for item in stream:
            if item.engine.is_dma:
                owner = owners.setdefault(item.engine, item.trigger)
                if owner is not item.trigger:
                    raise invalid(
                        8,
                        f"{owner.name} and {item.trigger.name} both start transfers of "
                        f"{item.engine.name}; a queue belongs to one engine",
                        path,
                    )


def check_counters(program: Program, path: str | None) -> None:
    """Raise NIR_NEFF008 if a semaphore exceeds its number of bits.

    An iteration of a loop with a runtime count counts once.
    """
    totals: dict[int, int] = {}
    known: dict[tuple[str, Engine], dict[int, int]] = {}
    for engine in program.streams[program.entry]:
        _add(totals, _counts(program, program.entry, engine, known), 1)
    for semaphore, total in sorted(totals.items()):
        if total >> SEMAPHORE_BITS:
            raise invalid(
                8, f"semaphore {semaphore} counts up to {total}; it has {SEMAPHORE_BITS} bits", path
            )


def _counts(
    program: Program,
    function: str,
    engine: Engine,
    known: dict[tuple[str, Engine], dict[int, int]],
) -> dict[int, int]:
    """Return what an engine adds to each semaphore in one run of a function."""
    found = known.get((function, engine))
    if found is None:
        found = known[function, engine] = {}
        _count(program, program.streams[function].get(engine, []), engine, known, found)
    return found


def _count(
    program: Program,
    items: list[Item],
    engine: Engine,
    known: dict[tuple[str, Engine], dict[int, int]],
    out: dict[int, int],
) -> None:
    for item in items:
        if isinstance(item, Loop):
            inner: dict[int, int] = {}
            _count(program, item.body, engine, known, inner)
            _add(out, inner, item.trip_count if item.count < 0 else 1)
        elif isinstance(item, Call):
            _add(out, _counts(program, item.function, engine, known), 1)
        else:
            for update in item.updates:
                out[update.semaphore] = out.get(update.semaphore, 0) + update.amount


def _add(out: dict[int, int], other: dict[int, int], times: int) -> None:
    for semaphore, amount in other.items():
        out[semaphore] = out.get(semaphore, 0) + amount * times


_Use = tuple[frozenset[int], frozenset[int]]
"""Return the registers that a stream expects to be loaded, and those that it loads."""


def check_loads(program: Program, path: str | None) -> None:
    """Raise NIR_NEFF008 if an engine uses a register that it has not loaded."""
    known: dict[tuple[str, Engine], _Use] = {}
    for engine in program.streams[program.entry]:
        needed, _ = _use(program, program.entry, engine, known)
        if needed:
            register = min(needed) - REGISTER
            raise invalid(
                8, f"{engine.name} uses register r{register}, which was never loaded", path
            )


def _use(
    program: Program, function: str, engine: Engine, known: dict[tuple[str, Engine], _Use]
) -> _Use:
    found = known.get((function, engine))
    if found is None:
        items = program.streams[function].get(engine, [])
        found = known[function, engine] = _use_of(program, items, engine, known)
    return found


def _use_of(
    program: Program, items: list[Item], engine: Engine, known: dict[tuple[str, Engine], _Use]
) -> _Use:
    needed: set[int] = set()
    loaded: set[int] = set()
    for item in items:
        if isinstance(item, Loop):
            inner, more = _use_of(program, item.body, engine, known)
            if item.count >= 0:  # it may have no iterations
                if item.again >= 0:
                    inner |= {REGISTER + item.again} - more
                inner |= {REGISTER + item.count}
                more = frozenset()
            elif not item.trip_count:
                continue
        else:
            if isinstance(item, Call):
                inner, more = _use(program, item.function, engine, known)
                values = list(item.arguments)
            else:
                inner, more = frozenset(), frozenset()
                values = [ap.address for ap in (*item.dst, *item.src) if ap is not None]
                if item.opcode == "register_load":
                    more = frozenset({REGISTER + int(item.params.get("register", 0))})
            inner |= {symbol for value in values for symbol, _ in value.terms if symbol >= REGISTER}
        needed |= inner - loaded
        loaded |= more
    return frozenset(needed), frozenset(loaded)

"""Find the weights that stay in SBUF between runs and need not be loaded again.

A transfer of a constant to bytes in SBUF that no other instruction writes has the same result in
each run. It can be omitted from the second run on. The pinned queues of NeuronCore-v1, whose
weights are loaded when the model starts, have the same effect.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.footprint import shape_of
from neuronir.dialects.nc.instruction import (
    AccessPattern,
    Affine,
    Instruction,
    Item,
    Program,
    Wait,
)

Box = tuple[int, int, int, int]
"""First partition, end, first byte in a partition, end."""


@dataclass(frozen=True)
class Warm:
    """A program for all runs but the first, the bytes of constants that are already in SBUF, and
    the bytes that each run still loads.
    """

    program: Program
    resident_bytes: int
    loaded_bytes: int


def warm_program(program: Program) -> Warm:
    """Return the program without the transfers whose results remain from the previous run.

    Programs with loops or calls are not changed, and neither are the loads of constants to bytes
    that another instruction writes.
    """
    constants = [v for v in program.variables if v.kind == "constant"]
    streams = program.streams.get(program.entry, {})
    loads: list[Instruction] = []
    plain = len(program.streams) == 1 and all(
        isinstance(item, Instruction) for items in streams.values() for item in items
    )
    total = 0
    for instruction in _instructions(streams):
        source = instruction.src[0] if instruction.src else None
        if not instruction.engine.is_dma or source is None or source.space is not Space.HBM:
            continue
        at = source.address.const
        if any(v.address <= at < v.address + v.size for v in constants):
            total += source.bytes
            if plain and _fixed(instruction):
                loads.append(instruction)
    kept = _undisturbed(loads, streams) if loads else []
    gone = {id(load) for load in _removable(kept, streams)}
    resident = sum(_source_bytes(load) for load in loads if id(load) in gone)
    if not gone:
        return Warm(program, 0, total)
    made = replace(program, streams={program.entry: _without(gone, streams)})
    return Warm(made, resident, total - resident)


def _source_bytes(load: Instruction) -> int:
    source = load.src[0]
    return 0 if source is None else source.bytes


def _instructions(streams: dict[Engine, list[Item]]) -> Iterator[Instruction]:
    for items in streams.values():
        for item in items:
            if isinstance(item, Instruction):
                yield item


def _fixed(load: Instruction) -> bool:
    """Return whether a transfer has a constant source address and a constant destination in
    SBUF.
    """
    patterns = [*load.dst, *load.src]
    dst = load.dst[0]
    return (
        load.opcode == "dma"
        and dst is not None
        and dst.space is Space.SBUF
        and all(p is not None and not p.address.terms for p in patterns)
    )


def _box(pattern: AccessPattern) -> Box:
    shape = shape_of(pattern)
    low = pattern.address.const + shape.low
    high = pattern.address.const + shape.high
    return pattern.start, pattern.start + pattern.partitions, low, high


def _undisturbed(loads: list[Instruction], streams: dict[Engine, list[Item]]) -> list[Instruction]:
    """Return the loads to bytes that no other instruction writes."""
    owners: list[int] = []
    boxes: list[Box] = []
    for instruction in _instructions(streams):
        for pattern in instruction.dst:
            if pattern is None or pattern.space is not Space.SBUF:
                continue
            if pattern.address.terms:  # anywhere
                return []
            owners.append(id(instruction))
            boxes.append(_box(pattern))
    owner, written = np.array(owners), np.array(boxes, dtype=np.int64).reshape(-1, 4)
    return [load for load in loads if not _meets(load, owner, written)]


def _meets(load: Instruction, owner: NDArray[np.int64], written: NDArray[np.int64]) -> bool:
    dst = load.dst[0]
    assert dst is not None
    first, end, low, high = _box(dst)
    over = (written[:, 0] < end) & (written[:, 1] > first)
    over &= (written[:, 2] < high) & (written[:, 3] > low)
    return bool((over & (owner != id(load))).any())


def _removable(loads: list[Instruction], streams: dict[Engine, list[Item]]) -> list[Instruction]:
    """Return the loads whose semaphores count only transfers of one queue, so that each wait for
    them is known.
    """
    counted: dict[int, set[tuple[Engine, Engine]]] = {}
    for instruction in _instructions(streams):
        for update in instruction.updates:
            by = instruction.engine, instruction.stream
            counted.setdefault(update.semaphore, set()).add(by)
    for instruction in _instructions(streams):
        for wait in instruction.waits:
            if wait.value.terms:
                counted.setdefault(wait.semaphore, set()).add((Engine.PE, Engine.SP))
    return [
        load
        for load in loads
        if all(len(counted[update.semaphore]) == 1 for update in load.updates)
    ]


def _without(gone: set[int], streams: dict[Engine, list[Item]]) -> dict[Engine, list[Item]]:
    """Return the streams without some loads, with the waits adapted to the remaining transfers."""
    steps: dict[int, list[tuple[int, int]]] = {}  # semaphore: (count before, count of what is left)
    for instruction in _instructions(streams):
        for update in instruction.updates:
            known = steps.setdefault(update.semaphore, [(0, 0)])
            before, left = known[-1]
            amount = 0 if id(instruction) in gone else update.amount
            known.append((before + update.amount, left + amount))
    lost = {u.semaphore for i in _instructions(streams) if id(i) in gone for u in i.updates}

    def waits(instruction: Instruction) -> tuple[Wait, ...]:
        out = []
        for wait in instruction.waits:
            if wait.semaphore not in lost:
                out.append(wait)
                continue
            value = next(k for b, k in steps[wait.semaphore] if b >= wait.value.const)
            if value:
                out.append(Wait(wait.semaphore, Affine(value)))
        return tuple(out)

    made: dict[Engine, list[Item]] = {}
    for engine, items in streams.items():
        made[engine] = [
            replace(item, waits=waits(item))
            for item in items
            if isinstance(item, Instruction) and id(item) not in gone
        ]
    return made

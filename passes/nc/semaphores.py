"""Which semaphore each completed instruction adds to, and the values that others wait for."""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.clocks import ENGINES, Waits

TRANSFER = 16
"""A completed transfer adds this much: one for each DMA engine (contract of the nc dialect)."""


@dataclass(slots=True)
class Signals:
    """`update[i]` is (semaphore, amount), `value[i]` what the semaphore shows once i is done."""

    update: dict[int, tuple[int, int]]
    value: dict[int, int]
    count: int


def allot_semaphores(engines: Sequence[int], found: Waits, machine: Machine) -> Signals:
    """Semaphores for all instructions that somebody waits for.

    An engine counts those of its instructions in one semaphore. Transfers share a semaphore only
    where each is known to be complete when the next one starts; where the semaphores run out, a
    transfer is made to wait for the one that has had its semaphore longest (added to the waits).
    """
    awaited = {p for waits in found.waits for p in waits}
    signals = Signals({}, {}, 0)
    counters: dict[int, int] = {}
    for engine in sorted({engines[p] for p in awaited if engines[p] < ENGINES}):
        counters[engine] = signals.count
        signals.count += 1
    if signals.count + 1 > machine.semaphores:
        raise NeuronError("NIR_NC008", f"{machine.name} has only {machine.semaphores} semaphores")
    shown: dict[int, int] = {}
    chains: list[int] = []  # last transfer of each transfer semaphore
    first_chain = signals.count
    for j, engine in enumerate(engines):
        if j not in awaited:
            continue
        if engine < ENGINES:
            semaphore, amount = counters[engine], 1
        else:
            chain = _chain(j, chains, found, machine.semaphores - first_chain)
            semaphore, amount = first_chain + chain, TRANSFER
        shown[semaphore] = shown.get(semaphore, 0) + amount
        signals.update[j] = (semaphore, amount)
        signals.value[j] = shown[semaphore]
    signals.count = first_chain + len(chains)
    return signals


def _chain(j: int, chains: list[int], found: Waits, limit: int) -> int:
    known = found.start[j].transfers
    for number, last in enumerate(chains):
        if known >> found.bit[last] & 1:
            chains[number] = j
            return number
    if len(chains) < limit:
        chains.append(j)
        return len(chains) - 1
    number = min(range(len(chains)), key=lambda c: chains[c])
    found.waits[j].append(chains[number])
    chains[number] = j
    return number

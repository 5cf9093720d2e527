"""Assign a semaphore to each instruction that others wait for."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from neuronir.dialects.nc.instruction import TRANSFER_PARTS
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.clocks import ENGINES, Waits, follows_itself
from neuronir.passes.nc.fences import scope_of
from neuronir.passes.nc.listing import Node


@dataclass(slots=True)
class Signals:
    """By position: (semaphore, amount) that an instruction adds.

    `alone` are the transfers that must wait until all earlier ones on their semaphore are complete,
    because nothing else guarantees it.
    """

    update: dict[int, tuple[int, int]] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    count: int = 0


def allot_semaphores(
    nodes: Sequence[Node], found: Waits, machine: Machine, loops: Sequence[Node]
) -> Signals:
    """Assign semaphores to all instructions (by position) that others wait for.

    An engine counts its instructions in one semaphore. Two transfers never share a semaphore while
    both are in flight: they share it only if each is known to be complete when the next one starts.
    If the semaphores run out, a transfer joins the one that was least recently used and waits. The
    instructions of a loop with a runtime count (of `loops`) share none with those outside it.
    Raises NIR_NC008 if the semaphores do not suffice for that.
    """
    awaited = {d.before for waits in found.waits for d in waits}
    engines = [int(n.record.engine) if n.record is not None else 0 for n in nodes]
    signals = Signals()
    scopes = [scope_of(n, loops) for n in nodes]
    counters: dict[tuple[int, int], int] = {}
    for key in sorted({(scopes[p], engines[p]) for p in awaited if engines[p] < ENGINES}):
        counters[key] = signals.count
        signals.count += 1
    chains = _Chains(nodes, found, signals.alone, machine.semaphores - signals.count, scopes)
    if chains.limit < len({scopes[p] for p in awaited if engines[p] >= ENGINES} or {-1}):
        raise NeuronError("NIR_NC008", f"{machine.name} has only {machine.semaphores} semaphores")
    first = signals.count
    for j, engine in enumerate(engines):
        if j in awaited:
            if engine < ENGINES:
                signals.update[j] = (counters[scopes[j], engine], 1)
            else:
                signals.update[j] = (first + chains.join(j), TRANSFER_PARTS)
    signals.count = first + len(chains.users)
    return signals


class _Chains:
    def __init__(
        self,
        nodes: Sequence[Node],
        found: Waits,
        alone: set[int],
        limit: int,
        scopes: Sequence[int],
    ) -> None:
        self.nodes = nodes
        self.scopes = scopes
        self.found = found
        self.alone = alone
        self.limit = limit
        self.users: list[list[int]] = []  # of each semaphore, in order

    def join(self, j: int) -> int:
        """Return the chain for transfer `j`, which becomes its last element."""
        if not self.nodes[j].inside:
            known = self.found.start[j].transfers
            for number, users in enumerate(self.users):
                same = self.scopes[users[-1]] == self.scopes[j]
                if same and known >> self.found.bit[users[-1]] & 1:
                    users.append(j)
                    return number
        if len(self.users) < self.limit:
            self.users.append([j])
            if self.nodes[j].inside and not follows_itself(self.nodes, self.found, j):
                self.alone.add(j)
            return len(self.users) - 1
        mine = [c for c, users in enumerate(self.users) if self.scopes[users[-1]] == self.scopes[j]]
        if not mine:
            raise NeuronError(
                "NIR_NC008",
                "too few semaphores are left for a loop with a runtime count",
            )
        number = min(mine, key=lambda c: self.users[c][-1])
        around = set(self.nodes[j].inside)
        # Transfers of the same loop run again after this one.
        self.alone.update(u for u in self.users[number] if around & set(self.nodes[u].inside))
        self.alone.add(j)
        self.users[number].append(j)
        return number

"""Find data races: two accesses to a byte, at least one a write, that no semaphore orders.

The program is walked in one order that its semaphores allow. Each access is compared with the
earlier accesses of overlapping footprints (dialects/nc/footprint.py): it must certainly come after
them (clocks.py) in every order that the hardware may take. Footprints are interned, and their
overlaps are computed once, so that loop iterations cost only a few look-ups.

The writes of an instruction must not overlap its own reads either (self_overlap.py). Programs for
which the walk would prove nothing are rejected: those with invalid instructions
(dialects/nc/instruction_rules.py), with registers that move the accesses of a call, or with writes
to constants.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.footprint import (
    Shape,
    affine_range,
    reads,
    shape_of,
    shapes_overlap,
    writes,
)
from neuronir.dialects.nc.instruction import (
    REGISTER,
    AccessPattern,
    Affine,
    Call,
    Item,
    Loop,
    Program,
)
from neuronir.dialects.nc.instruction_rules import faults
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.clocks import Clocks
from neuronir.targets.simulator.memory import READY_KINDS, ready_kind
from neuronir.targets.simulator.messages import describe, origin, simulation_error
from neuronir.targets.simulator.self_overlap import SelfOverlaps
from neuronir.targets.simulator.walker import Env, Node, Walker

_REACH = {Space.SBUF: 24, Space.PSUM: 24, Space.HBM: 36}  # log2 of bytes: no memory is larger
_LEAST_CELL = 6  # log2 of bytes: smaller footprints share cells, so that there are few levels


@dataclass(slots=True, eq=False)
class _Record:
    """The last access of a footprint by one component."""

    component: int
    number: int
    node: Node


@dataclass(slots=True, eq=False)
class _Footprint:
    """A set of bytes, with the overlapping footprints.

    `sources` are the written footprints that overlap reads of this one. `writers` and `readers` are
    the written and read footprints that overlap writes of this one (including itself).
    """

    space: Space
    start: int
    end: int
    shape: Shape
    address: int
    is_read: bool = False
    is_written: bool = False
    sources: list["_Footprint"] = field(default_factory=list)
    writers: list["_Footprint"] = field(default_factory=list)
    readers: list["_Footprint"] = field(default_factory=list)
    write: _Record | None = None
    reads: dict[int, _Record] = field(default_factory=dict)

    first: int = field(init=False)
    """The address of its first byte."""
    last: int = field(init=False)
    """The address of its last byte."""

    def __post_init__(self) -> None:
        self.first = self.address + self.shape.low
        self.last = self.address + self.shape.high - 1

    def covers(self, other: "_Footprint") -> bool:
        """Return whether it is one run of bytes that contains all of `other`."""
        return (
            not self.shape.dims
            and self.start <= other.start
            and other.end <= self.end
            and self.first <= other.first
            and other.last <= self.last
        )


class _Places:
    """Footprints of one memory by address, in cells of the size of each footprint or larger, so
    that one overlaps at most two cells and small ones do not meet in a large cell.
    """

    def __init__(self) -> None:
        self._levels: dict[int, dict[int, list[_Footprint]]] = {}

    def add(self, footprint: _Footprint) -> None:
        """Add a footprint."""
        first, last = footprint.first, footprint.last
        shift = max((last - first).bit_length(), _LEAST_CELL)
        cells = self._levels.setdefault(shift, {})
        for number in range(first >> shift, (last >> shift) + 1):
            cells.setdefault(number, []).append(footprint)

    def near(self, footprint: _Footprint) -> list[_Footprint]:
        """Return the footprints that overlap one, itself included if it was added."""
        first, last = footprint.first, footprint.last
        found: dict[int, _Footprint] = {}
        seen: set[int] = set()
        start, end = footprint.start, footprint.end
        for shift, cells in self._levels.items():
            numbers: Iterable[int] = range(first >> shift, (last >> shift) + 1)
            if len(cells) < (last >> shift) - (first >> shift):
                numbers = [n for n in cells if first >> shift <= n <= last >> shift]
            for number in numbers:
                for other in cells.get(number, ()):
                    if other.first > last or first > other.last:
                        continue  # most of a cell, so no call is made for them
                    if other.start >= end or start >= other.end or id(other) in seen:
                        continue
                    seen.add(id(other))
                    if shapes_overlap(
                        footprint.shape, other.shape, other.address - footprint.address
                    ):
                        found[id(other)] = other
        return list(found.values())


@dataclass(slots=True, eq=False)
class _Access:
    """An access of a static instruction; its footprints by address."""

    space: Space
    start: int
    end: int
    shape: Shape
    address: Affine
    size: int  # of an element, bytes
    writes: bool
    seen: dict[int, _Footprint] = field(default_factory=dict)


class RaceChecker:
    """Watches a walk; `observe` must be called for each instruction in an eager order."""

    def __init__(self, program: Program) -> None:
        self._program = program
        for streams in program.streams.values():
            for items in streams.values():
                _check_calls(items)
        self._clocks = Clocks(program.semaphores)
        self._updaters: dict[int, Node] = {}  # the last update of each semaphore
        self._accesses: dict[Node, list[_Access]] = {}
        self._interned: dict[tuple[Space, int, int, Shape, int], _Footprint] = {}
        self._read = {space: _Places() for space in Space}
        self._written = {space: _Places() for space in Space}
        self._overlaps: dict[Node, SelfOverlaps] = {}
        self._ready = [v for v in program.variables if v.kind in READY_KINDS and v.size]
        # Bounds of each engine's registers at this point of the walk.
        self._registers: dict[Engine, dict[int, tuple[int, int]]] = {e: {} for e in Engine}
        self._moving: set[Node] = set()  # instructions with registers in their addresses

    def observe(self, node: Node, env: Env) -> None:
        """Check one instruction, in a walk that executes each instruction as soon as it may start.

        Raises NIR_SIM020 if it races with an earlier one (for bytes, or for a semaphore that both
        update) or with itself, NIR_SIM006 if it is invalid, NIR_SIM009 if it writes an input or a
        constant.
        """
        instruction = node.instruction
        if node not in self._accesses:
            problem = next(faults(instruction), None)
            if problem is not None:
                raise self._wrong("NIR_SIM006", problem, node, env)
        start = self._clocks.issue(instruction, env)
        clock, component, number = start.clock, start.component, start.number
        if instruction.opcode == "register_load":
            params = instruction.params
            bounds = (int(params["low"]), int(params["high"]))
            self._registers[instruction.stream][REGISTER + int(params["register"])] = bounds
        accesses = self._accesses.get(node)
        if accesses is None or node in self._moving:
            accesses = self._accesses[node] = self._prepare(node, env)
            if any(
                symbol >= REGISTER
                for ap in (*instruction.dst, *instruction.src)
                if ap is not None
                for symbol, _ in ap.address.terms
            ):
                self._moving.add(node)
        if self._overlaps[node].meet(env):
            raise self._alone(node, env)
        touched = [(a, self._footprint(node, a, env)) for a in accesses]
        known = clock.tolist()
        for access, footprint in touched:
            for other in footprint.writers if access.writes else footprint.sources:
                record = other.write
                if record is not None and known[record.component] < record.number:
                    raise self._race(record, node, env, other)
            if access.writes:
                for other in footprint.readers:
                    for record in other.reads.values():
                        if known[record.component] < record.number:
                            raise self._race(record, node, env, other)
        if start.unordered is not None:
            raise self._error(
                self._updaters[start.unordered],
                node,
                env,
                f"semaphore {start.unordered}: both may increment it at the same time, so a "
                "wait for it is ambiguous",
            )
        for update in instruction.updates:
            self._updaters[update.semaphore] = node
        self._remember(touched, _Record(component, number, node))

    def meet(self) -> None:
        """Handle a barrier of all engines."""
        self._clocks.meet()

    def _remember(self, touched: list[tuple[_Access, _Footprint]], record: _Record) -> None:
        for access, footprint in touched:
            earlier = footprint.reads.get(record.component)
            # A transfer for which nothing can wait stays: it may end after any later one.
            if not access.writes and (earlier is None or earlier.number < record.number):
                footprint.reads[record.component] = record
        for access, footprint in touched:
            if not access.writes:
                continue
            # An access that overlaps this write must follow it, hence follow everything before it:
            # the earlier records are no longer needed.
            for other in footprint.readers:
                if other.reads and (other is footprint or footprint.covers(other)):
                    other.reads.clear()
            for other in footprint.writers:
                if other.write is not None and footprint.covers(other):
                    other.write = None
        for access, footprint in touched:
            if access.writes:
                footprint.write = record

    def _prepare(self, node: Node, env: Env) -> list[_Access]:
        out = []
        instruction = node.instruction
        registers = self._registers[instruction.stream]
        for aps, is_write in ((reads(instruction), False), (writes(instruction), True)):
            for ap in aps:
                for symbol, _ in ap.address.terms:
                    if symbol >= REGISTER and symbol not in registers:
                        text = f"takes an address from r{symbol - REGISTER}, which was never loaded"
                        raise self._wrong("NIR_SIM006", text, node, env)
                wide = self._widened(ap, registers)
                hbm = ap.space == Space.HBM
                start, end = (0, 1) if hbm else (ap.start, ap.start + ap.partitions)
                shape = shape_of(wide)
                out.append(
                    _Access(ap.space, start, end, shape, wide.address, ap.dtype.size, is_write)
                )
        self._overlaps[node] = SelfOverlaps(instruction, lambda ap: self._widened(ap, registers))
        return out

    def _widened(self, ap: AccessPattern, bounds: Mapping[int, tuple[int, int]]) -> AccessPattern:
        """Extend `ap` over all values of registers in its address, so that the verdict does not
        depend on data.
        """
        free = ap.free
        terms = []
        const = ap.address.const
        for symbol, coefficient in ap.address.terms:
            if symbol < REGISTER:
                terms.append((symbol, coefficient))
                continue
            low, high = affine_range(Affine(0, ((symbol, coefficient),)), bounds)
            const += low
            size = ap.dtype.size
            step = abs(coefficient)
            if step % size == 0:
                free = ((step // size, (high - low) // max(step, 1) + 1), *free)
            else:  # an odd byte step: every element in between
                free = ((1, (high - low) // size + 1), *free)
        return replace(ap, free=free, address=Affine(const, tuple(terms)))

    def _footprint(self, node: Node, access: _Access, env: Env) -> _Footprint:
        address = access.address.at(env)
        found = access.seen.get(address)
        if found is None:
            low, high = address + access.shape.low, address + access.shape.high
            if low < 0 or high >> _REACH[access.space]:
                text = f"touches bytes {low} to {high - 1} of {access.space.name}"
                raise self._wrong("NIR_SIM002", text, node, env)
            if address % access.size:
                text = f"an operand is not aligned to the {access.size} bytes of its elements"
                raise self._wrong("NIR_SIM006", text, node, env)
            found = access.seen[address] = self._intern(access, address)
            hbm = access.writes and access.space == Space.HBM
            kind = ready_kind(self._ready, access.shape, address) if hbm else ""
            if kind:
                raise self._wrong("NIR_SIM009", f"writes a variable of kind {kind}", node, env)
        return found

    def _intern(self, access: _Access, address: int) -> _Footprint:
        key = (access.space, access.start, access.end, access.shape, address)
        footprint, space = self._interned.get(key), access.space
        if footprint is None:
            footprint = self._interned[key] = _Footprint(*key)
        if access.writes and not footprint.is_written:
            footprint.is_written = True
            self._written[space].add(footprint)
            for other in self._written[space].near(footprint):
                footprint.writers.append(other)
                if other is not footprint:
                    other.writers.append(footprint)
            for other in self._read[space].near(footprint):
                footprint.readers.append(other)
                other.sources.append(footprint)
        elif not access.writes and not footprint.is_read and not self._constant(footprint):
            footprint.is_read = True
            self._read[space].add(footprint)
            for other in self._written[space].near(footprint):
                footprint.sources.append(other)
                other.readers.append(footprint)
        return footprint

    def _constant(self, footprint: _Footprint) -> bool:
        """Return whether it is in an input or constant, which is never written, so nothing can
        conflict.
        """
        return footprint.space == Space.HBM and any(
            v.address <= footprint.first and footprint.last < v.address + v.size
            for v in self._ready
        )

    def _race(self, record: _Record, node: Node, env: Env, where: _Footprint) -> NeuronError:
        place = f"{where.space.name} bytes from {where.first:#x}"
        if where.space != Space.HBM:
            place += f", partitions {where.start} to {where.end - 1}"
        return self._error(record.node, node, env, place)

    def _wrong(self, code: str, text: str, node: Node, env: Env) -> NeuronError:
        return simulation_error(code, text, node.instruction, self._program.sources, env)

    def _alone(self, node: Node, env: Env) -> NeuronError:
        text = "Data race of the instruction with itself: it writes what it reads elsewhere"
        help = "the order of its reads and writes is not defined; write the result elsewhere"
        instruction = node.instruction
        return simulation_error("NIR_SIM020", text, instruction, self._program.sources, env, help)

    def _error(self, earlier: Node, node: Node, env: Env, place: str) -> NeuronError:
        sources = self._program.sources
        first, second = earlier.instruction, node.instruction
        return NeuronError(
            "NIR_SIM020",
            f"Data race between Op1 '{describe(first)}' from {origin(sources, first)} and "
            f"Op2 '{describe(second, env)}' from {origin(sources, second)} on {place}",
            help="no semaphore orders them: Op2 must wait for an update that follows Op1",
        )


def _check_calls(items: list[Item]) -> None:
    """Raise NIR_SIM006 if a register determines the accesses of a call.

    The walk would have to be repeated for all of its values.
    """
    for item in items:
        if isinstance(item, Loop):
            _check_calls(item.body)
        elif isinstance(item, Call):
            if any(symbol >= REGISTER for a in item.arguments for symbol, _ in a.terms):
                raise NeuronError(
                    "NIR_SIM006",
                    f"an argument of a call of '{item.function}' depends on a register",
                    help="races are checked where the instruction itself takes the register",
                )


def check_races(program: Program) -> None:
    """Walk the program without data and raise NIR_SIM020 at the first race (RaceChecker.observe).

    In addresses, registers take all values within their bounds; waits do not depend on them. Loops
    with a runtime count are walked with 0, 1 and 3 iterations, as far as their bounds allow that,
    and so are loops with a condition.
    """
    for trips in (0, 1, 3) if has_runtime_count(program) else (0,):
        _walk_for_races(program, trips)


def has_runtime_count(program: Program) -> bool:
    """Return whether the trip count of a loop of the program is in a register."""

    def counted(items: list[Item]) -> bool:
        loops = [item for item in items if isinstance(item, Loop)]
        return any(loop.count >= 0 or counted(loop.body) for loop in loops)

    return any(counted(items) for streams in program.streams.values() for items in streams.values())


def _walk_for_races(program: Program, trips: int) -> None:
    walker = Walker(program, trips)
    checker = RaceChecker(program)

    def step(node: Node, env: Env) -> None:
        if node.instruction.opcode == "register_load":
            params = node.instruction.params
            low, high = int(params["low"]), int(params["high"])
            env[REGISTER + int(params["register"])] = min(max(trips, low), high)
        checker.observe(node, env)

    walker.run(step, meet=checker.meet)

"""Attribute executions, traffic and costs of instructions to HLO ops.

Trip counts and call arguments are static, so this needs no timing run. The program text is walked
once, and loops multiply the counts. A loop is walked iteration by iteration only if the HBM
addresses of a call depend on the iteration.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.instruction import ARGUMENT, AccessPattern, Source
from neuronir.targets.simulator.by_address import ByAddress
from neuronir.targets.simulator.timing_code import (
    TRANSFER,
    CallTo,
    Code,
    LoopBegin,
    Op,
    ProgramCode,
)
from neuronir.targets.simulator.timing_state import ENV, environment, value_of

ENGINES: dict[Engine, str] = {
    Engine.PE: "tensor",
    Engine.DVE: "vector",
    Engine.ACT: "scalar",
    Engine.POOL: "gpsimd",
    Engine.SP: "sync",
}
"""The profiler's names of the engines."""

OTHER = "other"
"""The kind of HBM bytes outside of all variables."""


@dataclass(slots=True)
class Traffic:
    """HBM bytes read and written, and the descriptors that read them."""

    read: int = 0
    written: int = 0
    read_descriptors: int = 0


@dataclass(slots=True)
class Usage:
    """The executions of each op (by its number), HBM traffic by variable index, and bytes of
    transfers by op and variable: `reads` of HBM, and `writes` of transfers that read none. `unread`
    is the fraction of a load that nothing reads, once it is known.

    Variable index -1 means none.
    """

    counts: list[int]
    variables: dict[int, Traffic] = field(default_factory=dict)
    reads: dict[tuple[int, int], int] = field(default_factory=dict)
    writes: dict[tuple[int, int], int] = field(default_factory=dict)
    unread: dict[int, float] | None = None


@dataclass(slots=True)
class OpShare:
    """The cost of one HLO op over the whole run; times in ns by resource name."""

    source: int
    time_ns: dict[str, float] = field(default_factory=dict)
    instructions: int = 0
    flops: int = 0
    transpose_flops: int = 0
    read: int = 0
    written: int = 0
    transfers: int = 0
    descriptors: int = 0
    moved: int = 0  # bytes of the descriptors


class _Walk:
    def __init__(self, code: ProgramCode) -> None:
        self.usage = Usage([0] * len(code.ops))
        self.iterations = code.iterations
        self.placed = ByAddress(code.program.variables)
        self._depends: dict[int, bool] = {}

    def variable_at(self, address: int) -> int:
        """Return the variable that holds a byte of HBM, -1 if there is none."""
        return self.placed.holding(address, address + 1)

    def depends(self, code: Code) -> bool:
        """Return whether the HBM addresses of `code` depend on its arguments."""
        known = self._depends.get(code.number)
        if known is None:
            known = self._depends[code.number] = any(map(self._step_depends, code.steps))
        return known

    def _step_depends(self, step: object) -> bool:
        if isinstance(step, CallTo):
            return self.depends(step.code)
        if isinstance(step, Op) and step.kind == TRANSFER:
            return any(
                ap is not None
                and ap.space == Space.HBM
                and any(symbol >= ARGUMENT for symbol, _ in ap.address.terms)
                for ap in (step.instruction.dst[0], step.instruction.src[0])
            )
        return False

    def walk(self, code: Code, begin: int, end: int, times: int, env: list[int]) -> None:
        """Count `times` executions of steps `begin` to `end`."""
        calls: dict[tuple[int, ...], tuple[CallTo, int, list[int]]] = {}
        pc = begin
        while pc < end:
            step = code.steps[pc]
            pc += 1
            if isinstance(step, Op):
                self.usage.counts[step.number] += times
                if step.kind == TRANSFER:
                    self._transfer(step, times, env)
            elif isinstance(step, LoopBegin):
                body = code.steps[pc : step.end]
                if any(isinstance(s, CallTo) and self.depends(s.code) for s in body):
                    for i in range(step.trip_count):
                        env[step.level] = i
                        self.walk(code, pc, step.end, times, env)
                elif step.trip_count > 0:
                    env[step.level] = 0
                    self.walk(code, pc, step.end, self.iterations(step, times), env)
                pc = step.end + 1
            elif isinstance(step, CallTo):
                inner = environment(step.arguments, env)
                key = (step.code.number, *(inner[ARGUMENT:] if self.depends(step.code) else ()))
                _, before, _ = calls.get(key, (step, 0, inner))
                calls[key] = (step, before + times, inner)
        for call, total, inner in calls.values():
            self.walk(call.code, 0, len(call.code.steps), total, inner)

    def _transfer(self, op: Op, times: int, env: list[int]) -> None:
        i, c = op.instruction, op.cost
        dst, src = i.dst[0], i.src[0]
        assert dst is not None and src is not None  # guaranteed by the opcode table
        accumulated = 0
        if dst.space == Space.HBM:
            entry = self._entry(dst, env)
            entry.written += times * c.hbm_write_bytes
            if src.space != Space.HBM:
                accumulated = c.hbm_read_bytes
                at = (op.number, self._variable(dst, env))
                self.usage.writes[at] = self.usage.writes.get(at, 0) + times * c.hbm_write_bytes
            elif c.hbm_read_bytes > src.bytes and i.opcode == "dma":
                accumulated = c.hbm_read_bytes - src.bytes
            entry.read += times * accumulated
        if src.space == Space.HBM:
            entry = self._entry(src, env)
            moved = times * (c.hbm_read_bytes - accumulated)
            entry.read += moved
            at = (op.number, self._variable(src, env))
            self.usage.reads[at] = self.usage.reads.get(at, 0) + moved
            entry.read_descriptors += times * c.descriptors

    def _entry(self, ap: AccessPattern, env: list[int]) -> Traffic:
        return self.usage.variables.setdefault(self._variable(ap, env), Traffic())

    def _variable(self, ap: AccessPattern, env: list[int]) -> int:
        return self.variable_at(value_of(ap.address.const, ap.address.terms, env))


def usage_of(code: ProgramCode) -> Usage:
    """Return executions and HBM traffic of one run."""
    walk = _Walk(code)
    for entry in code.entries:
        walk.walk(entry, 0, len(entry.steps), 1, [0] * ENV)
    return walk.usage


def bytes_by_kind(code: ProgramCode, usage: Usage) -> dict[str, Traffic]:
    """Return HBM traffic by kind of variable (input, output, constant, scratch, spill, other)."""
    kinds: dict[str, Traffic] = {}
    for index, traffic in usage.variables.items():
        kind = code.program.variables[index].kind if index >= 0 else OTHER
        total = kinds.setdefault(kind, Traffic())
        total.read += traffic.read
        total.written += traffic.written
        total.read_descriptors += traffic.read_descriptors
    return kinds


def read_times(code: ProgramCode, usage: Usage) -> dict[str, float]:
    """Return how many times variables of a kind are read: bytes read over their size, if read at
    all.
    """
    sizes: dict[str, int] = {}
    reads: dict[str, int] = {}
    for index, traffic in usage.variables.items():
        if index >= 0 and traffic.read:
            variable = code.program.variables[index]
            sizes[variable.kind] = sizes.get(variable.kind, 0) + variable.size
            reads[variable.kind] = reads.get(variable.kind, 0) + traffic.read
    return {kind: reads[kind] / size for kind, size in sizes.items() if size}


def resource_times(op: Op, dma_engines: int) -> dict[str, float]:
    """Return the time in ns that one execution of `op` occupies each resource."""
    c = op.cost
    if op.kind == TRANSFER:
        return {"dma": c.dma_load_ns / dma_engines, ENGINES[op.instruction.trigger]: c.issue_ns}
    times = {ENGINES[op.instruction.engine]: c.issue_ns}
    for port in c.ports:
        times[f"{port.value}_port"] = c.port_ns
    return times


def shares(code: ProgramCode, usage: Usage) -> list[OpShare]:
    """Return the cost of each source (HLO op) that has instructions, by source number."""
    table: dict[int, OpShare] = {}
    for op, count in zip(code.ops, usage.counts, strict=True):
        if not count:
            continue
        row = table.setdefault(op.instruction.source, OpShare(op.instruction.source))
        row.instructions += count
        row.flops += count * op.cost.flops
        row.transpose_flops += count * op.cost.transpose_flops
        row.read += count * op.cost.hbm_read_bytes
        row.written += count * op.cost.hbm_write_bytes
        if op.kind == TRANSFER:
            row.transfers += count
            row.descriptors += count * op.cost.descriptors
            row.moved += count * op.cost.bytes
        for name, time in resource_times(op, code.machine.dma_engines).items():
            row.time_ns[name] = row.time_ns.get(name, 0.0) + count * time
    return [table[source] for source in sorted(table)]


def members_of(group: str) -> list[str]:
    """Return the HLO ops of a group, the main one first."""
    return group.split(" + ")


def group_names(sources: Sequence[Source]) -> dict[str, str]:
    """Return the group of each HLO op by its name: the ops lowered with it, else itself."""
    names: dict[str, str] = {}
    for source in sources:
        if source.group or source.name not in names:
            names[source.name] = source.group or source.name
    return names


def merged(
    table: Sequence[OpShare], name_of: Callable[[int], str]
) -> list[tuple[list[int], OpShare]]:
    """Return the summed shares of all sources with one name, with the source numbers."""
    found: dict[str, tuple[list[int], OpShare]] = {}
    for row in table:
        numbers, total = found.setdefault(name_of(row.source), ([], OpShare(row.source)))
        numbers.append(row.source)
        total.instructions += row.instructions
        total.flops += row.flops
        total.transpose_flops += row.transpose_flops
        total.read += row.read
        total.written += row.written
        total.transfers += row.transfers
        total.descriptors += row.descriptors
        total.moved += row.moved
        for name, time in row.time_ns.items():
            total.time_ns[name] = total.time_ns.get(name, 0.0) + time
    return list(found.values())

"""Prepare instructions for execution: operands bound to memory, kernels, checks, counters."""

from collections.abc import Callable

import numpy as np

from neuronir.dialects.nc.enums import AluOp, Space
from neuronir.dialects.nc.footprint import reads, writes
from neuronir.dialects.nc.instruction import REGISTER, AccessPattern, Program
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.machine_rules import crosses_bank, violations
from neuronir.dialects.nc.semantics import Kernel, SemanticError, Tiles, kernel_of
from neuronir.dialects.nc.semantics.transfer import row_numbers
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.memory import READY_KINDS, Memory, OutOfRange
from neuronir.targets.simulator.messages import describe, origin, simulation_error
from neuronir.targets.simulator.operand import Entry, Operand
from neuronir.targets.simulator.walker import Env, Node

Run = Callable[[Env], None]


class Warnings:
    """Warnings of a run, counted by instruction and text."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, str], int] = {}
        self._nodes: dict[int, Node] = {}

    def sink(self, node: Node) -> Callable[[str, int], None]:
        """Return the warning callback for the kernel of `node`."""

        def warn(text: str, count: int) -> None:
            key = (node.number, text)
            self._nodes[node.number] = node
            self._counts[key] = self._counts.get(key, 0) + count

        return warn

    def texts(self, program: Program) -> list[str]:
        """Return one line for each instruction and text, in program order."""
        lines = []
        for (number, text), count in sorted(self._counts.items()):
            instruction = self._nodes[number].instruction
            lines.append(
                f"{count} {text}: {describe(instruction)} from "
                f"{origin(program.sources, instruction)}"
            )
        return lines


class Prepared:
    """A callable instruction. `read_bytes` and `written_bytes` count HBM by kind of variable."""

    def __init__(
        self, node: Node, program: Program, memory: Memory, machine: Machine, kernel: Kernel
    ) -> None:
        instruction = node.instruction
        self.node, self.program, self.memory, self.machine = node, program, memory, machine
        self.kernel = kernel
        opcode = instruction.opcode
        self.gathers, self.scatters = opcode == "dma_gather", opcode == "dma_scatter"
        self.accumulates = opcode == "matmul" and bool(instruction.params.get("accumulate", 0))
        self.on_pe = opcode in ("matmul", "transpose")
        self.loads = opcode == "matmul"
        self.reuses = self.loads and bool(instruction.params.get("reuse", 0))
        self.keeps = (
            self.accumulates
            or opcode == "copy_predicated"
            or (
                opcode in ("dma", "dma_scatter")
                and instruction.params.get("accumulate", 0) != AluOp.BYPASS
            )
        )
        source_aps, target_aps = list(instruction.src), list(instruction.dst)
        if self.gathers:
            source_aps[0] = reads(instruction)[0]
        if self.scatters:
            target_aps[0] = writes(instruction)[0]
        self.sources = tuple(self._bind(ap) for ap in source_aps)
        self.targets = tuple(self._bind(ap) for ap in target_aps)
        self.read_bytes: dict[str, int] = {}
        self.written_bytes: dict[str, int] = {}

    def _bind(self, ap: AccessPattern | None) -> Operand | None:
        return None if ap is None else Operand(self.memory, ap)

    def __call__(self, env: Env) -> None:
        try:
            self._run(env)
        except (OutOfRange, SemanticError) as error:
            code = "NIR_SIM002" if isinstance(error, OutOfRange) else "NIR_SIM003"
            raise self._error(code, str(error), env) from None

    def _run(self, env: Env) -> None:
        src: list[np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None] = []
        for operand in self.sources:
            if operand is None:
                src.append(None)
                continue
            entry = operand.at(env)
            if not entry.checked and not (self.gathers and operand is self.sources[0]):
                self._check(operand, entry, env)
            if entry.kind:
                size = self._moved(operand, self.gathers)
                self.read_bytes[entry.kind] = self.read_bytes.get(entry.kind, 0) + size
            src.append(entry.array)
        if self.gathers:
            self._check_rows(self.sources[0], tuple(src), env)
        if self.on_pe:
            self._load_stationary(src[0], env)
        dst: list[np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None] = []
        entries: list[tuple[Operand, Entry]] = []
        for operand in self.targets:
            if operand is None:
                dst.append(None)
                continue
            entry = operand.at(env)
            entries.append((operand, entry))
            if self.keeps and not entry.checked and not self.scatters:
                self._check(operand, entry, env)
            if entry.started is not None:
                self._psum(operand, entry, env)
            if entry.kind:
                self._count_write(operand, entry, env)
            dst.append(entry.array)
        if self.scatters and self.keeps:
            self._check_rows(self.targets[0], tuple(src), env)
        self.kernel(tuple(dst), tuple(src))
        for operand, entry in entries:
            if not entry.marked:
                if self.scatters:
                    self._mark_rows(entry, tuple(src), operand)
                else:
                    operand.mark(entry)

    def _load_stationary(
        self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None, env: Env
    ) -> None:
        loaded = array.tobytes() if self.loads and array is not None else None
        if self.reuses and loaded != self.memory.stationary:
            raise self._error(
                "NIR_SIM011", "reuses a stationary that the matmul before it did not load", env
            )
        self.memory.stationary = loaded

    def _moved(self, operand: Operand, table: bool) -> int:
        if not table or operand is not (self.sources[0] if self.gathers else self.targets[0]):
            return operand.bytes
        rows = int(self.node.instruction.params["rows"])
        index = self.sources[1]
        return operand.bytes // max(rows, 1) * (index.ap.partitions if index else 0)

    def _count_write(self, operand: Operand, entry: Entry, env: Env) -> None:
        kind = entry.kind
        if kind == "none":  # it may extend into several variables
            kind = self.memory.ready_kind(operand.ap, entry.address)
        if kind in READY_KINDS:
            raise self._error("NIR_SIM009", f"writes a variable of kind {kind}", env)
        size = self._moved(operand, self.scatters)
        self.written_bytes[entry.kind] = self.written_bytes.get(entry.kind, 0) + size

    def _psum(self, operand: Operand, entry: Entry, env: Env) -> None:
        started = entry.started
        if started is None:
            return
        if self.on_pe and crosses_bank(operand.ap, entry.address, self.machine):
            raise self._error(
                "NIR_SIM009",
                f"the result crosses a PSUM bank of {self.machine.psum_bank_bytes} bytes",
                env,
            )
        if self.accumulates:
            if started.min() != operand.full:
                raise self._error(
                    "NIR_SIM010",
                    "accumulates into PSUM that no matmul has started (accumulation into data of "
                    "another engine is undefined)",
                    env,
                    "let the first matmul of the group overwrite: accumulate = 0",
                )
        else:
            started[...] = operand.full if self.on_pe else 0

    def _check(self, operand: Operand, entry: Entry, env: Env) -> None:
        if operand.written(entry):
            return
        valid = entry.valid
        if valid is None:
            return
        place = np.argwhere(valid != operand.full)[0].tolist()
        where = (
            f"partition {operand.ap.start + place[0]}"
            if operand.ap.space != Space.HBM
            else (f"row {place[0]}")
        )
        raise self._error(
            "NIR_SIM001",
            f"reads {operand.ap.space.name} bytes that were never written: operand at "
            f"{entry.address:#x}, {where}, element {place[1:]}",
            env,
        )

    def _check_rows(self, operand: Operand | None, src: Tiles, env: Env) -> None:
        """Gathers, and scatters that accumulate, only read the indexed rows."""
        if operand is None or src[1] is None:
            return
        entry = operand.at(env)
        if entry.valid is None:
            return
        numbers = row_numbers(src[1])
        inside = numbers[(numbers >= 0) & (numbers < entry.valid.shape[0])]
        if inside.size and entry.valid[inside].min() != operand.full:
            raise self._error("NIR_SIM001", "reads table rows that were never written", env)

    def _mark_rows(self, entry: Entry, src: Tiles, operand: Operand) -> None:
        if entry.valid is not None and src[1] is not None:
            numbers = row_numbers(src[1])
            inside = numbers[(numbers >= 0) & (numbers < entry.valid.shape[0])]
            entry.valid[inside] = operand.full

    def _error(self, code: str, text: str, env: Env, help: str | None = None) -> NeuronError:
        instruction = self.node.instruction
        return simulation_error(code, text, instruction, self.program.sources, env, help)


class RegisterLoad:
    """The kernel of register = clamp(word, low, high)."""

    def __init__(self, node: Node, program: Program, memory: Memory) -> None:
        source = node.instruction.src[0]
        if source is None or source.dtype.is_float or source.elements * source.partitions != 1:
            raise simulation_error(
                "NIR_SIM006", "takes one integer", node.instruction, program.sources
            )
        self.node, self.program = node, program
        self.operand = Operand(memory, source)
        params = node.instruction.params
        self.register = REGISTER + int(params["register"])
        self.low, self.high = int(params["low"]), int(params["high"])

    def __call__(self, env: Env) -> None:
        try:
            entry = self.operand.at(env)
        except OutOfRange as error:
            raise self._error("NIR_SIM002", str(error), env) from None
        if not self.operand.written(entry):
            raise self._error("NIR_SIM001", "reads a word that was never written", env)
        env[self.register] = min(max(int(entry.array.reshape(-1)[0]), self.low), self.high)

    def _error(self, code: str, text: str, env: Env) -> NeuronError:
        return simulation_error(code, text, self.node.instruction, self.program.sources, env)


def _nothing(env: Env) -> None:
    """Do nothing: the kernel of a barrier."""


def prepare(
    node: Node,
    program: Program,
    memory: Memory,
    machine: Machine,
    rules: bool,
    warnings: Warnings,
) -> Run:
    """Prepare `node`; everything that does not depend on data is checked here."""
    instruction = node.instruction
    if rules:
        problem = next(violations(instruction, machine), None)
        if problem is not None:
            raise simulation_error("NIR_SIM009", problem, instruction, program.sources)
    if instruction.opcode == "register_load":
        return RegisterLoad(node, program, memory)
    if instruction.opcode == "barrier":
        return _nothing  # the walker synchronises the engines
    try:
        kernel = kernel_of(instruction, warnings.sink(node), machine.generation)
    except SemanticError as error:
        raise simulation_error("NIR_SIM006", str(error), instruction, program.sources) from None
    return Prepared(node, program, memory, machine, kernel)

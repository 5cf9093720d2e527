"""Convert an allocated nc module to a Program: streams by engine, variables, sources."""

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.counts import constant_of, count_load, is_normal, next_load, steers
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import (
    COUNTER,
    COUNTERS,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
    Source,
    Wait,
)
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.origin import source_of
from neuronir.dialects.nc.records import instruction_record
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, CallOp, FuncOp, VariableOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import walk
from neuronir.targets.encoding.arguments import bind_arguments
from neuronir.targets.encoding.registers import Registers
from neuronir.targets.encoding.variables import variable_of

Streams = dict[Engine, list[Item]]
ENTRY = "main"


def program_from_module(
    module: ModuleOp, machine: Machine, metadata: Mapping[str, str] | None = None
) -> Program:
    """Return the program of a module whose buffers all have addresses.

    Raises NIR_ENC006 if the module cannot be encoded (no address, a bound that is not constant, a
    register used by another engine than the one that loads it).
    """
    builder = _Builder(module, machine)
    streams = {name: builder.function(name) for name in builder.functions}
    if ENTRY not in streams:
        raise malformed("there is no nc.func @main")
    return Program(
        machine.name,
        ENTRY,
        streams,
        [variable_of(op) for op in builder.variables.values() if op.members is None],
        builder.sources,
        dict(metadata or {}),
        builder.semaphores,
    )


def malformed(text: str, op: Operation | None = None) -> NeuronError:
    """Create the error for a module that is not ready to be encoded."""
    location = None
    if op is not None and not isinstance(op.location, UnknownLoc):
        location = source_of(op).name or None
    return NeuronError(
        "NIR_ENC006",
        f"the nc module cannot be encoded: {text}",
        location=location,
        help="run @nc-order, nc-allocate and nc-synchronise first",
    )


class _Builder:
    """The shared data of functions: variables, sources, and the streams of visited functions."""

    def __init__(self, module: ModuleOp, machine: Machine) -> None:
        self.sequencers = [
            e for e in Engine if not e.is_dma and (e is Engine.SP or e.name in machine.engines)
        ]
        self.counters = 0  # loops whose count is loaded
        self.functions: dict[str, FuncOp] = {}
        self.variables: dict[str, VariableOp] = {}
        for op in module.ops:
            if isinstance(op, FuncOp):
                self.functions[op.sym_name.data] = op
            elif isinstance(op, VariableOp):
                self.variables[op.sym_name.data] = op
        self.addresses = self._addresses()
        self.arguments = bind_arguments(self.functions, self.addresses)
        self.addresses.update(self.arguments.fixed)
        # Source 0 is for instructions without an HLO instruction.
        self.sources: list[Source] = []
        self._source_numbers: dict[tuple[str, str, str, int, str, int, str], int] = {}
        self.source(Source(""))
        self.semaphores = 0
        self._done: dict[str, Streams] = {}
        self._high: dict[str, dict[Engine, int]] = {}
        self._active: set[str] = set()

    def _addresses(self) -> dict[SSAValue, int]:
        """Return the addresses of all buffers that functions allocate or name."""
        addresses: dict[SSAValue, int] = {}
        for func in self.functions.values():
            for op in walk(func):
                if isinstance(op, AllocOp):
                    addresses[op.buffer] = _address(op.address, "nc.alloc", op)
                elif isinstance(op, AddressOfOp):
                    name = op.variable.root_reference.data
                    variable = self.variables.get(name)
                    if variable is None:
                        raise malformed(f"nc.address_of @{name}, which does not exist", op)
                    what = f"variable @{name}"
                    addresses[op.buffer] = _address(variable.address, what, op)
        return addresses

    def source(self, source: Source) -> int:
        """Return the number of a source."""
        s = source
        key = (s.name, s.framework, s.file, s.line, s.opcode, s.flops, s.group)
        number = self._source_numbers.setdefault(key, len(self.sources))
        if number == len(self.sources):
            self.sources.append(source)
        return number

    def function(self, name: str) -> Streams:
        """Return the streams of a function, visiting its callees first."""
        if name in self._done:
            return self._done[name]
        if name not in self.functions:
            raise malformed(f"nc.call of @{name}, which does not exist")
        if name in self._active:
            raise malformed(f"function @{name} calls itself")
        self._active.add(name)
        func = self.functions[name]
        # A function's registers are above those of everything it calls.
        base: dict[Engine, int] = {}
        for op in walk(func):
            if isinstance(op, CallOp):
                callee = op.callee.root_reference.data
                self.function(callee)
                for engine, high in self._high[callee].items():
                    base[engine] = max(base.get(engine, 0), high)
        registers = Registers(base)
        self._done[name] = _Function(self, registers).run(func)
        self._high[name] = registers.high
        self._active.discard(name)
        return self._done[name]


class _Function:
    """One function, with the meaning of its index values."""

    def __init__(self, builder: _Builder, registers: Registers) -> None:
        self.builder = builder
        self.registers = registers
        self.addresses = builder.addresses
        self.symbols = dict(builder.arguments.symbols)
        self.counters: dict[int, int] = {}  # by level of a loop around, its symbol in waits
        self.counts: dict[Operation, int] = {}  # registers of counts and conditions, by load

    def run(self, func: FuncOp) -> Streams:
        """Return the streams of the function."""
        return self.block(func.body.block, 0)

    def block(self, block: Block, depth: int) -> Streams:
        """Return the streams of a block inside `depth` loops."""
        streams: Streams = {}
        for op in block.ops:
            if isinstance(op, InstructionOp):
                self.instruction(op, streams)
            elif isinstance(op, LoopOp):
                self.loop(op, depth, streams)
            elif isinstance(op, CallOp):
                self.call(op, streams)
            self.registers.passed(op)
        return streams

    def loop(self, op: LoopOp, depth: int, streams: Streams) -> None:
        """Append a loop to the stream of each engine with work in it."""
        load, body = count_load(op), body_of(op)
        self.symbols[body.args[0]] = depth
        if load is None:
            trips = _trip_count(op)
            for engine, items in self.block(body, depth + 1).items():
                streams.setdefault(engine, []).append(Loop(trips, items))
            return
        if isinstance(op, scf.ForOp) and not is_normal(op):
            raise malformed("scf.for: loops run from 0 in steps of 1", op)
        counter = self.builder.counters
        self.builder.counters += 1
        if counter >= COUNTERS:
            raise malformed(f"there are more than {COUNTERS} loops with a runtime count", op)
        self.counters[depth] = COUNTER + counter
        inside = self.block(body, depth + 1)
        del self.counters[depth]
        again = self.counts[next_load(op)] if isinstance(op, scf.WhileOp) else -1
        for engine, items in inside.items():
            loop = Loop(0, items, self.counts[load], counter, again)
            streams.setdefault(engine, []).append(loop)

    def everywhere(self, record: Instruction, streams: Streams) -> None:
        """Append an instruction to every stream: a barrier, or the load of a count or condition.

        Its own engine waits and updates for all.
        """
        for engine in self.builder.sequencers:
            copy = record
            if engine is not record.engine:
                copy = replace(record, engine=engine, waits=(), updates=())
            streams.setdefault(engine, []).append(copy)

    def instruction(self, op: InstructionOp, streams: Streams) -> None:
        """Append an instruction to its engine's stream; a transfer to that of its trigger."""
        for value in tuple(op.operands)[: op.buffer_count]:
            if value not in self.addresses and value not in self.symbols:
                raise malformed(f"{op.name}: a buffer has no nc.alloc or nc.address_of", op)
        for value in op.index_values():
            if value not in self.symbols:
                raise malformed(
                    f"{op.name}: an index is not a loop variable, function argument or register", op
                )
        source = self.builder.source(source_of(op))
        record = instruction_record(op, self.addresses, self.symbols, source)
        if self.counters and record.waits:
            record.waits = tuple(
                Wait(w.semaphore, renamed(w.value, self.counters)) for w in record.waits
            )
        for value in op.index_values():
            self.registers.check_use(value, record.stream, op)
        used = [w.semaphore for w in record.waits] + [u.semaphore for u in record.updates]
        self.builder.semaphores = max([self.builder.semaphores, *(n + 1 for n in used)])
        if record.opcode == "barrier":
            self.everywhere(record, streams)
            return
        if steers(op):
            number, symbol = self.registers.define(op, self.builder.sequencers)
            record.params["register"] = self.counts[op] = number
            self.symbols[op.results[0]] = symbol
            self.everywhere(record, streams)
            return
        if op.results:
            number, symbol = self.registers.define(op, [record.stream])
            record.params["register"] = number
            self.symbols[op.results[0]] = symbol
        streams.setdefault(record.stream, []).append(record)

    def call(self, op: CallOp, streams: Streams) -> None:
        """Append a call for each engine that has work in the callee."""
        callee = op.callee.root_reference.data
        streams_of = self.builder.function(callee)
        passed = self.builder.arguments.passed(op, self.builder.functions[callee])
        arguments = tuple(self.affine(value, op) for value in passed)
        for engine, items in streams_of.items():
            for value in passed:
                self.registers.check_use(value, engine, op)
            if items:
                streams.setdefault(engine, []).append(Call(callee, arguments))

    def affine(self, value: SSAValue, op: Operation) -> Affine:
        """Return a call argument: a constant, an index value or the base address of a buffer."""
        constant = constant_of(value)
        if constant is None:
            constant = self.addresses.get(value)
        if constant is not None:
            return Affine(constant)
        if value not in self.symbols:
            raise malformed(f"{op.name}: an argument is neither a constant nor an index value", op)
        return Affine(0, ((self.symbols[value], 1),))


def renamed(value: Affine, names: Mapping[int, int]) -> Affine:
    """Return an affine value with other symbols."""
    return Affine(value.const, tuple((names.get(s, s), c) for s, c in value.terms))


def _address(attr: IntegerAttr | None, what: str, op: Operation) -> int:
    if attr is None:
        raise malformed(f"{what} has no address", op)
    return attr.value.data


def _trip_count(op: LoopOp) -> int:
    if isinstance(op, scf.WhileOp):
        raise malformed("scf.while: its condition is not a nc.register_load", op)
    high = constant_of(op.ub)
    if high is None or not is_normal(op):
        raise malformed("scf.for: loops run from 0 to a constant in steps of 1", op)
    return max(high, 0)

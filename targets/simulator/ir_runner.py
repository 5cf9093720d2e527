"""Run an nc module in program order, at any phase before it is a binary.

In every phase, executing the ops in program order gives the correct result. Buffers without an
address (phases virtual and ordered) get their own address in a sufficiently large memory, and
variables get one in HBM.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.counts import count_load, is_normal, next_load
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    REGISTER,
    AccessPattern,
    Affine,
    Instruction,
    Program,
    Variable,
)
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.origin import source_of
from neuronir.dialects.nc.placement import place_variables
from neuronir.dialects.nc.records import instruction_record, partition_bytes, space_of
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, CallOp, FuncOp, VariableOp
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import walk
from neuronir.targets.encoding.arguments import bind_arguments
from neuronir.targets.encoding.variables import variable_of
from neuronir.targets.simulator.execute import Warnings, prepare
from neuronir.targets.simulator.functional import (
    Options,
    Result,
    read_outputs,
    statistics_of,
    write_inputs,
)
from neuronir.targets.simulator.memory import Memory
from neuronir.targets.simulator.walker import (
    CallNode,
    Env,
    LoopNode,
    Node,
    Step,
    iterations,
    payloads,
)

_ALIGNMENT = 64
_CONSTANT = 1 << 20
"""Symbols from here on represent arith.constant values until they are folded."""


def run_module(
    module: ModuleOp,
    inputs: Sequence[NDArray[Any]],
    machine: Machine | None = None,
    options: Options | None = None,
) -> list[NDArray[Any]]:
    """Return the outputs of an nc module on `inputs`, executing its ops in program order."""
    return simulate_module(module, inputs, machine, options).outputs


def simulate_module(
    module: ModuleOp,
    inputs: Sequence[NDArray[Any]],
    machine: Machine | None = None,
    options: Options | None = None,
) -> Result:
    """Run a module like `run_module`, and return statistics and warnings as well.

    `machine` defaults to that of the module's `nc.machine`. Waits, races and orders of `options`
    have no meaning in program order.
    """
    chosen = options or Options()
    target = machine or _machine_of(module)
    order = _Order(module, target)
    memory = Memory(
        target,
        order.program.variables,
        chosen.uninitialized,
        chosen.sbuf_bytes or order.sizes[Space.SBUF],
        chosen.psum_bytes or order.sizes[Space.PSUM],
    )
    write_inputs(order.program, inputs, memory)
    warnings = Warnings()

    def payload(node: Node) -> object:
        return prepare(node, order.program, memory, target, chosen.rules, warnings)

    with payloads(order.nodes, payload):
        with np.errstate(all="ignore"):
            order.run()
        statistics = statistics_of(order.nodes)
    return Result(read_outputs(order.program, memory), statistics, warnings.texts(order.program))


def _machine_of(module: ModuleOp) -> Machine:
    name = module.attributes.get("nc.machine")
    if not isinstance(name, StringAttr):
        raise NeuronError(
            "NIR_SIM030", "the module does not name its machine", help='set nc.machine = "trn1"'
        )
    return get_machine(name.data)


@dataclass
class _Function:
    """A function being read: numbers of its index values."""

    name: str
    symbols: dict[SSAValue, int] = field(default_factory=dict)
    constants: dict[int, int] = field(default_factory=dict)


class _Order:
    """A module as steps in program order, with all buffers placed."""

    def __init__(self, module: ModuleOp, machine: Machine) -> None:
        self.nodes: list[Node] = []
        self.sizes = {
            Space.SBUF: machine.sbuf_partition_bytes,
            Space.PSUM: machine.psum_partition_bytes,
        }
        self._bank = machine.psum_bank_bytes
        self._registers = REGISTER
        self._variables: dict[str, Variable] = {}
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        if "main" not in functions:
            raise NeuronError("NIR_SIM030", "there is no nc.func @main")
        self._place_variables([op for op in module.ops if isinstance(op, VariableOp)])
        self._next = self._first_free(functions.values())
        self._functions = functions
        self._addresses = self._place_buffers(functions.values())
        self._arguments = bind_arguments(functions, self._addresses)
        self._addresses.update(self._arguments.fixed)
        self.program = Program(machine.name, "main", {}, list(self._variables.values()), sources=[])
        self._steps = {name: self._read(op) for name, op in functions.items()}

    def _place_variables(self, ops: Sequence[VariableOp]) -> None:
        self._variable_addresses = place_variables(ops)
        for op in ops:
            if op.members is None:
                name = op.sym_name.data
                copy = clone(op)
                copy.address = IntegerAttr(self._variable_addresses[name], i64)
                self._variables[name] = variable_of(copy)

    def _first_free(self, functions: Iterable[FuncOp]) -> dict[Space, int]:
        """Return the first offset for buffers without an address: the end of all others."""
        free = {Space.SBUF: 0, Space.PSUM: 0}
        for func in functions:
            for op in walk(func):
                if isinstance(op, AllocOp) and op.address is not None:
                    space = space_of(op.buffer)
                    end = op.address.value.data + partition_bytes(op.buffer.type)
                    free[space] = max(free[space], end)
        return free

    def _place(self, op: AllocOp) -> int:
        if op.address is not None:
            return op.address.value.data
        space = space_of(op.buffer)
        size = partition_bytes(op.buffer.type)
        unit = _ALIGNMENT if space == Space.SBUF else self._bank
        address = -(-self._next[space] // unit) * unit
        self._next[space] = address + size
        self.sizes[space] = max(self.sizes[space], -(-(address + size) // unit) * unit)
        return address

    def _place_buffers(self, functions: Iterable[FuncOp]) -> dict[SSAValue, int]:
        """Return the addresses of all buffers that functions allocate or name."""
        addresses: dict[SSAValue, int] = {}
        for func in functions:
            for op in walk(func):
                if isinstance(op, AllocOp):
                    addresses[op.buffer] = self._place(op)
                elif isinstance(op, AddressOfOp):
                    name = op.variable.root_reference.data
                    if name not in self._variable_addresses:
                        raise _malformed(f"nc.address_of @{name}, which does not exist", op)
                    addresses[op.buffer] = self._variable_addresses[name]
        return addresses

    def _read(self, func: FuncOp) -> list[Step]:
        function = _Function(func.sym_name.data)
        function.symbols.update(self._arguments.symbols)
        return self._block(func.body.block, function, 0)

    def _block(self, block: Block, function: _Function, depth: int) -> list[Step]:
        steps: list[Step] = []
        for op in block.ops:
            if isinstance(op, InstructionOp):
                steps.append(self._instruction(op, function))
            elif isinstance(op, arith.ConstantOp):
                if isinstance(op.value, IntegerAttr):
                    symbol = _CONSTANT + len(function.constants)
                    function.symbols[op.result] = symbol
                    function.constants[symbol] = op.value.value.data
            elif isinstance(op, LoopOp):
                steps.append(self._loop(op, function, depth))
            elif isinstance(op, CallOp):
                steps.append(self._call(op, function))
        return steps

    def _call(self, op: CallOp, function: _Function) -> CallNode:
        name = op.callee.root_reference.data
        if name not in self._functions:
            return CallNode(name, ())  # rejected when it is run
        passed = self._arguments.passed(op, self._functions[name])
        return CallNode(name, tuple(self._value(v, function, op) for v in passed))

    def _loop(self, op: LoopOp, function: _Function, depth: int) -> LoopNode:
        block = body_of(op)
        function.symbols[block.args[0]] = depth
        if isinstance(op, scf.ForOp):
            trips, count = self._trips(op, function)
            return LoopNode(trips, self._block(block, function, depth + 1), count)
        again = next_load(op)  # checks the form of the loop
        first = self._value(op.operands[1], function, op)
        if count_load(op) is None or not first.terms:
            raise _malformed("the condition of a loop is not a nc.register_load", op)
        body = self._block(block, function, depth + 1)
        register = self._value(again.results[0], function, op).terms[0][0]
        return LoopNode(0, body, first.terms[0][0], again=register)

    def _trips(self, op: scf.ForOp, function: _Function) -> tuple[int, int]:
        """Return the trip count of a loop, or 0 and the symbol of the register that holds it."""
        bounds = [self._value(v, function, op) for v in (op.lb, op.ub, op.step)]
        if count_load(op) is not None and is_normal(op):
            return 0, bounds[1].terms[0][0]
        if any(b.terms for b in bounds) or bounds[0].const != 0 or bounds[2].const != 1:
            raise _malformed("loops run from 0 to a constant in steps of 1", op)
        return max(bounds[1].const, 0), -1

    def _value(self, value: SSAValue, function: _Function, op: Operation) -> Affine:
        if value in self._addresses:
            return Affine(self._addresses[value])
        if value not in function.symbols:
            raise _malformed("an index is not a loop variable, argument, register or constant", op)
        return _folded(Affine(0, ((function.symbols[value], 1),)), function.constants)

    def _instruction(self, op: InstructionOp, function: _Function) -> Node:
        for value in op.index_values():
            self._value(value, function, op)
        for value in tuple(op.operands)[: op.buffer_count]:
            if value not in self._addresses and value not in function.symbols:
                raise _malformed("a buffer has no nc.alloc or nc.address_of", op)
        self.program.sources.append(source_of(op))
        source = len(self.program.sources) - 1
        record = instruction_record(op, self._addresses, function.symbols, source)
        if op.results:
            record.params["register"] = self._registers - REGISTER
            function.symbols[op.results[0]] = self._registers
            self._registers += 1
        record = _fold_instruction(record, function.constants)
        node = Node(record, function.name, len(self.nodes))
        self.nodes.append(node)
        return node

    def run(self) -> None:
        """Execute everything once, in order."""
        env = [0] * max(self._registers, REGISTER)
        self._walk(self._steps["main"], env, 0, ("main",))

    def _walk(self, steps: Sequence[Step], env: Env, level: int, active: tuple[str, ...]) -> None:
        for step in steps:
            if isinstance(step, Node):
                step.payload(env)
                step.count += 1
            elif isinstance(step, LoopNode):
                for i in iterations(step, env):
                    env[level] = i
                    self._walk(step.body, env, level + 1, active)
            else:
                body = self._steps.get(step.function)
                if body is None or step.function in active:
                    what = "does not exist" if body is None else "calls itself"
                    raise NeuronError("NIR_SIM030", f"nc.call of @{step.function}, which {what}")
                inner = [0] * len(env)
                for i, argument in enumerate(step.arguments):
                    inner[ARGUMENT + i] = argument.at(env)
                self._walk(body, inner, 0, (*active, step.function))


def _malformed(text: str, op: Operation) -> NeuronError:
    return NeuronError(
        "NIR_SIM030",
        f"the nc module cannot be run: {op.name}: {text}",
        location=source_of(op).name or None,
    )


def _folded(value: Affine, constants: dict[int, int]) -> Affine:
    if not any(symbol in constants for symbol, _ in value.terms):
        return value
    const = value.const + sum(c * constants[s] for s, c in value.terms if s in constants)
    return Affine(const, tuple((s, c) for s, c in value.terms if s not in constants))


def _fold_instruction(instruction: Instruction, constants: dict[int, int]) -> Instruction:
    """Return the instruction with constant index values folded into its addresses, without
    waits.
    """

    def fold(ap: AccessPattern | None) -> AccessPattern | None:
        return None if ap is None else replace(ap, address=_folded(ap.address, constants))

    return replace(
        instruction,
        dst=tuple(fold(ap) for ap in instruction.dst),
        src=tuple(fold(ap) for ap in instruction.src),
        waits=(),
        updates=(),
    )

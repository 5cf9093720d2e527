"""Read a function of nc ops into plain records, so that passes avoid IR accessors in loops."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.counts import constant_of, count_load, is_normal, next_load
from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import Shape, accesses, hull_over, shape_of
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    ASSUMED_ITERATIONS,
    REGISTER,
    AccessPattern,
    Affine,
    Instruction,
)
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.placement import variable_bytes
from neuronir.dialects.nc.records import instruction_record, partition_bytes, space_of
from neuronir.dialects.nc.structure import (
    AddressOfOp,
    AllocOp,
    CallOp,
    FuncOp,
    VariableOp,
)
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.nc.fixed import (
    PARTIAL,
    FixedInstruction,
    extent_of,
    fixed_instruction,
    partitions_of,
)

Bounds = dict[int, tuple[int, int]]
"""Inclusive bounds of the symbols of addresses."""

LOOP = 1000
"""In access patterns, the symbol LOOP + i is the iteration number of loop i.

Unlike levels, these symbols distinguish consecutive loops.
"""

RING = "nc.ring"
"""The attribute of a stream buffer with a fixed position in the ring: its first byte."""

# Only callers know a function argument; this many bytes bound what it may add.
_ANY_ARGUMENT = (0, 0)


@dataclass(slots=True)
class Buffer:
    """An allocation, or an HBM variable; `size` is in bytes per partition (HBM: total bytes)."""

    key: int
    value: SSAValue
    space: Space
    size: int
    partitions: int
    role: str = ""  # of an allocation; for a variable, its kind
    name: str = ""  # for a variable
    address: int = -1
    op: Operation | None = None
    loop: int = -1  # the loop whose body allocates it
    ring: int = -1  # for a stream buffer with a fixed position in the ring: its first byte


@dataclass(slots=True, eq=False)
class Access:
    """The bytes that an instruction accesses: `low` to `high` (exclusive) on some partitions.

    Bytes count from the base of the buffer, or of the memory if buffers have addresses. `solid`
    means that every byte between low and high is accessed.
    """

    node: int
    buffer: int
    write: bool
    partial: bool  # a write that may leave some bytes of its footprint unchanged
    low: int
    high: int
    start: int
    stop: int
    solid: bool
    pattern: AccessPattern
    fixed: bool  # the address is a constant
    shape: Shape  # of the pattern

    def of(self, node: int) -> "Access":
        """Return the same access for another node."""
        return Access(
            node,
            self.buffer,
            self.write,
            self.partial,
            self.low,
            self.high,
            self.start,
            self.stop,
            self.solid,
            self.pattern,
            self.fixed,
            self.shape,
        )


@dataclass(slots=True)
class Node:
    """An instruction of a block, or a loop or call that counts as a single unit.

    The accesses of a loop are those of its instructions.
    """

    index: int
    op: Operation
    record: Instruction | None
    accesses: list[Access]
    body: "list[Node]" = field(default_factory=list)
    trip_count: int = 1
    counted: bool = False  # for a loop: whether its count is loaded, so that it may be 0
    level: int = 0  # for a loop: the symbol of its iteration number in records
    loop: int = -1  # for a loop: its number
    last_loop: int = -1  # for a loop: the highest number of a loop inside, or its own
    touched: frozenset[int] = frozenset()  # for a loop: the buffers that it accesses
    # for an instruction: its number in the function, counting instructions in loops
    place: int = -1
    inside: tuple[int, ...] = ()  # for an instruction: the loops around it, outermost first

    def numbered(self, index: int) -> "Node":
        """Return the same instruction at another position of its block."""
        accesses = [access.of(index) for access in self.accesses]
        place, inside = self.place, self.inside
        return Node(index, self.op, self.record, accesses, place=place, inside=inside)


@dataclass(slots=True)
class Listing:
    """A function: its buffers by key, and the nodes of its body in program order."""

    func: FuncOp
    buffers: list[Buffer]
    nodes: list[Node]
    loops: list[Node]
    bounds: Bounds
    placed: bool  # whether accesses count from the base of their memory
    pieces: dict[int, list[Node]] = field(default_factory=dict)  # by position of the instruction


def machine_of(module: ModuleOp) -> Machine:
    """Return the machine of the module; raises NIR_NC001 if it names none."""
    name = module.attributes.get("nc.machine")
    if not isinstance(name, StringAttr):
        raise NeuronError(
            "NIR_NC001",
            "the module does not name its machine",
            help='set the module attribute nc.machine, as in {nc.machine = "trn1"}',
        )
    return get_machine(name.data)


def phase_of(module: ModuleOp) -> str:
    """Return the phase of an nc module; `virtual` if it has none."""
    phase = module.attributes.get("neuronir.phase")
    return phase.data if isinstance(phase, StringAttr) else "virtual"


def require_phase(module: ModuleOp, pass_name: str, *phases: str) -> None:
    """Raise NIR_NC002 if the module is not in one of `phases`."""
    phase = phase_of(module)
    if phase not in phases:
        raise NeuronError(
            "NIR_NC002",
            f"{pass_name} takes a module in phase {' or '.join(phases)}, this one is '{phase}'",
            help="the order is @nc-order, nc-spill, nc-assign-banks, nc-allocate, "
            "nc-split-transfers, nc-order-triggers, nc-assign-queues, nc-synchronise",
        )


def functions(module: ModuleOp) -> list[FuncOp]:
    """Return the functions of a module in order."""
    named = (op for op in ops_of(module.body.block) if op.name == FuncOp.name)
    return [op for op in named if isinstance(op, FuncOp)]


def has_functions(module: ModuleOp) -> bool:
    """Return whether a module has nc functions."""
    return any(op.name == FuncOp.name for op in ops_of(module.body.block))


def variables(module: ModuleOp) -> dict[str, VariableOp]:
    """Return the variables of a module by name, in order."""
    ops = ops_of(module.body.block)
    return {op.sym_name.data: op for op in ops if isinstance(op, VariableOp)}


def trip_count(loop: LoopOp) -> int:
    """Return the trip count of a loop from 0 with step 1; raises NIR_NC003 for other loops.

    A count that is loaded at run time, or follows from a condition that is, counts as
    ASSUMED_ITERATIONS.
    """
    if isinstance(loop, scf.WhileOp):
        if count_load(loop) is None:
            raise NeuronError(
                "NIR_NC003", "scf.while: the condition of a loop must be a nc.register_load"
            )
        next_load(loop)
        return ASSUMED_ITERATIONS
    low, high, step = (constant_of(value) for value in (loop.lb, loop.ub, loop.step))
    if low is None or step is None or (high is None and count_load(loop) is None):
        raise NeuronError(
            "NIR_NC003",
            "scf.for: the bounds of a loop must be constants; the upper bound may be a "
            "nc.register_load",
        )
    if not is_normal(loop):
        raise NeuronError(
            "NIR_NC003",
            f"scf.for from {low} in steps of {step}: loops run from 0 in steps of 1 "
            "and carry no values",
        )
    return ASSUMED_ITERATIONS if high is None else max(high, 0)


_MOST = 1 << 31
"""No loop that depends on data has more iterations: its number is a 32-bit register."""


def list_function(
    func: FuncOp,
    kinds: Mapping[str, VariableOp],
    *,
    placed: bool,
    parts: Callable[[InstructionOp], Sequence[InstructionOp]] | None = None,
) -> Listing:
    """Read a function; with `placed`, accesses have addresses, else they are relative to their
    buffer.

    `parts` may replace a transfer by several ops, which are read and then erased.
    """
    return _Reader(func, kinds, placed, parts).read()


@cache
def _kind(class_: type[Operation]) -> object:
    """Return the class of ops to which a class belongs that listings treat alike.

    Each test of an op against a class costs more than a look-up, because xDSL's classes are
    abstract.
    """
    kinds = (InstructionOp, AllocOp, AddressOfOp, LoopOp, CallOp)
    return next((kind for kind in kinds if issubclass(class_, kind)), None)


class _Reader:
    def __init__(
        self,
        func: FuncOp,
        kinds: Mapping[str, VariableOp],
        placed: bool,
        parts: Callable[[InstructionOp], Sequence[InstructionOp]] | None,
    ) -> None:
        self.func = func
        self.parts = parts
        self.pieces: dict[int, list[Node]] = {}
        self.kinds = kinds
        self.placed = placed
        self.buffers: list[Buffer] = []
        self.of_value: dict[SSAValue, int] = {}
        self.of_variable: dict[str, int] = {}
        self.bases: dict[SSAValue, int] = {}
        self.symbols: dict[SSAValue, int] = {}
        self.bounds: Bounds = {}
        self.registers = 0
        self.loops: list[Node] = []
        self.around: list[int] = []  # numbers of the open loops
        self.places = 0

    def read(self) -> Listing:
        block = self.func.body.block
        for i, argument in enumerate(block.args):
            if isinstance(argument.type, MemRefType):
                raise NeuronError(
                    "NIR_NC009",
                    f"nc.func @{self.func.sym_name.data} takes a buffer: it must be the whole body "
                    "of one loop",
                    help="nc-unroll inlines other calls",
                )
            self.symbols[argument] = ARGUMENT + i
            self.bounds[ARGUMENT + i] = _ANY_ARGUMENT
        nodes = self.block(block, 0)
        return Listing(
            self.func, self.buffers, nodes, self.loops, self.bounds, self.placed, self.pieces
        )

    def block(self, block: Block, level: int) -> list[Node]:
        nodes: list[Node] = []
        for op in ops_of(block):
            kind = _kind(type(op))
            if kind is InstructionOp:
                op = cast(InstructionOp, op)
                nodes.append(self.instruction(op, len(nodes)))
                if self.parts is not None and op.name == DmaOp.name:
                    self.taken_apart(op, nodes[-1])
            elif kind is AllocOp:
                self.allocation(cast(AllocOp, op))
            elif kind is AddressOfOp:
                self.address_of(cast(AddressOfOp, op))
            elif kind is LoopOp:
                nodes.append(self.loop(cast(LoopOp, op), len(nodes), level))
            elif kind is CallOp:
                nodes.append(Node(len(nodes), op, None, []))
        return nodes

    def allocation(self, op: AllocOp) -> None:
        type_ = op.buffer.type
        ring = op.attributes.get(RING)
        buffer = Buffer(
            len(self.buffers),
            op.buffer,
            space_of(op.buffer),
            partition_bytes(type_),
            type_.get_shape()[0],
            op.role.data if op.role is not None else "",
            address=op.address.value.data if op.address is not None else -1,
            op=op,
            loop=self.around[-1] if self.around else -1,
            ring=ring.value.data if isinstance(ring, IntegerAttr) else -1,
        )
        self.add(buffer)

    def address_of(self, op: AddressOfOp) -> None:
        name = op.variable.root_reference.data
        if name in self.of_variable:
            key = self.of_variable[name]
            self.of_value[op.buffer] = key
            self.bases[op.buffer] = self.bases[self.buffers[key].value]
            return
        variable = self.kinds.get(name)
        if variable is None:
            raise NeuronError("NIR_NC004", f"nc.address_of @{name}: no such nc.variable")
        self.of_variable[name] = len(self.buffers)
        address = variable.address.value.data if variable.address is not None else -1
        self.add(
            Buffer(
                len(self.buffers),
                op.buffer,
                Space.HBM,
                variable_bytes(variable),
                1,
                variable.kind.data,
                name,
                address,
                variable,
            )
        )

    def add(self, buffer: Buffer) -> None:
        if self.placed and buffer.address < 0:
            raise NeuronError(
                "NIR_NC005",
                f"a buffer of {buffer.size} bytes in {buffer.space.name} has no address",
                help="run nc-allocate first",
            )
        self.buffers.append(buffer)
        self.of_value[buffer.value] = buffer.key
        self.bases[buffer.value] = buffer.address if self.placed else 0

    def loop(self, op: LoopOp, index: int, level: int) -> Node:
        trips = trip_count(op)
        number = len(self.loops)
        body = body_of(op)
        self.symbols[body.args[0]] = level
        load = count_load(op)
        most = trips if load is None else int(load.param_values()["high"])
        if isinstance(op, scf.WhileOp):
            most = _MOST
        self.bounds[LOOP + number] = (0, max(most - 1, 0))
        node = Node(
            index,
            op,
            None,
            [],
            trip_count=trips,
            level=level,
            loop=number,
            counted=load is not None,
        )
        self.loops.append(node)
        self.around.append(number)
        node.body = self.block(body, level + 1)
        self.around.pop()
        node.accesses = [access for inner in node.body for access in inner.accesses]
        node.touched = frozenset(access.buffer for access in node.accesses)
        node.last_loop = len(self.loops) - 1
        return node

    def instruction(self, op: InstructionOp, index: int) -> Node:
        operands = op._operands
        if op.buffer_count == len(operands) and not op.results:
            fixed = fixed_instruction(op, self.bases)
            if fixed is not None:
                return self.fixed(op, index, fixed)
        for value in operands[op.buffer_count :]:
            if value not in self.symbols:
                raise NeuronError(
                    "NIR_NC006",
                    f"{op.name}: an index operand is neither a loop variable, an argument nor a "
                    "register; nc-unroll folds constants",
                )
        record = instruction_record(op, self.bases, self.symbols)
        node = self.node(op, index, record)
        partial = record.opcode in PARTIAL
        values = iter(operands)
        keys = [
            -1 if pattern is None else self.of_value[next(values)]
            for pattern in (*record.dst, *record.src)
        ]
        for operand, pattern, write in accesses(record):
            self.access(node, keys[operand], pattern, write, write and partial)
        if op.results:
            self.register(op, record)
        return node

    def node(self, op: InstructionOp, index: int, record: Instruction) -> Node:
        place = self.places
        self.places += 1
        return Node(index, op, record, [], place=place, inside=tuple(self.around))

    def fixed(self, op: InstructionOp, index: int, fixed: FixedInstruction) -> Node:
        node = self.node(op, index, fixed.record())
        keys = [self.of_value[v] for v in op._operands]
        node.accesses = [
            Access(index, keys[operand], write, partial, *extent)
            for operand, write, partial, extent in fixed.accesses
        ]
        return node

    def taken_apart(self, op: InstructionOp, node: Node) -> None:
        assert self.parts is not None
        made = self.parts(op)
        if made:
            self.pieces[node.place] = [self.instruction(p, node.index) for p in made]
            self.places = node.place + 1
            for part in made:
                part.erase()

    def register(self, op: InstructionOp, record: Instruction) -> None:
        symbol = REGISTER + self.registers
        self.registers += 1
        self.symbols[op.results[0]] = symbol
        self.bounds[symbol] = (int(record.params["low"]), int(record.params["high"]))

    def access(
        self, node: Node, key: int, pattern: AccessPattern, write: bool, partial: bool
    ) -> None:
        if not pattern.address.terms:
            node.accesses.append(Access(node.index, key, write, partial, *extent_of(pattern)))
            return
        if self.around:
            terms = tuple(
                (LOOP + self.around[s] if s < ARGUMENT else s, c) for s, c in pattern.address.terms
            )
            pattern = replace(pattern, address=Affine(pattern.address.const, terms))
        shape = shape_of(pattern)
        low, high = hull_over(pattern, self.bounds)
        start, stop = partitions_of(pattern)
        extent = (low, high, start, stop, False, pattern, False, shape)
        node.accesses.append(Access(node.index, key, write, partial, *extent))

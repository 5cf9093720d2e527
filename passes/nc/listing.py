"""A function of nc ops as plain records, read once so that passes need no IR accessors in loops."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import Shape, hull_over, reads, shape_of, writes
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
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
from neuronir.dialects.support.walking import ops_of

Bounds = dict[int, tuple[int, int]]
"""Inclusive bounds of the symbols of addresses."""

LOOP = 1000
"""In the patterns of accesses the round number of loop i is the symbol LOOP + i: unlike levels,
these tell loops apart that follow each other."""

RING = "nc.ring"
"""The attribute of a stream buffer that has a fixed place in the ring: the byte it begins at."""

_PARTIAL = ("copy_predicated", "dma_scatter")

# A function argument is known to its callers only; this many bytes bound what it may add.
_ANY_ARGUMENT = (0, 0)


@dataclass(slots=True)
class Buffer:
    """An allocation, or a variable of HBM. `size` is bytes per partition (HBM: bytes in all)."""

    key: int
    value: SSAValue
    space: Space
    size: int
    partitions: int
    role: str = ""  # of an allocation; of a variable its kind
    name: str = ""  # of a variable
    address: int = -1
    op: Operation | None = None
    loop: int = -1  # the loop in whose body it is allocated
    ring: int = -1  # of a stream buffer with a fixed place in the ring: its byte there


@dataclass(slots=True, eq=False)
class Access:
    """Bytes that an instruction touches: `low` to `high` (exclusive) on some partitions.

    Bytes count from the base of the buffer, or from that of the memory where buffers have
    addresses. `solid` says that every byte between low and high is touched.
    """

    node: int
    buffer: int
    write: bool
    partial: bool  # a write that may leave bytes of its footprint as they were
    low: int
    high: int
    start: int
    stop: int
    solid: bool
    pattern: AccessPattern
    fixed: bool  # the address is a constant
    shape: Shape  # of the pattern

    def of(self, node: int) -> "Access":
        """The same access as one of another node."""
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
    """An instruction of a block, or a loop or call that counts as one unit with its insides.

    The accesses of a loop are those of the instructions in it.
    """

    index: int
    op: Operation
    record: Instruction | None
    accesses: list[Access]
    body: "list[Node]" = field(default_factory=list)
    trip_count: int = 1
    level: int = 0  # of a loop: the symbol of its round number in records
    loop: int = -1  # of a loop: its number
    last_loop: int = -1  # of a loop: the highest number of those in it, or its own
    touched: frozenset[int] = frozenset()  # of a loop: the buffers that it accesses
    place: int = -1  # of an instruction: its number in the function, insides of loops counted
    inside: tuple[int, ...] = ()  # of an instruction: the loops around it, outermost first

    def numbered(self, index: int) -> "Node":
        """The same instruction at another place of its block."""
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
    pieces: dict[int, list[Node]] = field(default_factory=dict)  # by place of the instruction


def machine_of(module: ModuleOp) -> Machine:
    """The machine that the module is for; NIR_NC001 where it names none."""
    name = module.attributes.get("nc.machine")
    if not isinstance(name, StringAttr):
        raise NeuronError(
            "NIR_NC001",
            "the module does not name its machine",
            help='set the module attribute nc.machine, as in {nc.machine = "trn1"}',
        )
    return get_machine(name.data)


def phase_of(module: ModuleOp) -> str:
    """The refinement step of an nc module; `virtual` where it does not say."""
    phase = module.attributes.get("neuronir.phase")
    return phase.data if isinstance(phase, StringAttr) else "virtual"


def require_phase(module: ModuleOp, pass_name: str, *phases: str) -> None:
    """Raise NIR_NC002 where the module is not in one of `phases`."""
    phase = phase_of(module)
    if phase not in phases:
        raise NeuronError(
            "NIR_NC002",
            f"{pass_name} takes a module in phase {' or '.join(phases)}, this one is '{phase}'",
            help="the order is nc-order, nc-spill, nc-assign-banks, nc-allocate, "
            "nc-split-transfers, nc-order-triggers, nc-synchronise",
        )


def functions(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module in order."""
    return [op for op in module.ops if isinstance(op, FuncOp)]


def variables(module: ModuleOp) -> dict[str, VariableOp]:
    """The variables of a module by name, in order."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, VariableOp)}


def trip_count(loop: scf.ForOp) -> int:
    """Rounds of a loop from 0 in steps of 1; NIR_NC003 where it has another form."""
    bounds = []
    for value in (loop.lb, loop.ub, loop.step):
        owner = value.owner
        if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
            raise NeuronError("NIR_NC003", "scf.for: the bounds of a loop must be constants")
        bounds.append(owner.value.value.data)
    if bounds[0] != 0 or bounds[2] != 1 or loop.iter_args:
        raise NeuronError(
            "NIR_NC003",
            f"scf.for from {bounds[0]} in steps of {bounds[2]}: loops run from 0 in steps of 1 "
            "and carry no values",
        )
    return max(bounds[1], 0)


def list_function(
    func: FuncOp,
    kinds: Mapping[str, VariableOp],
    *,
    placed: bool,
    parts: Callable[[InstructionOp], Sequence[InstructionOp]] | None = None,
) -> Listing:
    """Read a function; with `placed` accesses are by address, else relative to their buffer.

    The listing also has what could stand for an instruction: the ops that `parts` makes of it,
    which are erased when they have been read.
    """
    return _Reader(func, kinds, placed, parts).read()


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
        self.around: list[int] = []  # numbers of the loops that are open
        self.places = 0

    def read(self) -> Listing:
        block = self.func.body.block
        for i, argument in enumerate(block.args):
            if isinstance(argument.type, MemRefType):
                raise NeuronError(
                    "NIR_NC009",
                    f"nc.func @{self.func.sym_name.data} takes a buffer: it must be the whole body "
                    "of one loop",
                    help="nc-order inlines other calls",
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
            if isinstance(op, InstructionOp):
                nodes.append(self.instruction(op, len(nodes)))
                if self.parts is not None:
                    self.taken_apart(op, nodes[-1])
            elif isinstance(op, AllocOp):
                self.allocation(op)
            elif isinstance(op, AddressOfOp):
                self.address_of(op)
            elif isinstance(op, scf.ForOp):
                nodes.append(self.loop(op, len(nodes), level))
            elif isinstance(op, CallOp):
                nodes.append(Node(len(nodes), op, None, []))
        return nodes

    def allocation(self, op: AllocOp) -> None:
        type_ = cast(MemRefType, op.buffer.type)
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

    def loop(self, op: scf.ForOp, index: int, level: int) -> Node:
        trips = trip_count(op)
        number = len(self.loops)
        self.symbols[op.body.block.args[0]] = level
        self.bounds[LOOP + number] = (0, max(trips - 1, 0))
        node = Node(index, op, None, [], trip_count=trips, level=level, loop=number)
        self.loops.append(node)
        self.around.append(number)
        node.body = self.block(op.body.block, level + 1)
        self.around.pop()
        node.accesses = [access for inner in node.body for access in inner.accesses]
        node.touched = frozenset(access.buffer for access in node.accesses)
        node.last_loop = len(self.loops) - 1
        return node

    def instruction(self, op: InstructionOp, index: int) -> Node:
        count = op.buffer_count
        operands = tuple(op.operands)
        for value in operands[count:]:
            if value not in self.symbols:
                raise NeuronError(
                    "NIR_NC006",
                    f"{op.name}: an index operand is neither a loop variable, an argument nor a "
                    "register; nc-order folds constants",
                )
        record = instruction_record(op, self.bases, self.symbols)
        node = Node(index, op, record, [], place=self.places, inside=tuple(self.around))
        self.places += 1
        partial = record.opcode in _PARTIAL
        values = iter(operands[:count])
        keys = {
            id(pattern): self.of_value[next(values)]
            for pattern in (*record.dst, *record.src)
            if pattern is not None
        }
        first = 0 if partial else sum(d is not None for d in record.dst)
        table = self.of_value[operands[first]] if count > first else -1
        for pattern in writes(record):
            self.access(node, keys.get(id(pattern), table), pattern, True, partial)
        for pattern in reads(record):
            self.access(node, keys.get(id(pattern), table), pattern, False, False)
        if op.results:
            self.register(op, record)
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
        shape = shape_of(pattern)
        if pattern.address.terms and self.around:
            terms = tuple(
                (LOOP + self.around[s] if s < ARGUMENT else s, c) for s, c in pattern.address.terms
            )
            pattern = replace(pattern, address=Affine(pattern.address.const, terms))
        fixed = not pattern.address.terms
        if fixed:
            base = pattern.address.const
            low, high = base + shape.low, base + shape.high
        else:
            low, high = hull_over(pattern, self.bounds)
        start, stop = 0, 1
        if pattern.space != Space.HBM:
            start, stop = pattern.start, pattern.start + pattern.partitions
        solid = fixed and not shape.dims
        node.accesses.append(
            Access(
                node.index,
                key,
                write,
                partial,
                low,
                high,
                start,
                stop,
                solid,
                pattern,
                fixed,
                shape,
            )
        )

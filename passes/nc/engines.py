"""Assign an engine or DMA queue to each instruction, and a triggering engine to each transfer."""

from collections.abc import Iterable
from math import prod

from xdsl.dialects.builtin import IntegerAttr, MemRefType, StringAttr, UnitAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.counts import steers
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.dma import DmaScatterOp
from neuronir.dialects.nc.enums import AluOp, Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import OWN_QUEUE, InstructionOp
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, VariableOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import walk_in
from neuronir.passes.nc.rewrite import Linear, copy_with

NAMES = {engine: StringAttr(engine.name.lower()) for engine in Engine}

# DMA queues by purpose: the weight stream has its own queue, so that it is never delayed.
_STREAM = (0,)
_LOAD = (1, 2, 3)
_STORE = (4, 5, 6, 7)
_LOCAL = (8, 9, 10)
_SAVE = (12, 13)
_INDEXED = (14,)
_SERIAL = (14, 7, 6, 5, 10, 3, 9, 13)  # of tables whose rows are combined at the same time

LATENCIES = 4
"""Transfers longer than this multiple of the latency gain nothing from running several at a time.
"""


class QueueAllotter:
    """Distributes transfers over the DMA queues of their kind.

    Each argument and result has one queue, assigned in rotation; nc-assign-queues changes those of
    loads when their order is known. Large loads of a scratch array also share a queue, because
    tiles loaded at once in equal shares would all arrive late. Other transfers are distributed
    round robin.

    A queue belongs to the engine that triggers its transfers: SP, which has no other work, except
    for stores of results. These wait for results and would delay all loads behind them on SP, so
    POOL triggers them if it exists. Transfers that combine rows of one array run one after another;
    if there are several such arrays, each has a queue, as far as queues suffice. Existing
    assignments of `ops` are kept.
    """

    def __init__(
        self,
        machine: Machine,
        variables: dict[str, VariableOp],
        ops: Iterable[Operation] = (),
    ) -> None:
        self.queues = machine.dma_queues
        self.storing = Engine.POOL if machine.has_pool else Engine.SP
        self.owners: dict[Engine, Engine] = {}
        tables: dict[str, None] = {}
        for op in ops:
            if table := _combined(op):
                tables.setdefault(table)
            if isinstance(op, InstructionOp) and op.spec.triggers[:1] == (Engine.POOL,):
                self.storing = Engine.SP  # POOL generates descriptors, which a store would delay
            if isinstance(op, InstructionOp) and op.spec.triggers and op.engine is not None:
                self.owners.setdefault(Engine[op.engine.data.upper()], trigger_of(op))
        queues = [Engine(Engine.DMA0 + n) for n in _SERIAL if n < machine.dma_queues]
        self.tables = {t: queues[i % len(queues)] for i, t in enumerate(tables) if len(tables) > 1}
        self.large = machine.dma_gbps * machine.dma_fixed_ns * LATENCIES
        self.variables = variables
        self.next: dict[tuple[int, ...], int] = {}
        self.own: dict[tuple[SSAValue | str, bool], Engine] = {}

    def assign(self, op: InstructionOp) -> None:
        """Assign a queue and a triggering engine to a transfer that has none."""
        table = _combined(op)
        if table in self.tables:
            self.owners[self.tables[table]] = op.spec.trigger
            start_by(op, self.tables[table], op.spec.trigger)
            return
        queue = self._queue(op)
        trigger = self.owners.setdefault(queue, self.storing if queue in _STORING else Engine.SP)
        if trigger not in op.spec.triggers:  # descriptors that POOL generates
            trigger = op.spec.trigger
            queue = self._owned(trigger, queue)
        start_by(op, queue, trigger)

    def _owned(self, trigger: Engine, queue: Engine) -> Engine:
        """Return a queue for transfers that only `trigger` can start; `queue` if there is none."""
        every = [Engine(Engine.DMA0 + n) for n in range(self.queues)]
        usual = [Engine(Engine.DMA0 + n) for n in _INDEXED]
        for candidate in (*usual, *reversed(every)):
            if self.owners.setdefault(candidate, trigger) is trigger:
                return candidate
        return queue

    def _queue(self, op: InstructionOp) -> Engine:
        dst, src = op.operands[0], op.operands[1]
        to_hbm, from_hbm = space_of(dst) == Space.HBM, space_of(src) == Space.HBM
        kinds = {self._kind(v.owner) for v in (dst, src)}
        role = dst.owner.role if isinstance(dst.owner, AllocOp) else None
        if role is not None and role.data == "stream":
            choice: tuple[int, ...] = _STREAM
        elif "spill" in kinds and to_hbm and not from_hbm:
            choice = _SAVE
        elif kinds & {"scratch", "spill"} or to_hbm == from_hbm:
            choice = _LOCAL
        else:
            choice = _STORE if to_hbm else _LOAD
        taken = {queue - Engine.DMA0 for queue in self.tables.values()}
        choice = tuple(n for n in choice if n not in taken)
        value = dst if to_hbm else src
        load = choice[0] == _LOCAL[0] and from_hbm and not to_hbm and _bytes(op) >= self.large
        array: tuple[SSAValue | str, bool] = (value, load)
        if isinstance(value.owner, AddressOfOp):
            array = (value.owner.variable.root_reference.data, load)
        if (load or choice[0] in (_LOAD[0], _STORE[0])) and array in self.own:
            return self.own[array]
        turn = self.next.get(choice, 0)
        self.next[choice] = turn + 1
        queue = self.own[array] = Engine(Engine.DMA0 + choice[turn % len(choice)] % self.queues)
        return queue

    def _kind(self, owner: Operation | Block) -> str:
        if not isinstance(owner, AddressOfOp):
            return ""
        variable = self.variables.get(owner.variable.root_reference.data)
        return variable.kind.data if variable is not None else ""


def _combined(op: Operation) -> str:
    """Return the array in HBM whose rows a transfer combines one after another; "" for others."""
    if not isinstance(op, DmaScatterOp) or not isinstance(op.operands[0].owner, AddressOfOp):
        return ""
    if op.param_values()["accumulate"] == AluOp.BYPASS:
        return ""
    return op.operands[0].owner.variable.root_reference.data


LOADS = frozenset(Engine(Engine.DMA0 + n) for n in _LOAD)
_STORING = frozenset(Engine(Engine.DMA0 + n) for n in _STORE)


def trigger_of(op: InstructionOp) -> Engine:
    """Return the engine that starts a transfer."""
    return Engine[op.trigger.data.upper()] if op.trigger is not None else op.spec.trigger


def start_by(op: InstructionOp, queue: Engine, trigger: Engine) -> None:
    """Put a transfer on `queue` and let `trigger` start it."""
    op.properties["engine"] = NAMES[queue]
    op.properties.pop("trigger", None)
    if trigger is not op.spec.trigger:
        op.properties["trigger"] = NAMES[trigger]


def stream_of(op: InstructionOp) -> str:
    """Return the engine whose stream contains an instruction; empty if not assigned yet."""
    if op.engine is None:
        return ""
    return trigger_of(op).name.lower() if op.spec.triggers else op.engine.data


def _bytes(op: InstructionOp) -> int:
    """Return the bytes that a transfer writes."""
    view = op.dst_views()[0]
    assert view is not None and isinstance(view.buffer.type, MemRefType)
    size = dtype_of(view.buffer.type.element_type).size
    return view.partitions * prod(n for _, n in view.free) * size


def assign_engines(block: Block, machine: Machine, queues: QueueAllotter) -> None:
    """Assign an engine to each instruction at any depth; existing assignments are kept.

    Work that DVE and POOL can both do goes to DVE. POOL is slower and cannot access PSUM, and DVE
    stalls while POOL uses their shared SBUF port. `place_register_loads` follows, when the engines
    that start transfers are final.
    """
    for op in walk_in(block):
        if not isinstance(op, InstructionOp):
            continue
        if op.engine is not None:
            if op.spec.triggers:
                op.attributes[OWN_QUEUE] = UnitAttr()
            continue
        engines = op.spec.engines
        if op.opcode() == "register_load":
            continue
        if engines[0].is_dma:
            queues.assign(op)
        else:
            engine = Engine.SP if op.opcode() == "barrier" else engines[0]
            op.properties["engine"] = NAMES[engine]


def place_register_loads(block: Block, machine: Machine) -> None:
    """Load registers on every engine that reads them, at any depth of a block."""
    for op in list(walk_in(block)):
        if isinstance(op, InstructionOp) and op.opcode() == "register_load":
            _place_register_load(op)
    _number_registers(block, machine)


def _place_register_load(load: InstructionOp) -> None:
    """Replace a register load by one copy for each engine that uses its value."""
    users: dict[str, list[InstructionOp]] = {}
    for use in load.results[0].uses:
        user = use.operation
        if isinstance(user, InstructionOp) and stream_of(user):
            users.setdefault(stream_of(user), []).append(user)
    parent = load.parent
    counts = steers(load)
    if parent is None or not users or counts:
        load.properties.setdefault("engine", NAMES[Engine.SP])
    if parent is None:
        return
    for name, ops in sorted(users.items()):
        copy = copy_with(load, {}, {})
        copy.properties["engine"] = StringAttr(name)
        parent.insert_op_before(copy, load)
        for user in dict.fromkeys(ops):
            new = copy_with(user, {}, {load.results[0]: Linear(copy.results[0], 1, 0)})
            block = user.parent
            if block is None:
                continue
            block.insert_op_before(new, user)
            for old, fresh in zip(user.results, new.results, strict=True):
                old.replace_all_uses_with(fresh)
            user.detach()
            user.erase()
    if users and not counts:
        load.detach()
        load.erase()


def _number_registers(block: Block, machine: Machine) -> None:
    """Assign separate registers to the register loads of each engine."""
    used: dict[str, int] = {}
    for op in walk_in(block):
        if isinstance(op, InstructionOp) and op.opcode() == "register_load" and op.engine:
            number = used.get(op.engine.data, 0)
            used[op.engine.data] = number + 1
            if number >= machine.registers:
                raise NeuronError(
                    "NIR_NC007",
                    f"{op.engine.data} needs more than the {machine.registers} registers that "
                    f"its sequencer has on {machine.name}",
                )
            params = dict(op.params.data)
            params["register"] = IntegerAttr(number, i64)
            op.properties["params"] = type(op.params)(params)

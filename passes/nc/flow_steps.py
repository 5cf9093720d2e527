"""Prepare the instructions of a function for visits of the value flow.

An instruction becomes a step: a number for what it computes, and its operands as places in
memories. Nothing here depends on the values that a visit finds, so one program serves all flows
through a function (value_flow.py).
"""

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import AluOp, Engine, Space
from neuronir.dialects.nc.footprint import Shape, is_dense, shape_over
from neuronir.dialects.nc.instruction import REGISTER, AccessPattern, Instruction
from neuronir.passes.nc.flow_memory import FlowMemory
from neuronir.passes.nc.flow_paint import run
from neuronir.passes.nc.flow_values import Names, Place, Step
from neuronir.passes.nc.listing import LOOP, Access, Listing, Node
from neuronir.passes.nc.provenance import shifts_of
from neuronir.passes.nc.spill_writer import SPILL

_DMA = int(Engine.DMA0)
_NO_MATTER = frozenset({"reuse", "register"})
_MOST_ROWS = 1 << 12  # rows of an access with a computed address, without its gaps

PLAIN, FILL, LOAD, MOVE = range(4)
"""Kinds of steps: a computation, or one that fills memory with values of a known source."""


_Home = tuple[FlowMemory | None, int, int, bool]


class FlowProgram:
    """The steps of a function, and the memories that they access.

    `numbers` are the labels of its loops. `pieces` replace transfers (by position). `like` is the
    program with other pieces, whose steps and memories are used again.
    """

    def __init__(
        self,
        listing: Listing,
        names: Names,
        numbers: Mapping[int, int],
        pieces: Mapping[int, Sequence[Node]],
        like: "FlowProgram | None" = None,
    ) -> None:
        self.listing = listing
        self.names = names
        self.numbers = numbers
        self.pieces = pieces
        self.memories: dict[int, FlowMemory] = {} if like is None else like.memories
        self.keys = [self._memory_key(buffer.key) for buffer in listing.buffers]
        """By buffer: its memory."""
        self.loaded: dict[Operation, int] = {} if like is None else like.loaded
        """Symbols of registers, by their loads."""
        self.written = {self.keys[a.buffer] for n in listing.nodes for a in n.accesses if a.write}
        self.homes: dict[int, _Home] = {} if like is None else like.homes
        self.made: dict[int, Step] = {} if like is None else like.made
        """By identity of the instruction: its step."""
        self.steps = self._steps(listing.nodes)
        self.fresh: dict[int, list[FlowMemory]] = {}
        """By loop: the memories that are new in each iteration."""
        for buffer in listing.buffers:
            if buffer.loop >= 0 and not listing.placed and buffer.key in self.memories:
                self.fresh.setdefault(buffer.loop, []).append(self.memories[buffer.key])

    def clear(self) -> None:
        """Drop the contents of all memories."""
        for memory in self.memories.values():
            memory.clear()

    def _memory_key(self, buffer: int) -> int:
        """Return the memory of an operand:

        HBM variables, and buffers without addresses, are disjoint.
        """
        space = self.listing.buffers[buffer].space
        if self.listing.placed and space != Space.HBM:
            return -1 - space
        return buffer

    def _steps(self, nodes: Sequence[Node]) -> "list[Step | tuple[Node, list[object]]]":
        out: list[Step | tuple[Node, list[object]]] = []
        for node in nodes:
            if node.record is None:
                if node.body:
                    out.append((node, list(self._steps(node.body))))
                continue
            for piece in self.pieces.get(node.place, (node,)):
                assert piece.record is not None
                if piece.record.opcode != "barrier":
                    out.append(self._step(piece, piece.record))
        return out

    def _step(self, node: Node, record: Instruction) -> Step:
        step = self.made.get(id(node))
        if step is None:
            step = self.made[id(node)] = self._make(node, record)
        return step

    def _make(self, node: Node, record: Instruction) -> Step:
        reads = [a for a in node.accesses if not a.write]
        writes = [a for a in node.accesses if a.write]
        reads += [a for a in writes if a.partial]
        result = -1
        if node.op.results:
            result = REGISTER + len(self.loaded)
            self.loaded[node.op] = result
        fixed = all([a.fixed for a in node.accesses])
        registers = (
            ()
            if fixed
            else tuple(
                [
                    (i, symbol, c)
                    for i, p in enumerate((*record.dst, *record.src))
                    if p is not None and p.address.terms
                    for symbol, c in p.address.terms
                    if symbol >= REGISTER
                ]
            )
        )
        step = Step(
            node,
            self._signature(record),
            self._shifts(node) if node.inside else {},
            [self._place(a) for a in reads],
            [self._place(a) for a in writes],
            registers,
            result,
        )
        if not registers:
            self._see_through(step, record)
        return step

    def _signature(self, record: Instruction) -> int:
        # The parameters of an opcode always come in the order of its row.
        params = [(k, exact(v)) for k, v in record.params.items() if k not in _NO_MATTER]
        engine = int(record.engine)
        if engine >= _DMA or "register" in record.params:
            engine = -1
        form = self.names.form
        patterns = [-1 if p is None else form(p) for p in (*record.dst, *record.src)]
        return self.names.signature(
            (record.opcode, engine, tuple(params), len(record.dst), *patterns)
        )

    def _place(self, access: Access) -> Place:
        home = self.homes.get(access.buffer)
        if home is None:
            home = self.homes[access.buffer] = self._home(access.buffer)
        memory, source, base, spilled = home
        start, stop, shape = access.start, access.stop, access.shape
        pattern = access.pattern
        const, terms = pattern.address.const - base, pattern.address.terms
        near: Place | None = None
        registers: tuple[tuple[int, int], ...] = ()
        if terms:
            registers = tuple(t for t in terms if REGISTER <= t[0] < LOOP)
        if registers:
            loops = tuple(t for t in terms if t[0] >= LOOP)
            near = Place(None, -1, -1, start, stop, shape, const, loops)
            terms = ()
            shape, const = self._reach(access)
            const -= base
        if memory is None:
            return Place(None, source, -1, start, stop, shape, const, terms)
        if spilled and pattern.partition_stride > 0 and not terms:
            pitch = pattern.partition_stride
            start, const = divmod(const, pitch)
            stop = start + pattern.partitions
            shape = run(pattern.elements * pattern.dtype.size)
        number = -1 if terms else memory.place(start, stop, const, shape)
        return Place(memory, -1, number, start, stop, shape, const, terms, near, registers)

    def _reach(self, access: Access) -> tuple[Shape, int]:
        """Return the bytes of an access for some values of its symbols, and their address.

        Rows far apart keep their gaps, which other instructions may write in any order.
        """
        shape, address = shape_over(access.pattern, self.listing.bounds)
        if prod(count for _, count in shape.dims) > _MOST_ROWS:
            return run(access.high - access.low), access.low
        return shape, address

    def _home(self, number: int) -> _Home:
        """Return the memory of a buffer (None if nothing ever writes it), else the variable, where
        addresses count from, and whether it has spilled values.
        """
        key, buffer = self.keys[number], self.listing.buffers[number]
        base = buffer.address if key >= 0 and self.listing.placed else 0  # in HBM
        if key not in self.written:
            name = buffer.name or f"buffer {number}"
            return None, self.names.signature(("source", name)), base, False
        memory = self.memories.get(key)
        if memory is None:
            memory = self.memories[key] = FlowMemory(self.names.painter)
        return memory, -1, base, buffer.role == "spill"

    def _see_through(self, step: Step, record: Instruction) -> None:
        """Determine whether an instruction only fills memory with values of a known source."""
        if len(step.writes) != 1 or step.writes[0].memory is None:
            return
        dst = record.dst[0]
        assert dst is not None
        if record.opcode == "memset":
            step.kind = FILL
            step.signature = self.names.signature(
                ("fill", exact(record.params["value"]), dst.dtype)
            )
        if record.opcode != "dma" or record.params.get("accumulate", 0) != AluOp.BYPASS:
            return
        src, target, source = record.src[0], step.writes[0], step.reads[0]
        assert src is not None
        if SPILL in step.node.op.attributes and source.memory is not None:
            step.kind = MOVE
        elif source.memory is None and src.space == Space.HBM and dst.space != Space.HBM:
            if self._is_load(dst, src, target):
                step.kind = LOAD

    def _is_load(self, dst: AccessPattern, src: AccessPattern, target: Place) -> bool:
        """Return whether a transfer copies rows, the same ones at both ends."""
        if target.shape.dims or dst.partitions != src.partitions:
            return False
        if dst.dtype.size * dst.elements != target.shape.width:
            return False
        size = src.dtype.size
        addresses = (src.partition_stride, src.address.const, *(c for _, c in src.address.terms))
        if any(n % size for n in addresses):
            return False
        return is_dense(src.free) or [n for _, n in src.free] == [n for _, n in dst.free]

    def _shifts(self, node: Node) -> dict[int, int]:
        shifts = shifts_of(node.op)
        if not shifts:
            return {}
        names = {LOOP + loop: self.numbers.get(loop, -1) for loop in node.inside}
        return {symbol: shifts[name] for symbol, name in names.items() if name in shifts}


def exact(number: int | float) -> int | str:
    """Return a parameter in a form that is equal exactly for equal bits."""
    return number.hex() if isinstance(number, float) else number

"""Number the values that the instructions of a program read, so that programs can be compared.

The instructions are visited in program order. The value that an instruction writes gets a number
that represents the instruction (opcode, parameters, shapes) and the numbers of the values that it
reads, byte by byte (flow_memory.py). Equal numbers therefore mean equal computations, in any
buffer, at any address and in any order. Copies of inputs, spilled values and constant fills are
looked through: loading a part of something again gives the same number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from xdsl.dialects import scf
from xdsl.ir import Operation

from neuronir.dialects.nc.counts import count_load, next_load
from neuronir.dialects.nc.footprint import is_dense
from neuronir.dialects.nc.instruction import ASSUMED_ITERATIONS
from neuronir.dialects.support.loops import LoopOp
from neuronir.passes.nc.flow_frames import Reach, Reachings
from neuronir.passes.nc.flow_memory import FlowMemory
from neuronir.passes.nc.flow_paint import UNWRITTEN, Region, Write, run
from neuronir.passes.nc.flow_steps import FILL, LOAD, FlowProgram
from neuronir.passes.nc.flow_values import COUNTS, Cut, Flow, Place, Step, Values
from neuronir.passes.nc.listing import LOOP, Node

_ALL = 1 << 62


def flow_of(
    program: FlowProgram,
    values: Values,
    cuts: Mapping[int, Cut] | None = None,
    *,
    known: int | None = None,
    trips: int = ASSUMED_ITERATIONS,
) -> Flow:
    """Return the flow of values through a program.

    `cuts` shorten loops, by their number. Numbers of instructions from `known` on are strange.
    Loops with a runtime count have `trips` iterations.
    """
    return _Run(program, values, cuts or {}, known, trips).run()


class _Run:
    def __init__(
        self,
        program: FlowProgram,
        values: Values,
        cuts: Mapping[int, Cut],
        known: int | None,
        trips: int,
    ) -> None:
        self.program = program
        self.values = values
        self.cuts = cuts
        self.known = _ALL if known is None else known
        self.trips = trips
        self.flow = Flow()
        self.time = 0
        self.registers: dict[int, int] = {}
        self.reachings = Reachings()
        self.env: dict[int, int] = {}
        # by symbol: the iteration, and how its loop is shortened
        self.shifted: dict[int, tuple[int, Cut]] = {}

    def run(self) -> Flow:
        """Visit the whole program."""
        program = self.program
        program.clear()
        self._block(program.steps)
        for buffer in program.listing.buffers:
            if buffer.role == "output" and buffer.key in program.memories:
                memory = program.memories[buffer.key]
                self.flow.outputs[buffer.name] = (*memory.final(), *self.reachings.all(memory))
        return self.flow

    def _rows(self, step: Step, address: int) -> tuple[tuple[int, int, int, int], ...]:
        """Return the rows that a load reads from `address` on.

        Each row has its value, its offset in the target, its bytes, and the offset of the first
        element of the source.
        """
        record = step.node.record
        assert record is not None
        dst, src = record.dst[0], record.src[0]
        assert dst is not None and src is not None
        pitch = src.partition_stride // src.dtype.size
        first = address // src.dtype.size - pitch * dst.start
        kinds = (step.reads[0].source, pitch, src.dtype, dst.dtype)
        width = step.writes[0].shape.width
        if is_dense(src.free):
            value = self.program.names.signature(("load", *kinds))
            return ((value, 0, width, -dst.dtype.size * first),)
        row = width // src.free[0][1]
        out = []
        dense = is_dense(src.free[1:])
        for k in range(src.free[0][1]):
            place = first + k * src.free[0][0]
            if dense:  # equal to a load of this row alone
                value = self.program.names.signature(("load", *kinds))
                out.append((value, k * row, row, k * row - dst.dtype.size * place))
                continue
            value = self.program.names.signature(("row", *kinds, src.free[1:], place))
            out.append((value, k * row, row, k * row))
        return tuple(out)

    def _block(self, steps: "Sequence[Step | tuple[Node, list[object]] | object]") -> None:
        for step in steps:
            if isinstance(step, Step):
                self._instruction(step)
            elif isinstance(step, tuple):
                self._loop(*step)

    def _loop(self, node: Node, body: "list[object]") -> None:
        symbol = LOOP + node.loop
        cut = self.cuts.get(self.program.numbers.get(node.loop, -1))
        trips = node.trip_count - (cut.left_out // cut.step if cut is not None else 0)
        if node.counted:
            trips = self.trips
            self._count(node)
        inner = range(node.loop, node.last_loop + 1)
        fresh = [memory for n in inner for memory in self.program.fresh.get(n, ())]
        for i in range(trips):
            for memory in fresh:
                memory.clear()
                self.reachings.of.pop(memory, None)
            self.env[symbol] = i
            if cut is not None and cut.left_out:
                self.shifted[symbol] = (i, cut)
            self._block(body)
            if isinstance(node.op, scf.WhileOp):
                self._register(next_load(node.op))
        self.shifted.pop(symbol, None)

    def _count(self, node: Node) -> None:
        """Record the value that a loop has as its trip count or as its first condition."""
        load = count_load(node.op) if isinstance(node.op, LoopOp) else None
        if load is not None:
            self._register(load)

    def _register(self, load: Operation) -> None:
        """Record a value that decides about the iterations of a loop."""
        value = self.registers.get(self.program.loaded[load], UNWRITTEN)
        self.flow.outputs[COUNTS] = (*self.flow.outputs.get(COUNTS, ()), (value,))

    def _address(self, place: Place, shift: Mapping[int, int]) -> int:
        address = place.const
        for symbol, c in place.terms:
            i = self.env.get(symbol, 0)
            cut = self.shifted.get(symbol)
            if cut is not None and i * cut[1].step + shift.get(symbol, 0) >= cut[1].first:
                i += cut[1].left_out // cut[1].step
            address += c * i
        return address

    def _instruction(self, step: Step) -> None:
        self.time += 1
        if step.kind and self._seen_through(step):
            return
        key = [step.signature]
        for place in step.reads:
            if place.memory is None:
                at = self._address(place, step.shift) if place.terms else place.const
                key += (place.source, at, 0)
                continue
            number = place.number
            if number < 0:
                number = self._number(place, step.shift)
            key += place.memory.read(number)
        if self.reachings.of:
            for place in step.reads:
                if place.memory is not None:
                    key += self.reachings.read(place.memory, self._reach(place, step.shift))
        if step.registers:  # sorted, because symbols are numbered in the order of the loads
            known = ((i, self.registers.get(s, UNWRITTEN), c) for i, s, c in step.registers)
            key += (n for term in sorted(known) for n in term)
        value = self._value(step, key)
        flow = self.flow
        flow.instances += 1
        if value >= self.known and flow.stranger is None:
            flow.stranger = step.node
        if step.result >= 0:
            self.registers[step.result] = value
        for role, place in enumerate(step.writes):
            assert place.memory is not None
            if place.near is not None:
                reach = self._reach(place, step.shift)
                assert reach.near is not None
                made = Write(self.time, 8 * value + role, place.start, reach.near.address)
                self.reachings.write(place.memory, reach, made)
                continue
            number, address = place.number, place.const
            if number < 0:
                number = self._number(place, step.shift)
                address = place.memory.regions[number].address
            made = Write(self.time, 8 * value + role, place.start, address)
            self._write(place.memory, number, made)

    def _write(self, memory: FlowMemory, number: int, write: Write) -> None:
        memory.write(number, write)
        if self.reachings.of:
            self.reachings.write(memory, Reach(memory.regions[number]), write)

    def _reach(self, place: Place, shift: Mapping[int, int]) -> Reach:
        assert place.memory is not None
        number = place.number if place.number >= 0 else self._number(place, shift)
        region = place.memory.regions[number]
        if place.near is None:
            return Reach(region)
        near = place.near
        address = self._address(near, shift)
        values = sorted((self.registers.get(s, UNWRITTEN), c) for s, c in place.registers)
        known = tuple(n for pair in values for n in pair)
        return Reach(region, known, Region(near.start, near.stop, address, near.shape))

    def _value(self, step: Step, key: list[int]) -> int:
        """Return the number of an instruction.

        If no program has computed the same, bytes that were unwritten in the other program are
        ignored: they can be anything.
        """
        known = self.values.instructions.get(tuple(key))
        if known is not None:
            return known
        gaps = self.values.gaps.setdefault(step.signature, {})
        if self.known == _ALL:
            for k in range(len(step.reads)):
                value, _, gap = key[1 + 3 * k : 4 + 3 * k]
                if value == UNWRITTEN or (value < UNWRITTEN and gap):
                    gaps.setdefault(k, {})[gap - 1] = None
            return self.values.value(tuple(key))
        choices = [[tuple(key[1 + 3 * k : 4 + 3 * k])] for k in range(len(step.reads))]
        for k, areas in gaps.items():
            place = step.reads[k]
            if place.memory is None:
                continue
            number = place.number if place.number >= 0 else self._number(place, step.shift)
            for area in areas:
                unwritten = (UNWRITTEN, 0, 0)
                choices[k].append(place.memory.read_but(number, area) if area >= 0 else unwritten)
        rest = key[1 + 3 * len(step.reads) :]
        for choice in product(*choices) if gaps else ():
            other = [key[0], *(n for read in choice for n in read), *rest]
            known = self.values.instructions.get(tuple(other))
            if known is not None:
                return known
        return self.values.value(tuple(key))

    def _number(self, place: Place, shift: Mapping[int, int]) -> int:
        address = self._address(place, shift)
        number = place.numbers.get(address)
        if number is None:
            assert place.memory is not None
            number = place.memory.place(place.start, place.stop, address, place.shape)
            place.numbers[address] = number
        return number

    def _seen_through(self, step: Step) -> bool:
        """Apply an instruction that only moves known values; return False if it must count as a
        computation.
        """
        target = step.writes[0]
        memory = target.memory
        assert memory is not None
        if step.kind == FILL:
            number = target.number if target.number >= 0 else self._number(target, step.shift)
            self._write(memory, number, Write(self.time, 8 * step.signature + 4, 0, None))
            return True
        if step.kind == LOAD:
            address = self._address(step.reads[0], step.shift)
            rows = step.rows.get(address)
            if rows is None:
                rows = step.rows[address] = self._rows(step, address)
            base = self._address(target, step.shift) + target.shape.low
            for value, low, width, byte in rows:
                begin = base + low
                number = memory.place(target.start, target.stop, begin, run(width))
                self._write(memory, number, Write(self.time, 8 * value + 5, 0, base + byte))
            return True
        return self._moved(step.reads[0], target, memory)

    def _moved(self, source: Place, target: Place, memory: FlowMemory) -> bool:
        """Move spilled data; return False if it is not a rectangle of bytes at both ends."""
        if source.memory is None or source.number < 0 or target.number < 0:
            return False
        if source.shape.dims or target.shape.dims or source.shape.width != target.shape.width:
            return False
        away = source.memory.regions[source.number]
        near = memory.regions[target.number]
        partitions, size = near.start - away.start, near.low - away.low
        moved: list[tuple[Region, Write]] = []
        for region, write in source.memory.seen(source.number):
            pieces = [region] if away.covers(region) else region.within(away)
            if pieces is None:
                return False
            byte = None if write.byte is None else write.byte + size
            value = Write(0, write.value, write.partition + partitions, byte)
            moved += ((piece.moved(partitions, size), value) for piece in pieces)
        reaching = self.reachings.of.get(source.memory)
        shifted = None if reaching is None else reaching.shifted(away, partitions, size)
        if reaching is not None and shifted is None:
            return False
        self._write(memory, target.number, Write(self.time, UNWRITTEN, 0, None))
        for there, write in moved:
            self.time += 1
            memory.write(memory.number(there), replace(write, time=self.time), moved=True)
        if shifted is not None and shifted.visible:
            self.reachings.of[memory] = shifted
        return True

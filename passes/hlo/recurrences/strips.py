"""Strip-mine a loop: the inner loop covers some iterations, through parts of the arrays."""

from dataclasses import dataclass, field

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.cloning import clone
from neuronir.passes.hlo.counted_loop import CountedLoop, Linear, Part
from neuronir.passes.hlo.recurrences.whiles import affine, begin_while, end_while, replace_while
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, ints, shape
from neuronir.passes.hlo.while_carry import GTE


@dataclass
class _Inner:
    """The carried values of the inner loop besides its counter, and how to read them."""

    init: list[SSAValue] = field(default_factory=list)
    at: dict[object, int] = field(default_factory=dict)

    def carry(self, key: object, value: SSAValue) -> None:
        """Carry a value under a key."""
        if key not in self.at:
            self.at[key] = len(self.init)
            self.init.append(value)


class Strips:
    """Rewrites a loop as a loop over strips of `width` iterations."""

    def __init__(self, loop: CountedLoop, width: int) -> None:
        self.loop, self.width = loop, width
        self.body = loop.parts.body
        self.reads = self._reads()

    def _reads(self) -> dict[Operation, Part]:
        found = {}
        for op in self.body.ops:
            if op.name == "hlo.dynamic_slice":
                part = self.loop.part(op)
                if part is not None and part.at is not None:
                    found[op] = part
        return found

    def possible(self) -> bool:
        """Return whether all arrays are accessed in adjacent slices and completely."""
        loop = self.loop
        for op, part in self.reads.items():
            index = self._index(op.operands[0])
            if index not in loop.kept or part.at is None or part.dim is None:
                return False
            if abs(part.at.factor) != ints(op, "slice_sizes")[part.dim]:
                return False
        slices = [op for op in self.body.ops if op.name == "hlo.dynamic_slice"]
        return loop.count % self.width == 0 and all(
            op in self.reads or self._index(op.operands[0]) is not None for op in slices
        )

    def _index(self, value: SSAValue) -> int | None:
        op = value.owner
        if isinstance(op, Operation) and op.name == GTE and op.operands[0] is self.body.args[0]:
            return integer(op, "index")
        return None

    def write(self) -> Operation:
        """Replace the old loop by the new ones and return the inner one."""
        loop, parts = self.loop, self.loop.parts
        build = Emitter(parts.op)
        names = [i for i in range(len(parts.init)) if i != loop.counter]
        outer, inside, found = begin_while(
            build, [build.scalar(0, i32), *(parts.init[i] for i in names)], loop.count // self.width
        )
        values = dict(zip(names, found[1:], strict=True))
        first = inside.binary("multiply", found[0], inside.scalar(self.width, i32))
        inner, states, arrays = self._inner(inside, values, first)
        after = dict(values)
        after.update(states)
        for i, array in arrays.items():
            part = loop.written[i]
            after[i] = self._put(inside, values[i], array, part, first)
        end_while(outer, inside, found[0], [after[i] for i in names])
        replace_while(loop, build, outer, {i: 1 + n for n, i in enumerate(names)})
        return inner

    def _inner(
        self, build: Emitter, values: dict[int, SSAValue], first: SSAValue
    ) -> tuple[Operation, dict[int, SSAValue], dict[int, SSAValue]]:
        """Build the loop over a strip that starts at iteration `first`.

        Returns the states after it, and the parts of the arrays that it has written.
        """
        loop, inner = self.loop, _Inner()
        inner.carry("first", first)
        for i in loop.states:
            inner.carry(("state", i), values[i])
        for i, part in loop.written.items():
            inner.carry(("written", i), self._new(build, values[i], part))
        for op, part in self.reads.items():
            key = self._key(op, part)
            if key not in inner.at:
                inner.carry(key, self._strip(build, values, op, part, first))
        for i in loop.kept:
            inner.carry(("kept", i), values[i])
        found, inside, state = begin_while(build, [build.scalar(0, i32), *inner.init], self.width)
        number, *carried = state
        copies = self._copies(inside, number, inner, carried)
        after = list(carried)
        for i in loop.states:
            after[inner.at["state", i]] = copies[loop.parts.next[i]]
        for i in loop.written:
            after[inner.at["written", i]] = copies[loop.parts.next[i]]
        end_while(found, inside, number, after)

        def result(key: object) -> SSAValue:
            return build.tuple_element(found.results[0], 1 + inner.at[key])

        states = {i: result(("state", i)) for i in loop.states}
        return found, states, {i: result(("written", i)) for i in loop.written}

    def _copies(
        self, inside: Emitter, number: SSAValue, inner: _Inner, carried: list[SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """Clone the ops of the body into the inner loop."""
        loop, copies = self.loop, {}
        for op in self.body.ops:
            if op.name in ("hlo.return", "hlo.tuple"):
                continue
            result = op.results[0]
            index = self._index(result)
            if index is not None:
                copies[result] = self._carried(inside, index, result, number, inner, carried)
            elif op in self.reads:
                part = self.reads[op]
                copies[result] = self._read(
                    inside, op, part, number, carried[inner.at[self._key(op, part)]]
                )
            elif result in (written := {loop.parts.next[i]: i for i in loop.written}):
                i = written[result]
                copies[result] = self._write(
                    inside,
                    copies[op.operands[1]],
                    loop.written[i],
                    number,
                    carried[inner.at["written", i]],
                )
            else:
                copies[result] = inside.insert(clone(op, copies)).results[0]
        return copies

    def _carried(
        self,
        inside: Emitter,
        index: int,
        value: SSAValue,
        number: SSAValue,
        inner: _Inner,
        carried: list[SSAValue],
    ) -> SSAValue:
        loop = self.loop
        if index == loop.counter:
            both = inside.binary("add", carried[inner.at["first"]], number)
            return affine(inside, both, loop.number, element(value))
        for kind in ("state", "kept", "written"):
            if (kind, index) in inner.at:
                return carried[inner.at[kind, index]]
        raise AssertionError(index)

    # parts of arrays

    def _key(self, op: Operation, part: Part) -> object:
        return "read", self._index(op.operands[0]), part.dim, part.at

    def _strip(
        self,
        build: Emitter,
        values: dict[int, SSAValue],
        op: Operation,
        part: Part,
        first: SSAValue,
    ) -> SSAValue:
        """Return the part of an array that the iterations of a strip read."""
        index = self._index(op.operands[0])
        assert index is not None and part.dim is not None
        array = values[index]
        sizes = list(shape(array))
        sizes[part.dim] = self._extent(part)
        starts = self._starts(build, array, part, first)
        return build.op("dynamic_slice", [array, *starts], slice_sizes=sizes)

    def _extent(self, part: Part) -> int:
        assert part.at is not None
        return abs(part.at.factor) * self.width

    def _starts(
        self, build: Emitter, array: SSAValue, part: Part, first: SSAValue
    ) -> list[SSAValue]:
        """Return the offset of a strip in an array."""
        assert part.at is not None and part.dim is not None
        at, zero = part.at, build.scalar(0, i32)
        low = at.first if at.factor > 0 else at.first + at.factor * (self.width - 1)
        starts = [zero] * len(shape(array))
        starts[part.dim] = affine(build, first, Linear(at.factor, low), i32)
        return starts

    def _inside(self, inside: Emitter, part: Part, number: SSAValue) -> list[SSAValue]:
        """Return the offset of an iteration's slice in its strip."""
        assert part.at is not None and part.dim is not None
        at = part.at
        low = 0 if at.factor > 0 else -at.factor * (self.width - 1)
        places = [inside.scalar(n, i32) for n in part.starts]
        places[part.dim] = affine(inside, number, Linear(at.factor, low), i32)
        return places

    def _read(
        self, inside: Emitter, op: Operation, part: Part, number: SSAValue, strip: SSAValue
    ) -> SSAValue:
        places = self._inside(inside, part, number)
        return inside.op("dynamic_slice", [strip, *places], slice_sizes=ints(op, "slice_sizes"))

    def _new(self, build: Emitter, array: SSAValue, part: Part) -> SSAValue:
        """Return a strip of an array to write."""
        assert part.dim is not None
        sizes = list(shape(array))
        sizes[part.dim] = self._extent(part)
        return build.broadcast(build.scalar(0, element(array)), sizes, ())

    def _write(
        self, inside: Emitter, row: SSAValue, part: Part, number: SSAValue, strip: SSAValue
    ) -> SSAValue:
        return inside.op("dynamic_update_slice", [strip, row, *self._inside(inside, part, number)])

    def _put(
        self, build: Emitter, array: SSAValue, strip: SSAValue, part: Part, first: SSAValue
    ) -> SSAValue:
        starts = self._starts(build, array, part, first)
        return build.op("dynamic_update_slice", [array, strip, *starts])

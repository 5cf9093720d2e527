"""Compute the values of a loop body for all iterations at once, if they are independent.

The values of all iterations form a stack: one array whose first dimension is the iteration, in the
order in which the iterations traverse the arrays that they read (backwards if they do).
"""

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.cloning import clone, clone_region
from neuronir.dialects.tile.rules import ELEMENTWISE
from neuronir.passes.hlo.counted_loop import CountedLoop, Linear, Part
from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import element, integer, ints, shape, tensor
from neuronir.passes.hlo.while_carry import GTE, carried_index

Rule = Callable[["Rounds", Operation], SSAValue | None]
_RULES: dict[str, Rule] = {}

SOURCES = ("hlo.constant", "hlo.iota")
"""Ops without operands."""


class Rounds:
    """Builds, with `build`, the values of all iterations before a loop.

    Stacks begin with the last iteration if `backwards`; by default, if the iterations traverse all
    arrays from the end.
    """

    def __init__(self, loop: CountedLoop, build: Builder, backwards: bool | None = None) -> None:
        self.loop, self.build = loop, build
        self.count = loop.count
        self.same: dict[SSAValue, SSAValue] = {}  # loop-invariant values
        self.each: dict[SSAValue, SSAValue] = {}  # stacks
        self.failed: set[SSAValue] = set()
        self.backwards = self._backwards() if backwards is None else backwards

    def _backwards(self) -> bool:
        """Return whether the iterations traverse their arrays from the end."""
        parts = [
            part
            for op in self.loop.parts.body.ops
            if op.name in ("hlo.dynamic_slice", "hlo.dynamic_update_slice")
            and (part := self.loop.part(op)) is not None
            and part.at is not None
        ]
        return bool(parts) and all(p.at is not None and p.at.factor < 0 for p in parts)

    @staticmethod
    def takes(op: Operation) -> bool:
        """Return whether there is a rule for an op; ops without operands need none."""
        return op.name in SOURCES or (len(op.results) == 1 and op.name in _RULES)

    def known(self, value: SSAValue) -> bool:
        """Return whether a value of the body can be built for all iterations at once, and build
        it.
        """
        if value in self.same or value in self.each:
            return True
        if value in self.failed:
            return False
        if not self._make(value):
            self.failed.add(value)
            return False
        return True

    def stack(self, value: SSAValue) -> SSAValue:
        """Return the stack of a known value."""
        if value not in self.each:
            one = self.same[value]
            dims = shape(one)
            wide = self.build.broadcast(one, (self.count, *dims), range(1, len(dims) + 1))
            return wide
        return self.each[value]

    def _make(self, value: SSAValue) -> bool:
        op, body = value.owner, self.loop.parts.body
        if not isinstance(op, Operation) or op.parent is not body:
            return False
        if op.name == GTE:
            return self._carried(op)
        if op.name in SOURCES:
            self.same[value] = self.build.insert(clone(op)).results[0]
            return True
        if len(op.results) != 1 or op.name not in _RULES:
            return False
        if op.name == "hlo.dynamic_slice":
            found = self._sliced(op)
            if found is None:
                return False
            self.each[value] = found
            return True
        if not all(self.known(v) for v in op.operands):
            return False
        if all(v in self.same for v in op.operands):
            self.same[value] = self.build.insert(clone(op, self.same)).results[0]
            return True
        stacked = _RULES[op.name](self, op)
        if stacked is None:
            return False
        self.each[value] = stacked
        return True

    def _carried(self, op: Operation) -> bool:
        loop, value = self.loop, op.results[0]
        index = carried_index(value, loop.parts.body)
        if index in loop.kept:
            self.same[value] = loop.parts.init[index]
            return True
        if index == loop.counter:
            self.each[value] = self._numbers(loop.number, value)
            return True
        return False

    def _numbers(self, number: Linear, value: SSAValue) -> SSAValue:
        """Return the iteration numbers."""
        build, kind = self.build, element(value)
        if self.backwards:
            number = Linear(-number.factor, number.first + number.factor * (self.count - 1))
        found = build.iota((self.count,), 0, kind)
        if number.factor != 1:
            found = build.binary_number("multiply", found, number.factor)
        if number.first:
            found = build.binary_number("add", found, number.first)
        return found

    def _sliced(self, op: Operation) -> SSAValue | None:
        """Return the slices of an array that an op reads, for all iterations."""
        part = self.loop.part(op)
        if part is None or part.at is None or not self.known(op.operands[0]):
            return None
        if op.operands[0] not in self.same:
            return None
        return self.stacked(self.same[op.operands[0]], part, ints(op, "slice_sizes"))

    def stacked(self, array: SSAValue, part: Part, sizes: Sequence[int]) -> SSAValue:
        """Return the slices of an array as a stack."""
        build, at, d = self.build, part.at, part.dim
        assert at is not None and d is not None
        low = min(at.ends(self.count))
        starts, limits = list(part.starts), [a + n for a, n in zip(part.starts, sizes, strict=True)]
        step = abs(at.factor)
        starts[d], limits[d] = low, low + (self.count - 1) * step + sizes[d]
        whole = build.slice(array, starts, limits)
        if step != sizes[d]:
            return self._apart(whole, d, step, sizes[d], at)
        dims = [*sizes[:d], self.count, *sizes[d:]]
        found = build.reshape(whole, dims)
        return self._in_front(found, d, at)

    def _apart(self, whole: SSAValue, d: int, step: int, width: int, at: Linear) -> SSAValue:
        """Return the slices as a stack if there are gaps between them."""
        build, dims = self.build, list(shape(whole))
        low, high = [0] * len(dims), [0] * len(dims)
        high[d] = self.count * step - dims[d]
        zero = build.scalar(0, element(whole))
        full = build.pad(whole, zero, low, high)
        split = build.reshape(full, [*dims[:d], self.count, step, *dims[d + 1 :]])
        limits = list(shape(split))
        limits[d + 1] = width
        return self._in_front(build.slice(split, [0] * len(limits), limits), d, at)

    def _in_front(self, value: SSAValue, d: int, at: Linear) -> SSAValue:
        rank = len(shape(value))
        found = self.build.transpose(value, [d, *(k for k in range(rank) if k != d)])
        return found if (at.factor < 0) == self.backwards else self.build.reverse(found, [0])


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of some ops; their operands are known, and at least one is a stack."""

    def register(function: Rule) -> Rule:
        for name in names:
            _RULES[name] = function
        return function

    return register


@rule("hlo.dynamic_slice")
def _dynamic_slice(rounds: Rounds, op: Operation) -> SSAValue | None:
    return None  # data-dependent: not known before


@rule(*ELEMENTWISE, "hlo.bitcast_convert", "hlo.clamp")
def _elementwise(rounds: Rounds, op: Operation) -> SSAValue | None:
    result = op.results[0]
    dims = shape(result)
    if op.name == "hlo.bitcast_convert" and shape(op.operands[0]) != dims:
        return None
    operands = []
    for v in op.operands:
        stack = rounds.stack(v)
        if shape(v) != dims:  # one predicate for all
            stack = rounds.build.broadcast(stack, (rounds.count, *dims), [0])
        operands.append(stack)
    type_ = tensor((rounds.count, *dims), element(result))
    return rounds.build.like(op, operands, type_)


@rule("hlo.reshape", "hlo.bitcast")
def _reshape(rounds: Rounds, op: Operation) -> SSAValue | None:
    dims = (rounds.count, *shape(op.results[0]))
    return rounds.build.reshape(rounds.stack(op.operands[0]), dims)


@rule("hlo.broadcast")
def _broadcast(rounds: Rounds, op: Operation) -> SSAValue | None:
    dims = (rounds.count, *shape(op.results[0]))
    place = [0, *(d + 1 for d in ints(op, "dimensions"))]
    return rounds.build.broadcast(rounds.stack(op.operands[0]), dims, place)


@rule("hlo.transpose")
def _transpose(rounds: Rounds, op: Operation) -> SSAValue | None:
    order = [0, *(d + 1 for d in ints(op, "permutation"))]
    return rounds.build.transpose(rounds.stack(op.operands[0]), order)


@rule("hlo.slice")
def _slice(rounds: Rounds, op: Operation) -> SSAValue | None:
    return rounds.build.slice(
        rounds.stack(op.operands[0]),
        [0, *ints(op, "start_indices")],
        [rounds.count, *ints(op, "limit_indices")],
        [1, *ints(op, "strides")],
    )


@rule("hlo.pad")
def _pad(rounds: Rounds, op: Operation) -> SSAValue | None:
    if op.operands[1] not in rounds.same:
        return None
    edges = [
        [0, *ints(op, name)]
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    ]
    return rounds.build.pad(rounds.stack(op.operands[0]), rounds.same[op.operands[1]], *edges)


@rule("hlo.concatenate")
def _concatenate(rounds: Rounds, op: Operation) -> SSAValue | None:
    parts = [rounds.stack(v) for v in op.operands]
    return rounds.build.concatenate(parts, integer(op, "dimension") + 1)


@rule("hlo.reduce")
def _reduce(rounds: Rounds, op: Operation) -> SSAValue | None:
    if len(op.operands) != 2 or op.operands[1] not in rounds.same:
        return None
    dims = i64_array([d + 1 for d in ints(op, "dimensions")])
    result = op.results[0]
    return rounds.build.emit(
        "reduce",
        [rounds.stack(op.operands[0]), rounds.same[op.operands[1]]],
        tensor((rounds.count, *shape(result)), element(result)),
        {**op.properties, "dimensions": dims},
        [clone_region(region) for region in op.regions],
    )


@rule("hlo.dot")
def _dot(rounds: Rounds, op: Operation) -> SSAValue | None:
    """If one side is loop-invariant, build a dot with more rows, else a batched dot."""
    build, result = rounds.build, op.results[0]
    moves = [v in rounds.each for v in op.operands]
    names = ("lhs", "rhs")
    batch = [ints(op, f"{n}_batch_dims") for n in names]
    along = [ints(op, f"{n}_contracting_dims") for n in names]
    operands = [
        rounds.stack(v) if m else rounds.same[v] for v, m in zip(op.operands, moves, strict=True)
    ]
    if batch[0] and not all(moves):
        operands, moves = [rounds.stack(v) for v in op.operands], [True, True]
    shifted = [[d + m for d in dims] for dims, m in zip(along, moves, strict=True)]
    batches = [[d + m for d in dims] for dims, m in zip(batch, moves, strict=True)]
    if all(moves):
        batches = [[0, *dims] for dims in batches]
    dims = list(shape(result))
    front = 0  # the position of the iteration dimension in the result
    if moves == [False, True]:
        front = len(shape(op.operands[0])) - len(along[0])
    out = [*dims[:front], rounds.count, *dims[front:]]
    properties = {
        **op.properties,
        **{f"{n}_batch_dims": i64_array(batches[i]) for i, n in enumerate(names) if batches[i]},
        **{f"{n}_contracting_dims": i64_array(shifted[i]) for i, n in enumerate(names)},
    }
    product = build.emit("dot", operands, tensor(tuple(out), element(result)), properties)
    return build.transpose(product, [front, *(d for d in range(len(out)) if d != front)])

"""Analyse while loops whose trip count or condition follows from values that the program
computes.
"""

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.counted_loop import CountedLoop, Linear
from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import constant, element, producer, shape, string
from neuronir.passes.hlo.trip_count import MIRRORED, step_of
from neuronir.passes.hlo.while_carry import WhileParts, carried_index, live_elements, while_parts

BITS = 32
"""Bits of a counter: those of a register of a sequencer."""
_UP, _DOWN = ("LT", "LE", "NE"), ("GT", "GE", "NE")


@dataclass(frozen=True)
class RuntimeLoop:
    """A loop `while (i <direction> bound) i += step` with a step of 1 or -1.

    `start` and `bound` are values outside the loop, or constants. The counter of `loop` is one of
    its states, and its `count` is unknown (0).
    """

    loop: CountedLoop
    start: SSAValue
    bound: SSAValue | int
    direction: str
    step: int

    def trip_count(self, build: Builder) -> SSAValue:
        """Build the trip count in front of the loop: an s32 scalar; negative ones count as 0.

        The distance of two values is exact up to 2**31 - 1 iterations, whatever the values are.
        """
        bound = self.bound
        if isinstance(bound, int):
            bound = build.scalar(bound, element(self.start))
        first, last = (self.start, bound) if self.step > 0 else (bound, self.start)
        start = constant(first)
        if self.direction in ("LT", "GT") and start is not None and not start.any():
            return last if element(last) == i32 else build.bitcast(last, i32)
        distance = build.binary("subtract", last, first)
        if element(distance) != i32:
            distance = build.bitcast(distance, i32)
        if self.direction in ("LE", "GE"):
            distance = build.binary("add", distance, build.scalar(1, i32))
        if self.direction == "NE":
            return distance
        enters = build.compare(self.start, bound, self.direction)
        return build.select(enters, distance, build.scalar(0, i32))


def runtime_loop(op: Operation) -> RuntimeLoop | None:
    """Analyse a hlo.while whose condition compares a counter with a value that the loop keeps.

    Returns None for other loops. A loop whose counter would pass the end of its type never ends in
    HLO; it has one iteration for each value of the type here.
    """
    parts = while_parts(op)
    compare = None if parts is None else producer(parts.cond_root, "compare")
    if parts is None or compare is None or "trip_count" in op.properties:
        return None
    direction = string(compare, "direction")
    lhs, rhs = compare.operands
    mirrored = MIRRORED.get(direction, direction)
    for left, right, seen in ((lhs, rhs, direction), (rhs, lhs, mirrored)):
        counter = carried_index(left, parts.cond)
        bound = _outside(right, parts)
        if counter is None or bound is None:
            continue
        kind, step = element(parts.init[counter]), step_of(parts, counter)
        if step not in (1, -1) or seen not in (_UP if step > 0 else _DOWN):
            continue
        if not isinstance(kind, IntegerType) or kind.width.data != BITS or shape(left):
            continue
        kept = frozenset(i for i, v in enumerate(parts.next) if carried_index(v, parts.body) == i)
        live = live_elements(parts, condition=False)
        states = tuple(i for i in range(len(parts.next)) if i not in kept and i in live)
        loop = CountedLoop(parts, 0, -1, Linear(step, 0), kept, {}, states)
        return RuntimeLoop(loop, parts.init[counter], bound, seen, step)
    return None


def condition_loop(op: Operation) -> CountedLoop | None:
    """Analyse a hlo.while as a loop whose condition is computed before each iteration.

    All values that an iteration changes are states, and the count is unknown (0). Returns None if
    the trip count is known, or if the loop does not carry a tuple (`carry_tuple`).
    """
    parts = while_parts(op)
    if parts is None or "trip_count" in op.properties:
        return None
    kept = frozenset(i for i, v in enumerate(parts.next) if carried_index(v, parts.body) == i)
    live = live_elements(parts)
    states = tuple(i for i in range(len(parts.next)) if i not in kept and i in live)
    return CountedLoop(parts, 0, -1, Linear(0, 0), kept, {}, states)


def _outside(value: SSAValue, parts: WhileParts) -> SSAValue | int | None:
    """Return the value outside a loop that its condition sees as `value`, or None."""
    kept = carried_index(value, parts.cond)
    if kept is not None:
        same = carried_index(parts.next[kept], parts.body) == kept
        return parts.init[kept] if same else None
    number = constant(value)
    return None if number is None else int(number.reshape(-1)[0])

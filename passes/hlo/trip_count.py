"""Find the trip count of a while loop that starts from constants."""

from dataclasses import dataclass

import ml_dtypes
from xdsl.ir import BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.passes.hlo.support.evaluate import known_value
from neuronir.passes.hlo.support.values import constant, producer, string
from neuronir.passes.hlo.while_carry import (
    WhileParts,
    carried_index,
    needed_elements,
    while_parts,
)

MIRRORED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}
_INTERPRETED = 65_536
_SLICE_ELEMENTS = 64


@dataclass(frozen=True)
class TripCount:
    """The static trip count of a loop.

    `counter` is the carried element that counts from `start` by `step`, if the loop has that form.
    """

    count: int
    counter: int | None = None
    start: int = 0
    step: int = 0


def trip_count(op: Operation) -> TripCount | None:
    """Return the trip count of a hlo.while, or None if it depends on data or exceeds the limit."""
    parts = while_parts(op)
    if parts is None:
        return None
    return _by_induction(parts) or _by_interpretation(parts)


def _by_induction(parts: WhileParts) -> TripCount | None:
    """Match while (i <direction> bound) i += step, from a constant start."""
    compare = producer(parts.cond_root, "compare")
    if compare is None:
        return None
    direction = string(compare, "direction")
    counter = carried_index(compare.operands[0], parts.cond)
    bound = known_value(compare.operands[1], {})
    if counter is None:
        counter = carried_index(compare.operands[1], parts.cond)
        bound = known_value(compare.operands[0], {})
        direction = MIRRORED.get(direction, direction)
    if counter is None or bound is None or bound.dtype.kind not in "iu":
        return None
    start = known_value(parts.init[counter], {})
    step = step_of(parts, counter)
    if start is None or not step:
        return None
    count = _iterations(int(start), int(bound), step, direction)
    limits = ml_dtypes.iinfo(bound.dtype)
    # The counter must not wrap before the loop ends.
    if count is None or not limits.min <= int(start) + count * step <= limits.max:
        return None
    return TripCount(count, counter, int(start), step)


def step_of(parts: WhileParts, counter: int) -> int | None:
    """Return what each iteration adds to a carried element, or None if that is not constant."""
    following = parts.next[counter]
    for opcode, sign in (("add", 1), ("subtract", -1)):
        op = producer(following, opcode)
        if op is None:
            continue
        for value, other in (tuple(op.operands), tuple(reversed(op.operands))):
            number = constant(other)
            if carried_index(value, parts.body) == counter and number is not None:
                if opcode == "add" or value is op.operands[0]:
                    return sign * int(number)
    return None


def _iterations(start: int, bound: int, step: int, direction: str) -> int | None:
    if direction == "NE":
        distance = bound - start
        return distance // step if distance % step == 0 and distance // step >= 0 else None
    if direction in ("GT", "GE"):
        start, bound, step = -start, -bound, -step
        direction = "LT" if direction == "GT" else "LE"
    if direction not in ("LT", "LE"):
        return None
    if direction == "LE":
        bound += 1
    if start >= bound:
        return 0
    return -((start - bound) // step) if step > 0 else None


def _by_interpretation(parts: WhileParts) -> TripCount | None:
    """Interpret the part that determines the condition, if it starts from small constants."""
    elements = needed_elements(parts.cond_root, parts.cond, set())
    visited: set[Operation] = set()
    pending = list(elements)
    while pending:
        more = needed_elements(parts.next[pending.pop()], parts.body, visited) - elements
        elements |= more
        pending.extend(more)
    state: dict[int, Array] = {}
    for i in elements:
        value = known_value(parts.init[i], {}, _SLICE_ELEMENTS)
        if value is None:
            return None
        state[i] = value
    for count in range(_INTERPRETED):
        answer = _at(parts.cond_root, parts.cond.args[0], state)
        if answer is None:
            return None
        if not bool(answer):
            return TripCount(count)
        following: dict[int, Array] = {}
        memo = _memo(parts.body.args[0], state)
        for i in elements:
            value = known_value(parts.next[i], memo, _SLICE_ELEMENTS)
            if value is None:
                return None
            following[i] = value
        state = following
    return None


def _memo(argument: BlockArgument, state: dict[int, Array]) -> dict[SSAValue, Array | None]:
    """Evaluate the reads of the carried tuple in this iteration."""
    memo: dict[SSAValue, Array | None] = {}
    for use in argument.uses:
        index = carried_index(use.operation.results[0], argument.block)
        if index is not None:
            memo[use.operation.results[0]] = state.get(index)
    return memo


def _at(root: SSAValue, argument: BlockArgument, state: dict[int, Array]) -> Array | None:
    return known_value(root, _memo(argument, state), _SLICE_ELEMENTS)

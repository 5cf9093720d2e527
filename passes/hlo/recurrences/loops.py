"""Replace loops of recurrences by stacks with the values of all iterations."""

from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size
from neuronir.passes.hlo.counted_loop import CountedLoop, counted_loop
from neuronir.passes.hlo.recurrences.composite import composite
from neuronir.passes.hlo.recurrences.rounds import Rounds
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, is_single, shape, tensor
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.hlo.while_carry import GTE, carried_index

LARGEST = 1 << 30
"""Limit of bytes of a stack."""
LEAST = 8
"""Minimum trip count for which a recurrence is worth an instruction."""


@dataclass(frozen=True)
class Step:
    """`h = a * h + b` in each iteration, `a` or `b` None if absent; or `h = h op b`."""

    kind: str
    a: SSAValue | None
    b: SSAValue | None


def dissolve(op: Operation) -> bool:
    """Replace a loop whose states are all recurrences; return False for other loops."""
    loop = counted_loop(op)
    if loop is None or not loop.states or loop.count < LEAST:
        return False
    found = {i: recurrence(loop, i) for i in loop.states}
    if any(r is None for r in found.values()) or _too_large(loop):
        return False
    rounds = Rounds(loop, Emitter(op))
    waiting = {i: r for i, r in found.items() if r is not None}
    while waiting:
        ready = [i for i, r in waiting.items() if _known(rounds, r)]
        if not ready:
            return False
        for i in ready:
            _solve(rounds, i, waiting.pop(i))
            rounds.failed.clear()
    if not all(rounds.known(_row(loop, i)) for i in loop.written):
        return False
    _replace(rounds)
    return True


def _too_large(loop: CountedLoop) -> bool:
    """Return whether the values of all iterations exceed the byte limit."""
    most = 0
    for op in loop.parts.body.ops:
        for r in op.results:
            if is_single(r) and op.name not in (GTE, "hlo.dynamic_update_slice"):
                most = max(most, prod(shape(r)) * byte_size(element(r)))
    return most * loop.count > LARGEST


def _known(rounds: Rounds, found: Step) -> bool:
    return all(v is None or rounds.known(v) for v in (found.a, found.b))


def _row(loop: CountedLoop, index: int) -> SSAValue:
    """Return the value that an iteration writes to an array."""
    update = loop.parts.next[index].owner
    assert isinstance(update, Operation)
    return update.operands[1]


_EXTREMES = {"hlo.maximum": "maximum", "hlo.minimum": "minimum"}


def recurrence(loop: CountedLoop, index: int) -> Step | None:
    """Return how an iteration updates a state, in fp32; None if it is not a recurrence."""
    value, body = loop.parts.next[index], loop.parts.body
    if not is_single(value):
        return None

    def old(v: SSAValue) -> bool:
        return carried_index(v, body) == index

    def other(op: Operation) -> SSAValue | None:
        sides = [v for v in op.operands if not old(v)]
        return sides[0] if len(op.operands) == 2 and len(sides) == 1 else None

    op = value.owner
    if not isinstance(op, Operation) or op.parent is not body:
        return None
    rest = other(op) if op.name in (*_EXTREMES, "hlo.add", "hlo.multiply") else None
    if rest is not None:
        if op.name in _EXTREMES:
            return Step(_EXTREMES[op.name], None, rest)
        return Step("linear", *((None, rest) if op.name == "hlo.add" else (rest, None)))
    if op.name != "hlo.add":
        return None
    for product, b in (op.operands, tuple(reversed(op.operands))):
        inner = product.owner
        if isinstance(inner, Operation) and inner.parent is body and inner.name == "hlo.multiply":
            a = other(inner)
            if a is not None:
                return Step("linear", a, b)
    return None


def _solve(rounds: Rounds, index: int, found: Step) -> None:
    """Build the values of a state in all iterations: after each iteration, and before it."""
    build, loop = rounds.build, rounds.loop
    begin, last = loop.parts.init[index], loop.parts.next[index]
    dims = (rounds.count, *shape(begin))
    kind = tensor(dims, element(begin))
    b = build.fill(-0.0, kind) if found.b is None else rounds.stack(found.b)
    arrays = [b]
    if found.kind == "linear":
        arrays = [build.fill(1.0, kind) if found.a is None else rounds.stack(found.a), b]
    states = composite(build, found.kind, arrays, begin, backwards=rounds.backwards)
    rounds.each[last] = states
    limits = list(dims)
    first = build.reshape(begin, (1, *dims[1:]))
    if rounds.backwards:
        kept = build.slice(states, [1, *[0] * (len(dims) - 1)], limits)
        before = build.concatenate([kept, first], 0)
    else:
        limits[0] -= 1
        kept = build.slice(states, [0] * len(dims), limits)
        before = build.concatenate([first, kept], 0)
    for use in loop.parts.body.args[0].uses:
        if integer(use.operation, "index") == index:
            rounds.each[use.operation.results[0]] = before


def _replace(rounds: Rounds) -> None:
    """Replace the results of the loop by the values of its iterations, and erase it."""
    loop, build = rounds.loop, rounds.build
    parts = loop.parts
    for use in list(parts.op.results[0].uses):
        get = use.operation
        i = integer(get, "index")
        if i in loop.kept:
            value = parts.init[i]
        elif i == loop.counter:
            number = loop.number.first + loop.number.factor * loop.count
            value = build.scalar(number, element(get.results[0]))
        elif i in loop.written:
            value = _unstacked(rounds, i)
        else:
            value = _last(rounds, rounds.each[parts.next[i]])
        get.results[0].replace_all_uses_with(value)
        get.detach()
        get.erase()
    start = parts.op.operands[0].owner
    parts.op.detach()
    parts.op.erase()
    if isinstance(start, Operation):
        erase_dead(start)


def _last(rounds: Rounds, stack: SSAValue) -> SSAValue:
    """Return the value of the last iteration."""
    dims = shape(stack)
    place = 0 if rounds.backwards else dims[0] - 1
    row = rounds.build.slice(stack, [place, *[0] * (len(dims) - 1)], [place + 1, *dims[1:]])
    return rounds.build.reshape(row, dims[1:])


def _unstacked(rounds: Rounds, index: int) -> SSAValue:
    """Return the array that the iterations write slice by slice."""
    loop, build = rounds.loop, rounds.build
    part = loop.written[index]
    stack = rounds.stack(_row(loop, index))
    d, at = part.dim, part.at
    assert d is not None and at is not None
    if (at.factor < 0) != rounds.backwards:
        stack = build.reverse(stack, [0])
    order = [*range(1, d + 1), 0, *range(d + 1, len(shape(stack)))]
    return build.reshape(build.transpose(stack, order), shape(loop.parts.init[index]))

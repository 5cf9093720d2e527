"""Simplify integer arithmetic of generators and hashes: rotations, and sums with scalars."""

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_integer
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, producer, shape, splat
from neuronir.passes.hlo.support.walk import Rule


def rotation(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite x ^ (v << n | v >> w - n) as ((v << n) ^ x) ^ (v >> w - n).

    The shifted parts have no common bits. An engine with two operators an instruction then needs
    one instruction less.
    """
    for i in (0, 1):
        either = producer(op.operands[i], "or")
        if either is None or not either.results[0].has_one_use():
            continue
        if not is_integer(element(either.results[0])):
            return None
        if _is_rotation(either):
            first = e.binary("xor", either.operands[0], op.operands[1 - i])
            return e.binary("xor", either.operands[1], first)
    return None


def _is_rotation(either: Operation) -> bool:
    """Return whether both sides are the same value, shifted by amounts that sum up to its width."""
    parts = {}
    for value in either.operands:
        for opcode in ("shift_left", "shift_right_logical"):
            shifted = producer(value, opcode)
            if shifted is not None and value.has_one_use():
                parts[opcode] = shifted
    if len(parts) != 2:
        return False
    left, right = parts.values()
    if left.operands[0] is not right.operands[0]:
        return False
    amounts = [splat(part.operands[1]) for part in (left, right)]
    known = [int(amount) for amount in amounts if amount is not None]
    width = 8 * byte_size(element(left.operands[0]))
    return len(known) == 2 and min(known) > 0 and sum(known) == width


def sum_of_scalars(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite (x + a) + b of integers, where a and b are broadcast scalars, as x + (a + b)."""
    if not is_integer(element(op.operands[0])) or not shape(op.results[0]):
        return None
    for i in (0, 1):
        inner, second = producer(op.operands[i], "add"), _scalar(op.operands[1 - i])
        if inner is None or second is None or not inner.results[0].has_one_use():
            continue
        for j in (0, 1):
            first = _scalar(inner.operands[j])
            if first is not None and _scalar(inner.operands[1 - j]) is None:
                total = e.broadcast(e.binary("add", first, second), shape(op.results[0]), ())
                return e.binary("add", inner.operands[1 - j], total)
    return None


def _scalar(value: SSAValue) -> SSAValue | None:
    """Return the scalar that fills an array, if a broadcast says so."""
    made = producer(value, "broadcast")
    return made.operands[0] if made is not None and not shape(made.operands[0]) else None


RULES: dict[str, tuple[Rule, ...]] = {"hlo.xor": (rotation,), "hlo.add": (sum_of_scalars,)}

"""Decompose divisions of u32 and random bits, for machines that compute integers in fp32.

With n = 2h + bit and h = qd + r in s32, n = 2qd + (2r + bit), where 2r + bit < 2d: the quotient is
2q, or 2q + 1 if d fits once more. A divisor from 2^31 on fits at most once, and so does 0 here.
"""

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.decompositions import random_bits
from neuronir.passes.hlo.decompositions.elementary import U32, signed_quotient
from neuronir.passes.hlo.integers import digits
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element
from neuronir.passes.hlo.support.walk import Rule


def _parts(op: Operation, e: Emitter) -> tuple[SSAValue, SSAValue] | None:
    """Return (quotient, remainder) of u32 values; the remainder of x / 0 is x."""
    n, d = op.operands
    if element(n) != U32:
        return None
    signed = e.bitcast(d, i32)
    small = e.compare_number(signed, 0, "GT")  # from 1 to 2^31 - 1
    half = e.bitcast(e.binary_number("shift_right_logical", n, 1), i32)
    twice, rest = (
        e.binary_number("shift_left", e.bitcast(v, U32), 1)
        for v in signed_quotient(half, e.select(small, signed, e.fill_like(1, signed)), e)
    )
    rest = e.select(small, e.binary("or", rest, e.binary_number("and", n, 1)), n)
    once = e.compare(rest, d, "GE")
    quotient = e.binary("or", e.select(small, twice, e.fill_like(0, n)), e.convert(once, U32))
    return quotient, e.select(once, e.binary("subtract", rest, d), rest)


def divide(op: Operation, e: Emitter) -> SSAValue | None:
    """Divide u32; all bits of x / 0 are ones."""
    parts = _parts(op, e)
    if parts is None:
        return None
    quotient, _ = parts
    by_zero = e.compare_number(e.bitcast(op.operands[1], i32), 0, "EQ")
    return e.select(by_zero, e.fill_like(2**32 - 1, quotient), quotient)


def remainder(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the remainder of u32; x % 0 is x."""
    parts = _parts(op, e)
    return None if parts is None else parts[1]


RULES: dict[str, Rule] = {
    "divide": divide,
    "remainder": remainder,
    **random_bits.rules(digits.full_product),
}

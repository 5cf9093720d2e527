"""Running reductions that no engine computes directly: of integers, and by a region."""

from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.decompositions.pieces import part, running
from neuronir.passes.hlo.integers.words import Words
from neuronir.passes.hlo.ranges.fp32 import WHOLE
from neuronir.passes.hlo.rules.reduction import applied
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, shape

FEWEST = 32
"""Minimum elements of a running sum in digits: fewer elements take few steps."""
LEAST_DIGIT = 8
"""Minimum bits of a digit: four digits for a value."""


def running_in_digits(x: SSAValue, axis: int, backwards: bool, e: Emitter) -> SSAValue | None:
    """Compute a running sum of 32-bit integers as running sums of their digits in f32.

    A digit is so small that the sum of all elements of a row is exact in f32. The sums of digits
    are shifted and added modulo 2^32:

        %r = running sum of %x s32[n, 1000]   ->   %d = running sum of f32(%x >> 14 k & 0x3fff)
                                                   %r = sum over k of s32(%d) << 14 k

    The dimension becomes the last one, along which an engine computes recurrences: a sum in pieces
    along another one would read and write every digit in each of its steps. Flags that were
    converted to integers are a single digit. Returns None for other element types, for short
    dimensions and for dimensions whose digits would be too small.
    """
    kind, n = element(x), shape(x)[axis]
    bits = (WHOLE // n).bit_length() - 1
    if is_float(kind) or byte_size(kind) != byte_size(i32) or n < FEWEST or bits < LEAST_DIGIT:
        return None
    words, total, last = Words(e), None, len(shape(x)) - 1
    order = list(range(last + 1))
    order[axis], order[last] = last, axis
    width = 1 if _from_flags(x) else 8 * byte_size(kind)
    for start in range(0, width, bits):
        digit = x if width == 1 else words.digit(x, start, min(bits, width - start))
        rows = e.transpose(e.convert(digit, f32), order)
        sums = running(rows, last, "add", 0, backwards, e)
        sums = e.convert(e.transpose(sums, order), kind)
        sums = e.binary_number("shift_left", sums, start) if start else sums
        total = sums if total is None else e.binary("add", total, sums)
    return total


def _from_flags(x: SSAValue) -> bool:
    owner = x.owner
    return (
        isinstance(owner, Operation)
        and owner.name == "hlo.convert"
        and element(owner.operands[0]) == i1
    )


def running_by_region(op: Operation, axis: int, backwards: bool, e: Emitter) -> SSAValue | None:
    """Compute a running reduction by a region of several ops in log2(n) steps.

    Step k combines elements 2^k apart. The initial value is combined last, because it may be any
    value. Returns None if the region is not elementwise.
    """
    x, block = op.operands[0], op.regions[0].blocks.first
    n, step = shape(x)[axis], 1
    while step < n:
        first, second = part(x, axis, 0, n - step, e), part(x, axis, step, n, e)
        joined = applied(block, [first, second], e)
        if joined is None:
            return None
        kept = part(x, axis, n - step, n, e) if backwards else part(x, axis, 0, step, e)
        x = e.concatenate([joined, kept] if backwards else [kept, joined], axis)
        step *= 2
    return applied(block, [e.broadcast(op.operands[1], shape(x), ()), x], e)

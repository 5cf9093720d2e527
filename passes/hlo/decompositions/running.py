"""Running reductions that no engine computes directly: of integers, and by a region."""

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.dialects.builtin import f32, i1, i32
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.machine import PARTITIONS
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.decompositions.pieces import running, split
from neuronir.passes.hlo.integers.words import Words
from neuronir.passes.hlo.ranges.fp32 import WHOLE
from neuronir.passes.hlo.rules.reduction import applied
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.shifts import part
from neuronir.passes.hlo.support.values import element, shape

FEWEST = 32
"""Minimum elements of a running sum in digits: fewer elements take few steps."""
LONGEST_DOUBLED = 64
"""Limit of elements of a running reduction by a region that is computed by doubling."""
LENGTHS = (32, *range(31, 15, -1), *range(33, 49))
"""Lengths of pieces, the first of which is used if none divides the dimension."""
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
    """Compute a running reduction by a region of several ops.

    The initial value is combined last, because it may be any value. Returns None if the region is
    not elementwise.
    """
    block = op.regions[0].blocks.first
    assert block is not None
    total = _Running(block, axis, backwards, e).of(op.operands[0])
    if total is None:
        return None
    return applied(block, [e.broadcast(op.operands[1], shape(op.operands[0]), ()), total], e)


@dataclass(frozen=True)
class _Running:
    """Running reductions along a dimension by a block, without an initial value."""

    block: Block
    axis: int
    backwards: bool
    e: Emitter

    def of(self, x: SSAValue) -> SSAValue | None:
        """Return the running reduction of a value, in pieces if it is long.

        Few rows leave partitions to the elements of a row, which pieces would divide.
        """
        n = shape(x)[self.axis]
        few = prod(shape(x)) // n < PARTITIONS // 2
        return self._by_doubling(x) if few or n <= LONGEST_DOUBLED else self._in_pieces(x)

    def _by_doubling(self, x: SSAValue) -> SSAValue | None:
        """Combine elements 2^k apart in step k of log2(n)."""
        n, step = shape(x)[self.axis], 1
        while step < n:
            joined = self._joined(self._part(x, 0, n - step), self._part(x, step, n))
            if joined is None:
                return None
            kept = self._part(x, n - step, n) if self.backwards else self._part(x, 0, step)
            x = self._beside(joined, kept)
            step *= 2
        return x

    def _in_pieces(self, x: SSAValue) -> SSAValue | None:
        """Combine elements of pieces one after another, for all pieces at once, and then with the
        running reduction of the pieces before.

        This takes two combinations of each element, instead of log2(n). Elements that are left
        over are reduced by themselves, at the end.
        """
        n, e, axis = shape(x)[self.axis], self.e, self.axis
        length = next((k for k in LENGTHS if n % k == 0), LENGTHS[0])
        pieces = n // length
        main = pieces * length
        low, high = (n - main, n) if self.backwards else (0, main)
        folded = split(self._part(x, low, high), axis, pieces, length, e)
        rows = [part(folded, axis + 1, i, i + 1, e) for i in range(length)]
        order = range(length)[::-1] if self.backwards else range(length)
        for i, j in pairwise(order):
            joined = self._joined(*((rows[j], rows[i]) if self.backwards else (rows[i], rows[j])))
            if joined is None:
                return None
            rows[j] = joined
        dims = shape(x)
        totals = self.of(e.reshape(rows[order[-1]], (*dims[:axis], pieces, *dims[axis + 1 :])))
        if totals is None:
            return None
        y = e.concatenate(rows, axis + 1)
        ahead, behind = (1, pieces) if self.backwards else (0, pieces - 1)
        first, rest = (pieces - 1, 0) if self.backwards else (0, 1)
        kept = [d for d in range(len(dims) + 1) if d != axis + 1]
        others = part(y, axis, rest, rest + pieces - 1, e)
        wide = e.broadcast(self._part(totals, ahead, behind), shape(others), kept)
        joined = self._joined(*((others, wide) if self.backwards else (wide, others)))
        if joined is None:
            return None
        y = self._beside(joined, part(y, axis, first, first + 1, e))
        y = e.reshape(y, shape(self._part(x, low, high)))
        if main == n:
            return y
        left = self.of(self._part(x, 0, low) if self.backwards else self._part(x, high, n))
        if left is None:
            return None
        edge = 0 if self.backwards else pieces - 1
        total = e.broadcast(
            e.reshape(self._part(totals, edge, edge + 1), (*dims[:axis], *dims[axis + 1 :])),
            shape(left),
            [d for d in range(len(dims)) if d != axis],
        )
        joined = self._joined(*((left, total) if self.backwards else (total, left)))
        return None if joined is None else self._beside(joined, y)

    def _joined(self, first: SSAValue, second: SSAValue) -> SSAValue | None:
        return applied(self.block, [first, second], self.e)

    def _part(self, x: SSAValue, first: int, end: int) -> SSAValue:
        return part(x, self.axis, first, end, self.e)

    def _beside(self, joined: SSAValue, kept: SSAValue) -> SSAValue:
        """Concatenate results with those at the begin of the dimension (backwards: at its end)."""
        both = [joined, kept] if self.backwards else [kept, joined]
        return self.e.concatenate(both, self.axis)

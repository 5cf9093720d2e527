"""Compute which outputs a tap reaches, and the accesses of its matmul."""

from collections.abc import Sequence
from dataclasses import replace

from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.convolution.numbers import Numbers
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, row_major
from neuronir.passes.lowering.layouts.values import Value

Ranges = list[tuple[int, int, int]]
"""(output dimension, first, size) of a block, in its memory order"""


class Taps:
    """The geometry of a convolution: its operands as lowered, and the result's `shape`.

    `split` is set if the image is in two halves.
    """

    n: Numbers
    image: Value
    weights: Value
    shape: tuple[int, ...]
    split: Form | None

    def range_of(self, i: int, tap: int) -> tuple[int, int]:
        """Return the outputs [first, end) along spatial dimension i whose tap is inside the
        input.
        """
        n = self.n
        taps = self.weights.shape[n.k_spatial[i]]
        size = self.image.shape[n.spatial[i]]
        return n.range(i, tap, taps, size, self.shape[n.o_spatial[i]])

    def band_of(self, number: int) -> int:
        """Return the half of the image that the output element `number` reads."""
        if self.split is None:
            return 0
        d = self.n.o_spatial[0]
        return number // row_major(self.shape)[d] % self.shape[d] // (self.shape[d] // 2)

    def block_ranges(self, number: int, parts: Sequence[Atom]) -> Ranges:
        """Return (output dimension, first, size) of a block, in its memory order."""
        order = row_major(self.shape)
        out: Ranges = []
        dims = [d for d in (self.n.o_batch, *self.n.o_spatial)]
        seen: set[int] = set()
        for a in parts:
            for d in dims:
                low, high = order[d], order[d] * self.shape[d]
                if self.shape[d] > 1 and low <= a.stride and a.end <= high:
                    out.append((d, number // order[d] % self.shape[d], a.size))
                    seen.add(d)
        for d in dims:
            if d not in seen:
                first = number // order[d] % self.shape[d]
                out.insert(0, (d, first, 1))
        return out

    def inside(self, tap: tuple[int, ...], ranges: Ranges) -> Ranges | None:
        """Return the part of a block for which a tap is inside the input, or None."""
        out: Ranges = []
        for d, first, size in ranges:
            if d in self.n.o_spatial:
                i = self.n.o_spatial.index(d)
                low, high = self.range_of(i, tap[i])
                begin, end = max(first, low), min(first + size, high)
                if end <= begin:
                    return None
                out.append((d, begin, end - begin))
            else:
                out.append((d, first, size))
        return out

    def views(
        self,
        target: View,
        ranges: Ranges,
        part: Ranges,
        tap: tuple[int, ...],
        x: Form,
        x_order: Sequence[int],
    ) -> tuple[View, list[tuple[int, int]], int]:
        """Return (destination, dims of the moving operand, its first element) of a tap's matmul."""
        n = self.n
        stride = 1
        dst: list[tuple[int, int]] = []
        src: list[tuple[int, int]] = []
        offset = 0
        base = 0
        for (d, first, size), (_, begin, count) in zip(
            reversed(ranges), reversed(part), strict=True
        ):
            offset += (begin - first) * stride
            if d in n.o_spatial:
                i = n.o_spatial.index(d)
                taps = self.weights.shape[n.k_spatial[i]]
                t = taps - 1 - tap[i] if n.reversal[i] else tap[i]
                e = n.spatial[i]
                base += (begin * n.strides[i] + t * n.rhs_dilation[i] - n.low[i]) * x_order[e]
                step = n.strides[i]
            else:
                e = n.batch
                base += begin * x_order[e]
                step = 1
            if count > 1:
                extent = self.image.shape[e]
                if self.split is not None and e == n.spatial[0]:
                    extent //= 2
                unit = x.stride(atom(extent, x_order[e]))
                if unit is None:
                    raise NeuronError("NIR_LOW003", "the image of a convolution is cut up")
                move = unit * step
                joins = dst and src[0][0] * src[0][1] == move and dst[0][0] * dst[0][1] == stride
                if joins:
                    dst[0] = (dst[0][0], dst[0][1] * count)
                    src[0] = (src[0][0], src[0][1] * count)
                else:
                    dst.insert(0, (stride, count))
                    src.insert(0, (move, count))
            stride *= size
        shaped = tuple(dst) or ((1, 1),)
        return replace(target, free=shaped, offset=target.offset + offset), src or [(1, 1)], base

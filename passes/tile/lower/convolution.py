"""Lower hlo.convolution: a matmul for each tap and feature tile, accumulated in PSUM."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import cast

from xdsl.ir import Operation

from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.convolution.numbers import numbers_of_op
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, parts_of, row_major, split_at
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.tile.layouts.maps import pieces_of
from neuronir.passes.tile.lower.columns import blocks_beside, together
from neuronir.passes.tile.lower.dot import hand_on
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.values import Piece


@register_lowering("hlo.convolution")
def lower_convolution(state: Lower, op: Operation) -> None:
    """Create a convolution without padding as a product, which is computed when it is read."""
    hand_on(state, op, Convolution(state, op))


class Convolution:
    """A convolution in progress."""

    def __init__(self, state: Lower, op: Operation) -> None:
        self.state = state
        self.source = state.emitter.source
        self.n = numbers_of_op(cast(ConvolutionOp, op))
        self.shape = shape_of(op.results[0])
        self.strides = row_major(self.shape)
        self.form = state.place(op.results[0]).form(op.results[0], prod(self.shape))
        self.image, self.kernel = (state.held(v) for v in op.operands)
        self.image_shape, self.kernel_shape = (shape_of(v) for v in op.operands)
        self.image_steps = _steps(self.image, self.image_shape)
        self.kernel_steps = _steps(self.kernel, self.kernel_shape)
        pieces = pieces_of(self.form.partition, self.shape)
        self.features_on_rows = not pieces or pieces[0][2] == self.n.o_feature
        self.bank = state.machine.psum_bank_bytes // 4

    def pieces(self, others: Sequence[Form] = ()) -> Iterator[Piece]:
        """Compute the result one PSUM bank at a time."""
        state = self.state
        here = state.emitter.source
        edges = self._edges()
        rows = [b for a, _ in self.form.partition for b in split_at(a, edges) or (a,)]
        count = max(1, prod(a.size for a in rows))
        blocks, outer = blocks_beside(self._free, self._moves, others, state.machine)
        for first, inner, beside in blocks:
            width = prod(a.size for a in inner)
            group: list[Atom] = []
            rest = outer
            if not beside:
                group, rest = together(outer, width, self.bank)
            for number in numbers_of([*rest, *beside]):
                psum = state.psum(count, prod(a.size for a in group) * width, of=self.source)
                state.emitter.source = self.source
                for i, extra in enumerate(numbers_of(group)):
                    target = replace(psum, free=((1, width),), offset=i * width)
                    self._matmuls(target, first + number + extra, rows, inner)
                state.emitter.source = here
                yield Piece(psum, first + number, (*group, *inner))

    def _edges(self) -> set[int]:
        """Return where dimensions of the result start and end."""
        return {c for s, n in zip(self.strides, self.shape, strict=True) for c in (s, s * n)}

    def _free(self, beside: Sequence[Form]) -> list[Atom]:
        """Return the free result digits, split at dimensions and at the digits of the copies
        `beside`.
        """
        edges = self._edges() | {c for f in beside for a in f.atoms() for c in (a.stride, a.end)}
        return [b for a, _ in self.form.free for b in split_at(a, edges) or (a,)]

    def _moves(self, a: Atom) -> bool:
        """Return whether a digit is one of columns."""
        return (self._dim(a) == self.n.o_feature) != self.features_on_rows

    def _dim(self, a: Atom) -> int:
        return next(
            d
            for d, (s, n) in enumerate(zip(self.strides, self.shape, strict=True))
            if n > 1 and s <= a.stride < s * n
        )

    def _matmuls(
        self, target: View, number: int, rows: Sequence[Atom], inner: Sequence[Atom]
    ) -> None:
        image_at, kernel_at = self._begin(number)
        on_rows, moving = (
            [self._access(a) for a in rows],
            [self._access(a) for a in inner],
        )
        depth = self.image.partitions if self.image.partition else 1
        first = True
        for place in self._places():
            image = View(
                self.image.buffer,
                self.image.start,
                depth,
                tuple(moving if self.features_on_rows else on_rows) or ((1, 1),),
                image_at + place[0],
                self.image.indices,
                0,
                self.image.dtype,
            )
            kernel = View(
                self.kernel.buffer,
                self.kernel.start,
                depth,
                tuple(on_rows if self.features_on_rows else moving) or ((1, 1),),
                kernel_at + place[1],
                self.kernel.indices,
                0,
                self.kernel.dtype,
            )
            pair = (kernel, image) if self.features_on_rows else (image, kernel)
            self.state.emitter.matmul(target, *pair, not first)
            first = False

    def _access(self, a: Atom) -> tuple[int, int]:
        """Return (stride, size) of a result digit in the operand that has it."""
        d = self._dim(a)
        unit = a.stride // self.strides[d]
        if d == self.n.o_feature:
            return self.kernel_steps[self.n.k_out] * unit, a.size
        return self._step(d) * unit, a.size

    def _step(self, d: int) -> int:
        """Return the image buffer stride of a result position along dimension d."""
        if d == self.n.o_batch:
            return self.image_steps[self.n.batch]
        i = self.n.o_spatial.index(d)
        return self.image_steps[self.n.spatial[i]] * self.n.strides[i]

    def _begin(self, number: int) -> tuple[int, int]:
        """Return the first elements in the image and kernel buffers for a result position."""
        n = self.n
        digit = [number // s % m for s, m in zip(self.strides, self.shape, strict=True)]
        image = self.image.offset
        image += sum(digit[d] * self._step(d) for d in (n.o_batch, *n.o_spatial))
        group = digit[n.o_feature] * n.groups // self.shape[n.o_feature]
        image += self._feature(
            self.image, self.image_shape, n.feature, group * self.kernel_shape[n.k_in]
        )
        return image, self.kernel.offset + digit[n.o_feature] * self.kernel_steps[n.k_out]

    def _feature(self, form: Form, shape: Sequence[int], d: int, feature: int) -> int:
        """Return how many elements of its partition lie before a feature."""
        return form.locate(feature * row_major(shape)[d])[1] - form.offset

    def _places(self) -> list[tuple[int, int]]:
        """Return the elements of the image and kernel buffers for each tap and feature tile."""
        n = self.n
        taps = []
        for i, (d, k) in enumerate(zip(n.spatial, n.k_spatial, strict=True)):
            size = self.kernel_shape[k]
            image, kernel = self.image_steps[d] * n.rhs_dilation[i], self.kernel_steps[k]
            turned = n.reversal[i]
            taps.append(
                [(t * image, (size - 1 - t if turned else t) * kernel) for t in range(size)]
            )
        image_unit = row_major(self.image_shape)[n.feature]
        kernel_unit = row_major(self.kernel_shape)[n.k_in]
        size = self.kernel_shape[n.k_in]
        left = [(0, 0)]
        if size > 1:
            cuts = {c for a in self.kernel.atoms() for c in (a.stride, a.end)}
            for a in parts_of(atom(size, kernel_unit), cuts):
                if self.kernel.step(a):
                    continue
                mine = self.kernel.stride(a)
                its = self.image.stride(atom(a.size, a.stride // kernel_unit * image_unit))
                if mine is None or its is None:
                    raise NeuronError(
                        "NIR_TIL008", "two operands have different layouts of features"
                    )
                left = [(x + j * its, y + j * mine) for x, y in left for j in range(a.size)]
        return [
            (sum(t[0] for t in tap) + x, sum(t[1] for t in tap) + y)
            for x, y in left
            for tap in product(*taps)
        ]


def _steps(form: Form, shape: Sequence[int]) -> list[int]:
    """Return the stride of a buffer along each dimension; 0 for dimensions on partitions."""
    found: list[int] = []
    for n, s in zip(shape, row_major(shape), strict=True):
        if n == 1:
            found.append(0)
            continue
        whole = form.stride(atom(n, s))
        if whole is None:
            if any(a.stride < s * n and s < a.end for a, _ in form.partition):
                found.append(0)  # a dimension with some digits on partitions
                continue
            raise NeuronError("NIR_TIL008", "a dimension of a convolution is not contiguous")
        found.append(whole)
    return found

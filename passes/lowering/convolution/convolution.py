"""Lower convolution to matmuls that accumulate over filter taps and input features in PSUM.

Features are on partitions. A tap is a shifted, strided view of the input, so nothing is unfolded in
memory. Padding costs nothing: a tap that is outside for some outputs becomes a matmul over the
others. With few features, taps join them on partitions (planes.py, rows.py).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product as combinations
from typing import cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.lowering.convolution.halves import halves, on_both, split_image
from neuronir.passes.lowering.convolution.numbers import Operands, numbers_of_op
from neuronir.passes.lowering.convolution.padding import padded
from neuronir.passes.lowering.convolution.planes import packed_taps
from neuronir.passes.lowering.convolution.rows import joined_taps
from neuronir.passes.lowering.convolution.taps import Taps
from neuronir.passes.lowering.layouts.cover import remaining
from neuronir.passes.lowering.layouts.demand import inner_tile
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    dim_atoms,
    divisor,
    join,
    meet,
    merge,
    row_major,
    span,
    split_at,
    tile,
    tile_width,
)
from neuronir.passes.lowering.layouts.values import Partition, Value, slice_value
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.lowering.products.epilogue import Epilogue, find_epilogue
from neuronir.passes.lowering.products.evict import Evict
from neuronir.passes.lowering.products.operand_types import check_operands
from neuronir.passes.lowering.products.operands import WEIGHT_PIECE_BYTES
from neuronir.passes.lowering.products.walks import column_blocks, run_of
from neuronir.passes.lowering.state import Lowering


def lower_convolution(state: Lowering, op: Operation) -> None:
    """Lower a convolution and the ops that its eviction can compute."""
    assert isinstance(op, ConvolutionOp)
    if int(cast(IntegerAttr, op.batch_group_count).value.data) != 1:
        raise NeuronError(
            "NCC_EVRF001",
            f"{source_name(op)}: a convolution by batch groups is not lowered as it is",
            help="hlo-decompose turns them into feature groups",
        )
    check_operands(state, op, "convolution")
    Convolution(state, op).lower()


class Convolution(Taps):
    """A convolution in progress."""

    def __init__(self, state: Lowering, op: ConvolutionOp) -> None:
        self.state = state
        self.op = op
        self.n = numbers_of_op(op)
        self.image = state.value(op.operands[0])
        self.weights = state.value(op.operands[1])
        self.shape = state.shape(op.results[0])
        self.split: Form | None = None
        self.limit = state.machine.partitions

    def lower(self) -> None:
        """Choose the layout of the input and emit piece by piece."""
        state = self.state
        self._dilate()
        outputs = [self.shape[d] for d in self.n.o_spatial]
        operands = Operands(self.image, self.weights, self.n)
        packed = packed_taps(state, operands, outputs) or joined_taps(state, operands, outputs)
        if packed is not None:
            self.image, self.weights, self.n = packed.image, packed.weights, packed.numbers
        else:
            self._pad_where_no_tap_covers()
        epilogue = find_epilogue(state, self.op.results[0])
        o_tile = self._features(self.shape, self.n.o_feature)
        strides = row_major(self.shape)
        halved = None
        if packed is None:
            operands = Operands(self.image, self.weights, self.n)
            halved = halves(state, operands, self.shape, epilogue)
            self.split = split_image(state, self.image, self.op)
        if halved is not None:
            operands, o_tile = halved.operands, halved.partition
            self.image, self.weights, self.n = operands.image, operands.weights, operands.numbers
        if self.split is not None:
            x = self.split
        else:
            partition = self._features(self.image.shape, self.n.feature)
            x = self._whole(state.converter.ensure(self.image, partition, span(partition)))
        dims = [self.n.o_batch, *self.n.o_spatial]
        if self.split is None:
            dims = self._memory_order(x, dims)
        atoms = {d: atom(self.shape[d], strides[d]) for d in dims if self.shape[d] > 1}
        if halved is not None:
            atoms[self.n.o_spatial[0]] = halved.rows
        columns = [a for a in atoms.values() if a.size > 1]
        out = self._allocate(o_tile, columns, epilogue.dtype, reusable(epilogue))
        narrow = None
        if epilogue.narrowed is not None:
            narrow = self._allocate(o_tile, columns, state.dtype(epilogue.narrowed))
        evict = Evict(state, epilogue, out, columns, narrow)
        blocks = self._blocks(columns)
        width = 1
        for a, _ in o_tile:
            width *= a.size
        for piece, first in self._weight_pieces(width):
            k_tile = self._features(piece.shape, self.n.k_in, 1)
            kept = piece
            if self.split is not None:
                half = self.image.shape[self.n.feature]
                kept, k_tile = on_both(state, piece, k_tile, half)
            w = state.converter.ensure(kept, k_tile, span(k_tile))
            if None in self._tiles(w, piece, width).values():
                w = state.converter.in_order(kept, w)
            self._matmuls(x, w, piece, blocks, evict, first, width)
        evict.flush()
        if epilogue.residual is not None:  # the overwritten value is gone
            before = epilogue.residual[1]
            before.forms = [f for f in before.forms if f.buffer is not out.buffer]
        state.done.update(epilogue.ops)
        final = state.shape(epilogue.result)
        support = merge(dim_atoms(final, range(len(final))))
        state.set(epilogue.result, Value(final, epilogue.dtype, support, [out]))
        if narrow is not None and epilogue.narrowed is not None:
            dtype = state.dtype(epilogue.narrowed)
            state.set(epilogue.narrowed, Value(final, dtype, support, [narrow]))
            state.done.add(cast(Operation, epilogue.narrowed.owner))

    # the input

    def _features(self, shape: Sequence[int], d: int, groups: int | None = None) -> Partition:
        """Return the layout of a feature dimension: a tile on partitions that crosses no group."""
        groups = self.n.groups if groups is None else groups
        if self.n.groups == 1 or shape[d] == 1:
            return inner_tile(dim_atoms(shape, [d]), self.limit)[0]
        width = group_tile(shape[d] // groups, self.limit)
        if width == 1:
            return ()
        if width == shape[d]:
            return dense(dim_atoms(shape, [d]))
        return ((tile(shape[d], row_major(shape)[d], width)[1], 1),)

    def _dilate(self) -> None:
        """Dilate the input in memory; the window then has no dilation."""
        if all(d == 1 for d in self.n.lhs_dilation):
            return
        rank = len(self.image.shape)
        low, high, interior = [0] * rank, [0] * rank, [0] * rank
        for i, d in enumerate(self.n.spatial):
            low[d], high[d] = self.n.low[i], self.n.high[i]
            interior[d] = self.n.lhs_dilation[i] - 1
        self._padded(low, high, interior)

    def _padded(self, low: list[int], high: list[int], interior: list[int]) -> None:
        partition = self._features(self.image.shape, self.n.feature)
        self.image = padded(self.state, self.image, low, high, interior, 0.0, partition)
        zeros = (0,) * len(self.n.spatial)
        ones = (1,) * len(self.n.spatial)
        self.n = replace(self.n, low=zeros, high=zeros, lhs_dilation=ones)

    def _pad_where_no_tap_covers(self) -> None:
        """Pad in memory only if some output has no tap inside the input in common with the others.

        Otherwise no first matmul could start its accumulation.
        """
        n = self.n
        rank = len(self.image.shape)
        low, high = [0] * rank, [0] * rank
        needed = False
        for i, d in enumerate(n.spatial):
            taps = range(self.weights.shape[n.k_spatial[i]])
            size = self.shape[n.o_spatial[i]]
            if not any(self.range_of(i, t) == (0, size) for t in taps):
                low[d], high[d] = n.low[i], n.high[i]
                needed = True
        if needed:
            partition = self._features(self.image.shape, n.feature)
            self.image = padded(self.state, self.image, low, high, [0] * rank, 0.0, partition)
            self.n = replace(
                n,
                low=tuple(
                    0 if low[d] or high[d] else p for d, p in zip(n.spatial, n.low, strict=True)
                ),
                high=tuple(
                    0 if low[d] or high[d] else p for d, p in zip(n.spatial, n.high, strict=True)
                ),
            )

    # the output

    def _memory_order(self, x: Form, dims: list[int]) -> list[int]:
        """Return output dimensions in the order in which the input stores theirs, outermost
        first.
        """
        n = self.n
        mine = {n.o_batch: n.batch, **dict(zip(n.o_spatial, n.spatial, strict=True))}
        order = row_major(self.image.shape)

        def distance(d: int) -> int:
            e = mine[d]
            if self.image.shape[e] == 1:
                return 0
            row = atom(self.image.shape[e], order[e])
            whole = x.stride(row)
            if whole is None:  # in pieces: elements that are repeated, each as its own digit
                return max((step for a, step in x.free if meet(a, row)), default=0)
            return whole

        return sorted(dims, key=lambda d: -distance(d))

    def _allocate(
        self,
        o_tile: Partition,
        columns: list[Atom],
        dtype: DType,
        reused: Sequence[Form] = (),
    ) -> Form:
        """Return room for the result: one of `reused` with the same layout, else a new buffer."""
        whole = merge(dim_atoms(self.shape, range(len(self.shape))))
        free = remaining(whole, [a for a, _ in o_tile])
        assert free is not None
        cuts = {c for x in columns for c in (x.stride, x.end)}
        outer = [
            b
            for a in free
            for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))
            if not any(x.stride < b.end and b.stride < x.end for x in columns)
        ]
        size = 1
        for a in [*outer, *columns]:
            size *= a.size
        order = dense([*outer, *columns])
        for form in reused:
            same = join(form.partition) == join(o_tile) and join(form.free) == join(order)
            if same and not (form.hbm or form.start or form.offset or form.indices or form.dtype):
                return replace(form, partition=o_tile, free=order)
        return Form(self.state.emitter.sbuf(span(o_tile), size, dtype), o_tile, order)

    def _weight_pieces(self, width: int) -> list[tuple[Value, int]]:
        """Split a large filter by output features; yield the pieces with their first feature."""
        weights, d = self.weights, self.n.k_out
        total = weights.size * weights.dtype.size // self.limit
        on_chip = any(not f.hbm for f in self.state.converter.source_forms(weights))
        if total <= WEIGHT_PIECE_BYTES or on_chip:
            return [(weights, 0)]
        count = -(-total // WEIGHT_PIECE_BYTES)
        step = max(width, -(-weights.shape[d] // count) // width * width)
        out: list[tuple[Value, int]] = []
        for low in range(0, weights.shape[d], step):
            starts = [0] * len(weights.shape)
            limits = list(weights.shape)
            starts[d], limits[d] = low, min(low + step, weights.shape[d])
            cut = partial(slice_value, weights, starts, limits, [1] * len(starts))
            out.append((self.state.products.derived(weights, (*starts, *limits), cut), low))
        return out

    # the matmuls

    def _tiles(
        self, w: Form, weights: Value, width: int
    ) -> dict[int, list[tuple[int, int]] | None]:
        """Return the dims of each tile of output features in a copy of the filter, by its first
        feature.

        Returns None for a tile without dims.
        """
        d = self.n.k_out
        size = weights.shape[d]
        whole = atom(size, row_major(weights.shape)[d])
        return {low: run_of(w, whole, low, min(width, size - low)) for low in range(0, size, width)}

    def _whole(self, x: Form) -> Form:
        """Return a copy of the image in which each windowed dimension is whole."""
        order, n = row_major(self.image.shape), self.n
        dims = [d for d in (n.batch, *n.spatial) if self.image.shape[d] > 1]
        if any(x.stride(atom(self.image.shape[d], order[d])) is None for d in dims):
            return self.state.converter.in_order(self.image, x)
        return x

    def _blocks(self, columns: list[Atom]) -> list[tuple[int, list[Atom]]]:
        """Return the columns of each matmul:

        (first element, atoms); none crosses a half of the image.
        """
        bank = self.state.machine.psum_bank_bytes // 4
        if self.split is None:
            return column_blocks(columns, bank)
        d = self.n.o_spatial[0]
        row, rows = row_major(self.shape)[d], self.shape[d] // 2
        image = [a for a in columns if a.end <= 2 * rows * row]  # of one image: a run of the result
        short = [atom(rows, row) if a == atom(2 * rows, row) else a for a in image]
        blocks = column_blocks([a for a in short if a.size > 1], bank)
        starts = numbers_of([a for a in columns if a not in image])
        return [
            (start + half * rows * row + c, part)
            for start in starts
            for half in (0, 1)
            for c, part in blocks
        ]

    def _matmuls(
        self,
        x: Form,
        w: Form,
        weights: Value,
        blocks: list[tuple[int, list[Atom]]],
        evict: Evict,
        first: int,
        width: int,
    ) -> None:
        n = self.n
        w_order = row_major(weights.shape)
        o_order = row_major(self.shape)
        features, out_features = weights.shape[n.k_in], weights.shape[n.k_out]
        k_width = tile_width(features, self.limit)
        if n.groups > 1:
            k_width = group_tile(features, self.limit)
        outs = self.shape[n.o_feature] // n.groups  # of one group
        taps = list(combinations(*(range(weights.shape[d]) for d in n.k_spatial)))
        x_order = row_major(self.image.shape)
        tiles = self._tiles(w, weights, width)
        for low in range(0, out_features, width):
            rows = min(width, out_features - low)
            columns = tiles[low]
            assert columns is not None
            for c, parts in blocks:
                number = c + (first + low) * o_order[n.o_feature]
                ranges = self.block_ranges(c, parts)
                size = 1
                for a in parts:
                    size *= a.size
                target = evict.reserve(number, rows, size)
                jobs = [(tap, self.inside(tap, ranges)) for tap in taps]
                inside = [(tap, r) for tap, r in jobs if r is not None]
                inside.sort(key=lambda job: job[1] != ranges)
                if not inside or inside[0][1] != ranges:
                    raise NeuronError(
                        "NIR_LOW003", f"{source_name(self.op)}: no tap covers a block of outputs"
                    )
                started = False
                for tap, r in inside:
                    dst, dims, base = self.views(target, ranges, r, tap, x, x_order)
                    k_tap = sum(t * w_order[d] for t, d in zip(tap, n.k_spatial, strict=True))
                    for k in range(0, features, k_width):
                        count = min(k_width, features - k)
                        stationary = w.at(
                            self.band_of(c) * weights.size
                            + k_tap
                            + k * w_order[n.k_in]
                            + low * w_order[n.k_out],
                            count,
                            columns,
                        )
                        feature = (first + low) // outs * features + k
                        moving = x.at(base + feature * x_order[n.feature], count, dims)
                        self.state.emitter.matmul(dst, stationary, moving, started)
                        started = True
                evict.filled(number, rows, parts)


def group_tile(size: int, limit: int) -> int:
    """Return a tile of a group's features that divides them."""
    width = tile_width(size, limit)
    return width if size % width == 0 else divisor(size, limit)


def reusable(epilogue: Epilogue) -> list[Form]:
    """Return the copies of a residual that the result may overwrite."""
    if epilogue.residual is None or not epilogue.last_use:
        return []
    value = epilogue.residual[1]
    return list(value.forms) if value.dtype is epilogue.dtype else []

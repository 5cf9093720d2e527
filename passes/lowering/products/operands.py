"""Split operands of dots that are not on the chip: matmuls start when a piece has arrived."""

from neuronir.passes.lowering.layouts.layout import Form, divisor, row_major, span, tile_width
from neuronir.passes.lowering.layouts.values import Partition, Value, slice_value
from neuronir.passes.lowering.products.sides import Dims
from neuronir.passes.lowering.state import Lowering

WEIGHT_PIECE_BYTES = 32768
"""Bytes per partition above which an operand that is not on the chip is loaded in pieces."""
CONSTANT_PIECE_BYTES = 20480
"""The same for constants: several fit in the ring of the weight stream, which keeps it moving."""
CONSTANT_DESCRIPTORS = 8
"""Constants are also split into pieces whose rows take this many times as long as a descriptor:
longer rows are hardly faster.
"""
PART_BYTES = 8192
"""Bytes per partition of a part of the contraction of a loaded moving operand."""
ROW_BYTES = 1024
"""Rows of this many bytes are not split by parts of the contraction: about what a DMA engine moves
in the time of a descriptor (docs/hardware.md section 2.5).
"""


class Operands:
    """Splits the operands of one dot."""

    def __init__(self, state: Lowering, dims: Dims, out_shape: tuple[int, ...]) -> None:
        self.state = state
        self.dims = dims
        self.out_shape = out_shape
        self.limit = state.machine.partitions
        self.pieces: dict[tuple[Value, tuple[int, ...], tuple[int, ...]], Value] = {}

    def split(self, which: int, value: Value, unit: int) -> list[tuple[Value, int]]:
        """Split a loaded operand along its largest free dimension.

        Yields the pieces with their first element in the result.
        """
        total = self._nbytes(value)
        dims = self.dims.free[which]
        limit = self._piece_bytes(value)
        if total <= limit or not dims or not self._brought_in(value):
            return [(value, 0)]
        if self._stays(value) and not self._transposed(which, value):
            return [(value, 0)]
        d = max(dims, key=lambda i: value.shape[i])
        if value.array is None and d != self._row_dim(value):  # its rows in HBM keep their length
            limit = PART_BYTES
        count = -(-total // limit)
        unit = tile_width(value.shape[d], unit)
        step = -(-value.shape[d] // count)
        step = max(unit, step // unit * unit)
        nb = len(self.dims.batch[0])
        first = nb if which == 0 else nb + len(self.dims.free[0])
        stride = row_major(self.out_shape)[first + dims.index(d)]
        out: list[tuple[Value, int]] = []
        for low in range(0, value.shape[d], step):
            starts = [0] * len(value.shape)
            limits = list(value.shape)
            starts[d], limits[d] = low, min(low + step, value.shape[d])
            out.append((self._piece(value, starts, limits), low * stride))
        return out

    def parts(
        self, which: int, value: Value, partition: Partition, rounds: int, limit: int | None
    ) -> list[tuple[Value, Form]]:
        """Split the contraction of a large loaded operand into equal parts of about `limit` bytes.

        Dots start when the first part has arrived.
        """
        count = 1 if limit is None else self._part_count(which, value, partition, rounds, limit)
        d = self.dims.contracting[which][0] if count > 1 else 0
        out: list[tuple[Value, Form]] = []
        for i in range(count):
            part = value
            if count > 1:
                starts, limits = [0] * len(value.shape), list(value.shape)
                step = value.shape[d] // count
                starts[d], limits[d] = i * step, (i + 1) * step
                part = self._piece(value, starts, limits)
            form = self.state.converter.ensure(part, partition, span(partition))
            out.append((part, form))
        return out

    def _part_count(
        self, which: int, value: Value, partition: Partition, rounds: int, limit: int
    ) -> int:
        dims = self.dims.contracting[which]
        if not self._brought_in(value) or len(dims) != 1 or len(partition) != 1:
            return 1
        if self._stays(value) and self._transposed(which, value):  # it is loaded by whole rows
            return 1
        tile_atom = partition[0][0]
        stride = row_major(value.shape)[dims[0]]
        inner = not tile_atom.ragged and tile_atom.stride == stride
        if not inner or tile_atom.size * rounds != value.shape[dims[0]]:
            return 1
        least = 1
        if value.array is None and self._row_dim(value) == dims[0]:  # parts split the rows in HBM
            least = -(-ROW_BYTES // (tile_atom.size * value.dtype.size))
        return rounds // divisor(rounds, max(least, limit * rounds // max(self._nbytes(value), 1)))

    def limit_of_stationary(self, value: Value) -> int | None:
        """Return the bytes of a part of a stationary operand; None if it is not too large."""
        limit = self._piece_bytes(value)
        return limit if self._nbytes(value) > limit and not self._stays(value) else None

    def _piece(self, value: Value, starts: list[int], limits: list[int]) -> Value:
        """Return a rectangle of an operand, cached.

        Later dots share it too if the operand is constant or stays on the chip.
        """
        key = (value, tuple(starts), tuple(limits))
        shared = value.array is not None or self._stays(value)
        pieces = self.state.products.pieces if shared else self.pieces
        known = pieces.get(key)
        if known is None:
            known = slice_value(value, starts, limits, [1] * len(starts))
            if value.array is None:
                known = self._by_itself(known)
            pieces[key] = known
        return known

    def _by_itself(self, view: Value) -> Value:
        """Return a rectangle that is loaded from HBM without the rest of its source."""
        converter = self.state.converter
        forms = [f for f in converter.source_forms(view) if f.hbm]
        if not forms:
            return view
        alone = Value(view.shape, view.dtype, view.support, forms, special=view.may_be_special())
        converter.homes[alone] = converter.home(view)
        return alone

    def _transposed(self, which: int, value: Value) -> bool:
        """Return whether the contraction of an operand is along its rows in HBM."""
        contracting = self.dims.contracting[which]
        return value.array is None and self._row_dim(value) in contracting

    def _nbytes(self, value: Value) -> int:
        """Return the bytes per partition of an operand."""
        return value.size * value.dtype.size // self.limit

    def _piece_bytes(self, value: Value) -> int:
        if value.array is None:
            return WEIGHT_PIECE_BYTES
        m = self.state.machine
        least = m.dma_queue_descriptor_ns * m.dma_engine_gbps
        return min(CONSTANT_PIECE_BYTES, int(CONSTANT_DESCRIPTORS * least))

    def _row_dim(self, value: Value) -> int:
        """Return the dimension whose elements are contiguous in HBM."""
        form = next((f for f in self.state.converter.source_forms(value) if f.hbm), None)
        if form is None or not form.free:
            return len(value.shape) - 1
        innermost = min(form.free, key=lambda pair: pair[1])[0]
        strides = row_major(value.shape)
        return next(d for d, stride in enumerate(strides) if stride <= innermost.stride)

    def _brought_in(self, value: Value) -> bool:
        """Return whether an operand is in HBM or a constant, and not on the chip yet."""
        if value.lazy is not None or value.scalar is not None:
            return False
        return all(f.hbm for f in self.state.converter.source_forms(value))

    def _stays(self, value: Value) -> bool:
        """Return whether an operand is used in every iteration of a loop around this dot."""
        return self.state.converter.home(value) < self.state.emitter.depth

"""Pack constants into the weight stream, into resident blocks, or into row blocks.

The stream is split into chunks of whole constants in the order of first use. Each chunk is one DMA
with 128 long rows (docs/hardware.md section 2.5: rows of 4 KiB or more). Constants that are used
throughout the program (identity matrices, rows to broadcast) are in resident chunks. Layers that
share instructions have their own chunks (by_layer.py).
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.resources import intern
from neuronir.dialects.nc.attributes import HBM
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.structure import AddressOfOp, VariableOp
from neuronir.dialects.support.lazy import LazyArray
from neuronir.passes.lowering.constants.by_layer import LayerConstants
from neuronir.passes.lowering.constants.chunk import (
    CHUNK_BYTES,
    ROW_PARTS,
    ConstantChunk,
    bf16_parts,
)
from neuronir.passes.lowering.constants.image import Chunk, Image
from neuronir.passes.lowering.constants.layered import Layered
from neuronir.passes.lowering.emitter import Emitter

ROW_BYTES = 4096
"""Bytes per partition of a row block."""


def splits(vector: np.ndarray) -> bool:
    """Return whether a float32 vector is the sum of its bfloat16 parts.

    It must be finite, also after rounding, and without -0, because a sum with 0 gives 0.
    """
    finite = np.isfinite(vector.astype(DType.BF16.numpy).astype(np.float32)).all()
    return bool(finite and not (np.signbit(vector) & (vector == 0)).any())


class Constants:
    """Places constants and returns their addresses in SBUF."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.stream: ConstantChunk | None = None
        self.resident: list[Operation | None] = []
        self._resident: ConstantChunk | None = None
        self._rows: np.ndarray | None = None
        self._row_chunk: ConstantChunk | None = None
        self._next_row = (0, 0)
        self.layers: LayerConstants | None = None
        self._chunks: list[ConstantChunk | LayerConstants] = []  # closed chunks, in byte order
        self._offsets: list[int] = []
        self._size = 0
        self._address: AddressOfOp | None = None
        self._known: dict[str, tuple[SSAValue, int]] = {}
        self._row_places: dict[bytes, tuple[SSAValue, int, int, int]] = {}

    def place(self, array: np.ndarray, dtype: DType, rows: int = 0) -> tuple[SSAValue, int]:
        """Put [partitions, elements] into the stream; return the buffer and the element offset.

        With `rows`, the array has any shape: that many partitions in row-major order.
        """
        rows = rows or array.shape[0]
        if self.layers is not None:
            if isinstance(array, Layered):
                return self.layers.place(array, dtype, rows)
            return self._keep(array, dtype, rows)  # equal in all layers
        size = array.size // rows * dtype.size
        if self.stream is not None and self.stream.ends_before(size, rows):
            self._close_stream()
        if self.stream is None:
            # the chunk's DMA is inserted among the ops now, and created when the chunk is closed
            ops = cast(list[Operation | None], self.emitter.scopes[0])
            self.stream = ConstantChunk(self.emitter, "stream", ops, fitted=True)
        offset = self.stream.add(array, dtype, rows)
        buffer = self.stream.alloc.buffer
        if self.stream.used >= CHUNK_BYTES:
            self._close_stream()
        return buffer, offset // dtype.size

    def keep(self, name: str, array: np.ndarray, dtype: DType) -> tuple[SSAValue, int]:
        """Return a resident constant by name."""
        if name not in self._known:
            self._known[name] = self._keep(array, dtype)
        return self._known[name]

    def _keep(self, array: np.ndarray, dtype: DType, rows: int = 0) -> tuple[SSAValue, int]:
        if self._resident is None:
            self._resident = ConstantChunk(self.emitter, "constant", self.resident)
        offset = self._resident.add(array, dtype, rows)
        return self._resident.alloc.buffer, offset // dtype.size

    def identity(self, dtype: DType) -> tuple[SSAValue, int]:
        """Return the identity matrix for the machine's partitions."""
        n = self.emitter.machine.partitions
        return self.keep(f"identity.{dtype.name}", np.eye(n, dtype=dtype.numpy), dtype)

    def row(self, vector: np.ndarray) -> tuple[SSAValue, int, int, int]:
        """Put a finite float32 vector into a row block; return (buffer, partition, element,
        partitions).

        The last item is the number of partitions of the block that may be read. The vector takes
        three partitions, as bfloat16 values whose sum it is (8 bits of the fraction each). The
        tensor engine can then broadcast it in one pass instead of the four passes of fp32.
        """
        if self.layers is not None and isinstance(vector, Layered):
            return self.layers.row(vector)
        key = vector.tobytes()
        if key in self._row_places:
            return self._row_places[key]
        partition, column = self._next_row
        width = 0 if self._rows is None else self._rows.shape[1]
        if column + vector.size > width:
            partition, column = partition + ROW_PARTS, 0
        machine = self.emitter.machine
        if vector.size > width or partition + ROW_PARTS > machine.partitions:
            self._close_rows()
            width = max(ROW_BYTES // DType.BF16.size, vector.size)
            self._rows = np.zeros((machine.partitions, width), DType.BF16.numpy)
            self._row_chunk = ConstantChunk(self.emitter, "constant", self.resident)
            partition, column = 0, 0
        assert self._rows is not None and self._row_chunk is not None
        for k, part in enumerate(bf16_parts(vector)):
            self._rows[partition + k, column : column + vector.size] = part
        self._next_row = (partition, column + vector.size)
        place = (self._row_chunk.alloc.buffer, partition, column, machine.partitions)
        self._row_places[key] = place
        return place

    def row_selector(self) -> tuple[SSAValue, int]:
        """Return a matrix whose column j has ones in the rows j, j + 1, ... of one vector's
        parts.
        """
        n = self.emitter.machine.partitions
        below = np.arange(n)[:, None] - np.arange(n)[None, :]
        band = ((below >= 0) & (below < ROW_PARTS)).astype(DType.BF16.numpy)
        return self.keep("row.selector", band, DType.BF16)

    def _close_rows(self) -> None:
        if self._row_chunk is not None and self._rows is not None:
            self._row_chunk.add(self._rows, DType.BF16)
            self._close(self._row_chunk)
        self._row_chunk = None

    def _close_stream(self) -> None:
        if self.stream is not None:
            self._close(self.stream)
            self.stream = None

    def _close(self, chunk: ConstantChunk) -> None:
        chunk.close()
        self._append(chunk, chunk.size)

    def _append(self, part: ConstantChunk | LayerConstants, size: int) -> None:
        self._chunks.append(part)
        self._offsets.append(self._size)
        self._size += size

    def begin_layers(self, layers: int) -> None:
        """From now on, place Layered arrays in the body of the open loop."""
        self._close_stream()
        self.layers = LayerConstants(self.emitter, layers)

    def end_layers(self, round_: SSAValue | None) -> None:
        """Load what has been placed since then in each iteration; drop it if there is no loop."""
        layers = self.layers
        self.layers = None
        if layers is not None and round_ is not None:
            stride = layers.finish(self._memory(), self._size, round_)
            self._append(layers, stride * layers.layers)

    def _memory(self) -> SSAValue:
        """Return the variable of all chunks; its size is known at the end."""
        if self._address is None:
            type_ = MemRefType(i8, [1], memory_space=HBM)
            self._address = AddressOfOp.make(VariableOp.make("constants", "constant", type_))
        return self._address.buffer

    def finish(self) -> None:
        """Close open chunks; all chunks share one variable, in the order of use."""
        self._close_stream()
        self._close_rows()
        if self._resident is not None:
            self._close(self._resident)
        if not self._size:
            return
        memory = self._memory()
        chunks: list[Chunk] = []
        for part, offset in zip(self._chunks, self._offsets, strict=True):
            if isinstance(part, ConstantChunk):
                chunks.append(part.filled())
                part.load(memory, offset)
            else:
                chunks += part.filled()
        image = LazyArray(Image(chunks))
        type_ = MemRefType(i8, [image.size], memory_space=HBM)
        memory._type = type_  # only known now; nothing has read it yet
        variable = VariableOp.make("constants", "constant", type_, value=intern(image))
        self.emitter.variables.append(variable)
        assert self._address is not None
        self.emitter.head.append(self._address)


def digits_of(atoms: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return sums of digit*stride over all digits of (size, stride) atoms, outermost first,
    flattened.
    """
    total = np.zeros(1, np.int64)
    for size, stride in atoms:
        total = (total[:, None] + np.arange(size, dtype=np.int64)[None, :] * stride).reshape(-1)
    return total

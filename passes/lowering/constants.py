"""Bound constants: packed into the weight stream, into resident blocks, or into row blocks.

The stream is cut into chunks of whole constants in the order of their first use; each chunk is one
DMA of 128 long rows (hardware.md section 2.5: rows of 4 KiB or more). Constants used all through
the program (identity matrices, rows to be broadcast) lie in resident chunks.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.resources import intern
from neuronir.dialects.nc.attributes import HBM, SBUF
from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.ops import View, build
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, VariableOp
from neuronir.passes.lowering.emitter import Emitter

CHUNK_BYTES = 8192
"""Bytes per partition at which a chunk of the stream is closed: twice the row that saturates a DMA
engine (hardware.md section 2.5)."""
ROW_BYTES = 4096
"""Bytes per partition of a block of rows."""
ROW_PARTS = 3
"""bfloat16 numbers that add up to a float32 one: 3 x 8 bits of fraction."""


def splits(vector: np.ndarray) -> bool:
    """Whether a float32 vector is the sum of its bfloat16 parts: finite, also when rounded."""
    return bool(np.isfinite(vector.astype(DType.BF16.numpy).astype(np.float32)).all())


class _Chunk:
    """A chunk under way: the pieces so far and its ops, which are completed when it is closed."""

    def __init__(self, emitter: Emitter, role: str, ops: list[Operation | None]) -> None:
        self.emitter = emitter
        self.pieces: list[tuple[int, np.ndarray]] = []
        self.used = 0
        self.ops = ops
        self.place = len(ops)
        self.alloc = AllocOp.make(self._type(1), role)
        self.source = emitter.source
        ops.append(self.alloc)
        ops.append(None)

    def _type(self, size: int) -> MemRefType[Attribute]:
        partitions = self.emitter.machine.partitions
        return MemRefType(i8, [partitions, size], memory_space=SBUF)

    def add(self, rows: np.ndarray) -> int:
        """Append [partitions, bytes] rows; gives the byte offset."""
        offset = -(-self.used // 4) * 4
        self.pieces.append((offset, rows))
        self.used = offset + rows.shape[1]
        return offset

    def close(self) -> None:
        """Fix the size of the chunk."""
        # the buffer's type is only known now; nothing has looked at it yet
        self.alloc.buffer._type = self._type(self.used)

    def load(self, memory: SSAValue, offset: int) -> None:
        """Complete its DMA, from byte `offset` of the constants in HBM."""
        partitions = self.emitter.machine.partitions
        free = ((1, self.used),)
        dma = build(
            DmaOp,
            [View(self.alloc.buffer, 0, partitions, free)],
            [View(memory, 0, partitions, free, offset, (), self.used)],
        )
        if self.source is not None:
            dma.location = self.source.location
            self.alloc.location = self.source.location
        self.ops[self.place + 1] = dma

    def fill(self, data: np.ndarray) -> None:
        """Write its rows into [partitions, used] bytes."""
        for offset, rows in self.pieces:
            data[: rows.shape[0], offset : offset + rows.shape[1]] = rows


class Constants:
    """Places constants and tells where they lie in SBUF."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.stream: _Chunk | None = None
        self.resident: list[Operation | None] = []
        self._resident: _Chunk | None = None
        self._rows: np.ndarray | None = None
        self._row_chunk: _Chunk | None = None
        self._next_row = (0, 0)
        self._chunks: list[_Chunk] = []
        self._known: dict[str, tuple[SSAValue, int]] = {}
        self._row_places: dict[bytes, tuple[SSAValue, int, int]] = {}

    def place(self, array: np.ndarray, dtype: DType) -> tuple[SSAValue, int]:
        """Put [partitions, elements] into the stream; gives the buffer and the element offset."""
        rows = _bytes(array, dtype)
        if self.stream is not None and self.stream.used + rows.shape[1] > CHUNK_BYTES:
            self._close_stream()
        if self.stream is None:
            self.stream = _Chunk(self.emitter, "stream", self.emitter.scopes[0])  # type: ignore[arg-type]
        offset = self.stream.add(rows)
        buffer = self.stream.alloc.buffer
        if self.stream.used >= CHUNK_BYTES:
            self._close_stream()
        return buffer, offset // dtype.size

    def keep(self, name: str, array: np.ndarray, dtype: DType) -> tuple[SSAValue, int]:
        """A resident constant, by name."""
        if name not in self._known:
            if self._resident is None:
                self._resident = _Chunk(self.emitter, "constant", self.resident)
            offset = self._resident.add(_bytes(array, dtype))
            self._known[name] = (self._resident.alloc.buffer, offset // dtype.size)
        return self._known[name]

    def identity(self, dtype: DType) -> tuple[SSAValue, int]:
        """The identity matrix of the machine's partitions."""
        n = self.emitter.machine.partitions
        return self.keep(f"identity.{dtype.name}", np.eye(n, dtype=dtype.numpy), dtype)

    def row(self, vector: np.ndarray) -> tuple[SSAValue, int, int]:
        """Put a finite float32 vector into a block of rows; gives (buffer, partition, element).

        It takes three partitions, as bfloat16 numbers whose sum it is (8 bits of the fraction
        each), so that the tensor engine can spread it in one pass instead of fp32's four.
        """
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
            self._row_chunk = _Chunk(self.emitter, "constant", self.resident)
            partition, column = 0, 0
        assert self._rows is not None and self._row_chunk is not None
        rest = vector.astype(np.float32)
        for k in range(ROW_PARTS):
            part = rest.astype(DType.BF16.numpy)
            self._rows[partition + k, column : column + vector.size] = part
            rest = rest - part.astype(np.float32)
        self._next_row = (partition, column + vector.size)
        place = (self._row_chunk.alloc.buffer, partition, column)
        self._row_places[key] = place
        return place

    def row_selector(self) -> tuple[SSAValue, int]:
        """A matrix whose column j has ones in the rows j, j + 1, ... of one vector's parts."""
        n = self.emitter.machine.partitions
        below = np.arange(n)[:, None] - np.arange(n)[None, :]
        band = ((below >= 0) & (below < ROW_PARTS)).astype(DType.BF16.numpy)
        return self.keep("row.selector", band, DType.BF16)

    def _close_rows(self) -> None:
        if self._row_chunk is not None and self._rows is not None:
            self._row_chunk.add(_bytes(self._rows, DType.BF16))
            self._close(self._row_chunk)
        self._row_chunk = None

    def _close_stream(self) -> None:
        if self.stream is not None:
            self._close(self.stream)
            self.stream = None

    def _close(self, chunk: _Chunk) -> None:
        chunk.close()
        self._chunks.append(chunk)

    def finish(self) -> None:
        """Close what is open and write all chunks into one variable, in the order of their use."""
        self._close_stream()
        self._close_rows()
        if self._resident is not None:
            self._close(self._resident)
        if not self._chunks:
            return
        partitions = self.emitter.machine.partitions
        data = np.zeros(sum(c.used for c in self._chunks) * partitions, np.uint8)
        type_ = MemRefType(i8, [data.size], memory_space=HBM)
        offsets: list[int] = []
        offset = 0
        for chunk in self._chunks:
            offsets.append(offset)
            size = chunk.used * partitions
            chunk.fill(data[offset : offset + size].reshape(partitions, chunk.used))
            offset += size
        variable = VariableOp.make("constants", "constant", type_, value=intern(data))
        self.emitter.variables.append(variable)
        address = AddressOfOp.make(variable)
        self.emitter.head.append(address)
        for chunk, first in zip(self._chunks, offsets, strict=True):
            chunk.load(address.buffer, first)


def _bytes(array: np.ndarray, dtype: DType) -> np.ndarray:
    data = np.ascontiguousarray(array.astype(dtype.numpy, copy=False))
    return data.view(np.uint8).reshape(array.shape[0], -1)


def digits_of(atoms: Sequence[tuple[int, int]]) -> np.ndarray:
    """Sums of digit*stride over all digits of (size, stride) atoms, outermost first, flattened."""
    total = np.zeros(1, np.int64)
    for size, stride in atoms:
        total = (total[:, None] + np.arange(size, dtype=np.int64)[None, :] * stride).reshape(-1)
    return total

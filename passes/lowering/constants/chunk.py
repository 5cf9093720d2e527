"""Represent a chunk of constants: the data of one DMA to SBUF."""

import numpy as np
from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.nc.attributes import SBUF
from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.ops import View, build
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.names import base_name, set_hint
from neuronir.passes.lowering.constants.image import Chunk, Piece
from neuronir.passes.lowering.constants.layered import layers_of
from neuronir.passes.lowering.emitter import Emitter

CHUNK_BYTES = 8192
"""Bytes per partition at which a chunk of the stream is closed: twice the row size that saturates a
DMA engine (docs/hardware.md section 2.5).
"""
LEAST_BYTES = 512
"""Bytes per partition up to which a chunk accepts any constant: shorter rows, such as those of
biases, would waste descriptor time.
"""
ROW_PARTS = 3
"""bfloat16 values that sum to a float32 value: 3 x 8 bits of fraction"""


class ConstantChunk:
    """An open chunk: its pieces so far, and its ops, which are completed when it is closed.

    `ops` is the body in which it is loaded. The pieces of a layered chunk are Layered arrays. A
    `fitted` chunk takes no more partitions than its tallest piece.
    """

    def __init__(
        self,
        emitter: Emitter,
        role: str,
        ops: list[Operation | None],
        partitions: int = 0,
        fitted: bool = False,
    ) -> None:
        self.machine = emitter.machine
        self.fitted = fitted
        self.partitions = partitions or emitter.machine.partitions
        self.pieces: list[tuple[int, int, np.ndarray, DType]] = []
        self.used = 0
        self.ops = ops
        self.place = len(ops)
        self.alloc = AllocOp.make(self._type(1), role)
        self.source = emitter.source
        if self.source is not None and self.source.results:
            reader = base_name(self.source.results[0])
            set_hint(self.alloc.buffer, f"{reader}_constants" if reader else "constants")
        ops.append(self.alloc)
        ops.append(None)

    def _type(self, size: int) -> MemRefType[Attribute]:
        return MemRefType(i8, [self.partitions, size], memory_space=SBUF)

    @property
    def size(self) -> int:
        """Return the bytes in HBM (of one layer)."""
        return self.used * self.partitions

    def ends_before(self, size: int, rows: int) -> bool:
        """Return whether a constant of `size` bytes on each of `rows` partitions starts another
        chunk.
        """
        if self.used > LEAST_BYTES and self.used + size > CHUNK_BYTES:
            return True
        # all rows of a chunk have equal length, so padding may take longer than another transfer
        height = max((n for _, n, _, _ in self.pieces), default=rows)
        added = max(height, rows) * (self.used + size) - height * self.used - rows * size
        alone = self.machine.dma_queue_descriptor_ns * self.machine.dma_engine_gbps
        alone *= max(height, rows)
        return added > alone

    def add(self, array: np.ndarray, dtype: DType, rows: int = 0) -> int:
        """Append [partitions, elements] to be stored as `dtype`; return the byte offset.

        With `rows`, the array has any shape: that many partitions in row-major order. It is read
        when the chunk is filled, so it must not change.
        """
        rows = rows or array.shape[0]
        offset = -(-self.used // 4) * 4
        self.pieces.append((offset, rows, array, dtype))
        self.used = offset + array.size // rows * dtype.size
        return offset

    def close(self) -> None:
        """Fix the size of the chunk."""
        if self.fitted:
            self.partitions = max(rows for _, rows, _, _ in self.pieces)
        # the type of the buffer is only known now; nothing has read it yet
        self.alloc.buffer._type = self._type(self.used)

    def load(
        self, memory: SSAValue, offset: int, round_: SSAValue | None = None, stride: int = 0
    ) -> None:
        """Complete its DMA, from byte `offset` of the constants in HBM (plus `stride` per
        iteration).
        """
        free = ((1, self.used),)
        indices = () if round_ is None else ((round_, stride),)
        dma = build(
            DmaOp,
            [View(self.alloc.buffer, 0, self.partitions, free)],
            [View(memory, 0, self.partitions, free, offset, indices, self.used)],
        )
        if self.source is not None:
            dma.location = self.source.location
            self.alloc.location = self.source.location
        self.ops[self.place + 1] = dma

    def filled(self, layer: int = 0) -> Chunk:
        """Return its contents (in one layer)."""
        pieces = []
        for offset, rows, array, dtype in self.pieces:
            layers = layers_of(array)
            mine = array if layers is None else layers[layer]
            pieces.append(Piece(offset, rows, mine, dtype))
        return Chunk(self.partitions, self.used, pieces)


def bf16_parts(vector: np.ndarray) -> list[np.ndarray]:
    """Return bfloat16 vectors whose sum is a finite float32 vector."""
    rest = vector.astype(np.float32)
    parts: list[np.ndarray] = []
    for _ in range(ROW_PARTS):
        parts.append(rest.astype(DType.BF16.numpy))
        rest = rest - parts[-1].astype(np.float32)
    return parts

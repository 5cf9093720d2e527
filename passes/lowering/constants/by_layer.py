"""Place the constants of layers that share instructions in equal chunks, one set per layer.

Each iteration of the loop over layers loads its own chunks, at an address that advances by the
bytes of a layer. Vectors that the tensor engine broadcasts are in small row blocks next to them, so
that none occupies SBUF for a whole layer.
"""

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.passes.lowering.constants.chunk import (
    CHUNK_BYTES,
    ROW_PARTS,
    ConstantChunk,
    bf16_parts,
)
from neuronir.passes.lowering.constants.image import Chunk
from neuronir.passes.lowering.constants.layered import layers_of
from neuronir.passes.lowering.emitter import Emitter

_VECTORS = 2
"""Vectors in a row block: the next layer can be loaded only when all of them have been used."""


class LayerConstants:
    """Places the constants of `layers` layers, in the body of the open loop."""

    def __init__(self, emitter: Emitter, layers: int) -> None:
        self.emitter = emitter
        self.layers = layers
        self.ops: list[Operation | None] = emitter.scopes[-1]  # type: ignore[assignment]
        self.chunks: list[ConstantChunk] = []
        self.stream: ConstantChunk | None = None
        self.rows: ConstantChunk | None = None
        self.stride = 0  # bytes of a layer
        self._places: dict[bytes, tuple[SSAValue, int, int, int]] = {}
        self._vectors: list[np.ndarray] = []

    def place(self, array: np.ndarray, dtype: DType, rows: int) -> tuple[SSAValue, int]:
        """Put a Layered array with `rows` partitions into the stream; return buffer and element
        offset.
        """
        size = array.size // rows * dtype.size
        if self.stream is not None and self.stream.ends_before(size, rows):
            self._close_stream()
        if self.stream is None:
            self.stream = self._open()
        chunk = self.stream
        offset = chunk.add(array, dtype, rows)
        if chunk.used >= CHUNK_BYTES:
            self._close_stream()
        return chunk.alloc.buffer, offset // dtype.size

    def row(self, vector: np.ndarray) -> tuple[SSAValue, int, int, int]:
        """Put a finite Layered float32 vector into a row block; see Constants.row."""
        key = b"".join(v.tobytes() for v in layers_of(vector) or [vector])
        if key in self._places:
            return self._places[key]
        if self._vectors and vector.size > self._vectors[0].size:
            self._close_rows()
        if self.rows is None:
            self.rows = self._open()
        chunk = self.rows
        self._vectors.append(vector)
        partition = (len(self._vectors) - 1) * ROW_PARTS
        if len(self._vectors) == _VECTORS:
            self._close_rows()
        place = (chunk.alloc.buffer, partition, 0, partition + ROW_PARTS)
        self._places[key] = place
        return place

    def _open(self) -> ConstantChunk:
        chunk = ConstantChunk(self.emitter, "stream", self.ops)
        self.chunks.append(chunk)
        return chunk

    def _close_stream(self) -> None:
        if self.stream is not None:
            self.stream.close()
        self.stream = None

    def _close_rows(self) -> None:
        chunk = self.rows
        if chunk is None:
            return
        width = self._vectors[0].size
        parts = [p for v in self._vectors for p in bf16_parts(v)]
        padded = [np.pad(p, (0, width - p.size)) for p in parts]
        chunk.partitions = len(parts)
        chunk.add(np.stack(padded), DType.BF16)
        chunk.close()
        self.rows = None
        self._vectors = []

    def finish(self, memory: SSAValue, base: int, round_: SSAValue) -> int:
        """Close open chunks and complete the loads, the first at byte `base` in iteration 0.

        Returns the bytes of a layer.
        """
        self._close_stream()
        self._close_rows()
        self.stride = sum(c.size for c in self.chunks)
        offset = base
        for chunk in self.chunks:
            chunk.load(memory, offset, round_, self.stride)
            offset += chunk.size
        return self.stride

    def filled(self) -> list[Chunk]:
        """Return the contents of the chunks of all layers, one layer after the other."""
        return [c.filled(layer) for layer in range(self.layers) for c in self.chunks]

"""Generate the bytes of all constants in HBM order, when they are written or simulated.

A stored array would be accessed twice, and the first access to memory costs more than computing its
contents (docs/compile-time.md).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.lazy import LazyArray, LazyWriter
from neuronir.dialects.support.output import PIECES_KEPT
from neuronir.dialects.support.recipe import Array, Maker, Places

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Piece:
    """An array in a chunk: `rows` partitions in row-major order, from byte `offset` of each."""

    offset: int
    rows: int
    array: Array | LazyArray
    dtype: DType

    @property
    def width(self) -> int:
        """Return its bytes in a partition."""
        return self.array.size // self.rows * self.dtype.size

    def write(self, data: Bytes, writer: LazyWriter) -> None:
        """Write the piece into `data`, the [partitions, bytes] of its chunk."""
        end = self.offset + self.width
        target = data[: self.rows, self.offset : end].view(self.dtype.numpy)
        shaped = target.reshape(self.array.shape)
        if np.may_share_memory(shaped, target):
            writer.write(self.array, shaped)
        else:  # it is a copy
            target[...] = writer.numbers(self.array).reshape(target.shape)

    def sample(self, rows: NDArray[np.int64], columns: NDArray[np.int64], out: Bytes) -> None:
        """Write to `out` those bytes at (row, column) of its chunk that belong to it."""
        (mine,) = np.nonzero(
            (rows < self.rows) & (columns >= self.offset) & (columns < self.offset + self.width)
        )
        if not mine.size:
            return
        size = self.dtype.size
        elements, bytes_ = np.divmod(columns[mine] - self.offset, size)
        places = rows[mine] * (self.width // size) + elements
        if isinstance(self.array, LazyArray):
            numbers = self.array.at(places)
        else:
            numbers = self.array[np.unravel_index(places, self.array.shape)]
        raw = numbers.astype(self.dtype.numpy).view(np.uint8).reshape(-1, size)
        out[mine] = raw[np.arange(mine.size), bytes_]


@dataclass(frozen=True)
class Chunk:
    """The [partitions, used] bytes of a chunk; those outside of all pieces are zero."""

    partitions: int
    used: int
    pieces: Sequence[Piece]

    @property
    def size(self) -> int:
        """Return its bytes."""
        return self.partitions * self.used

    def write(self, out: Bytes, writer: LazyWriter) -> None:
        """Write the bytes of the chunk to the vector `out`."""
        if sum(piece.rows * piece.width for piece in self.pieces) < self.size:
            out[...] = 0
        data = out.reshape(self.partitions, self.used)
        for piece in self.pieces:
            piece.write(data, writer)

    def sample(self, places: NDArray[np.int64], out: Bytes) -> None:
        """Write its bytes at these positions to `out`, which is zero."""
        rows, columns = np.divmod(places, self.used)
        for piece in self.pieces:
            piece.sample(rows, columns, out)


class Image(Maker):
    """Consecutive chunks, as a vector of bytes."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        self._ends = np.cumsum([chunk.size for chunk in chunks])
        super().__init__((int(self._ends[-1]),), np.dtype(np.uint8))

    def write(self, out: Array) -> None:
        """Write all chunks to `out`."""
        writer = LazyWriter()
        for chunk, end in zip(self.chunks, self._ends, strict=True):
            chunk.write(out[end - chunk.size : end], writer)

    def pieces(self) -> Iterator[Array]:
        """Yield the chunks one after another, in as many buffers as pieces are kept."""
        writer = LazyWriter()
        size = max(chunk.size for chunk in self.chunks)
        rooms = np.empty((PIECES_KEPT, size), np.uint8)
        for chunk, room in zip(self.chunks, cycle(rooms), strict=False):
            chunk.write(room[: chunk.size], writer)
            yield room[: chunk.size]

    def sample(self, places: Places) -> Array:
        """Return the bytes at these positions."""
        order = np.argsort(places.numbers, kind="stable")
        numbers = places.numbers[order]
        sorted_ = np.zeros(numbers.size, np.uint8)
        bounds = np.searchsorted(numbers, np.append(0, self._ends))
        for chunk, end, i, j in zip(self.chunks, self._ends, bounds, bounds[1:], strict=False):
            if i < j:
                chunk.sample(numbers[i:j] - (end - chunk.size), sorted_[i:j])
        found = np.empty_like(sorted_)
        found[order] = sorted_
        return found

    def same(self, other: Maker) -> bool:
        """Return whether another image has chunks of the same sizes with the same bytes."""
        return (
            isinstance(other, Image)
            and np.array_equal(self._ends, other._ends)
            and all(map(np.array_equal, self.pieces(), other.pieces()))
        )

"""Read the sorted key table of a checkpoint index (LevelDB's format).

Layout: blocks of entries, each followed by one byte of compression and a masked CRC-32C. The last
48 bytes hold the positions of the index blocks and a magic number
(tensorflow/core/lib/io/format.cc).
"""

from collections.abc import Iterator

from neuronir.dialects.support.errors import NeuronError

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_MASK_DELTA = 0xA282EAD8


def _damaged(what: str) -> NeuronError:
    return NeuronError("NIR_TF006", f"the checkpoint's index is damaged: {what}")


def read_table(data: bytes) -> dict[bytes, bytes]:
    """Return all entries of a table; raises NIR_TF006 if it is damaged."""
    if len(data) < _FOOTER or int.from_bytes(data[-8:], "little") != _MAGIC:
        raise _damaged("it does not end as a table does")
    footer = data[-_FOOTER:]
    place = _skip_handle(footer, 0)
    offset, place = _varint(footer, place)
    size, _ = _varint(footer, place)
    entries: dict[bytes, bytes] = {}
    for _, handle in _entries(_block(data, offset, size)):
        start, place = _varint(handle, 0)
        length, _ = _varint(handle, place)
        entries.update(_entries(_block(data, start, length)))
    return entries


def _skip_handle(data: bytes, place: int) -> int:
    _, place = _varint(data, place)
    _, place = _varint(data, place)
    return place


def _block(data: bytes, offset: int, size: int) -> bytes:
    end = offset + size
    if end + 5 > len(data) or size < 4:
        raise _damaged("a block lies beyond its end")
    if data[end] != 0:
        raise _damaged("its blocks are compressed, which checkpoints never are")
    stored = int.from_bytes(data[end + 1 : end + 5], "little")
    if stored != _masked(crc32c(data[offset : end + 1])):
        raise _damaged("a checksum does not fit")
    return data[offset:end]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a block.

    A key shares a prefix with the previous key; the restart points at the end are needed only for
    searches.
    """
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise _damaged("a block has more restart points than bytes")
    place, key = 0, b""
    while place < end:
        shared, place = _varint(block, place)
        fresh, place = _varint(block, place)
        length, place = _varint(block, place)
        if shared > len(key) or place + fresh + length > end:
            raise _damaged("an entry lies beyond its block")
        key = key[:shared] + block[place : place + fresh]
        place += fresh
        yield key, block[place : place + length]
        place += length


def _varint(data: bytes, place: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise _damaged("a number is cut off")
        byte = data[place]
        place += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, place
    raise _damaged("a number is too long")


def _crc_table() -> tuple[int, ...]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return tuple(table)


_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """Compute CRC-32C (Castagnoli)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(crc: int) -> int:
    """Unmask a checksum: stored checksums are rotated, so that a checksum of checksums is not
    weak.
    """
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF

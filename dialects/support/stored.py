"""Read uncompressed arrays of an npz file directly into their memory.

zipfile copies such a member in pieces through Python, which takes three times as long.
"""

import io
import os
import zipfile
import zlib
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

LARGE = 1 << 16
"""Minimum bytes of a member."""

_PIECE = 1 << 20  # bytes that are read and summed together, so that they fit in a cache
_LOCAL_HEADER = 30  # bytes of a member's header, up to the lengths of its name and extra field
_ENCRYPTED = 1


def is_stored(member: zipfile.ZipInfo) -> bool:
    """Return whether `read_stored` supports a member."""
    plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & _ENCRYPTED
    return plain and member.file_size >= LARGE and member.filename.endswith(".npy")


class _At(io.RawIOBase):
    """Reads an open file from a position, without moving the position for others."""

    def __init__(self, descriptor: int, at: int) -> None:
        self._descriptor, self._at = descriptor, at

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = os.preadv(self._descriptor, [buffer], self._at)
        self._at += count
        return count

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            raise io.UnsupportedOperation("seek from the end")
        self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        return self._at


def read_stored(descriptor: int, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Return the array of a member of the file open under a descriptor.

    Raises OSError, ValueError, EOFError and zipfile.BadZipFile (also for a wrong checksum) as numpy
    does.
    """
    with io.BufferedReader(_At(descriptor, 0)) as file:
        file.seek(member.header_offset)
        local = file.read(_LOCAL_HEADER)
        lengths = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
        start = member.header_offset + _LOCAL_HEADER + lengths
        file.seek(start)
        shape, fortran, dtype = _array_header(file)
        begin = file.tell()
        file.seek(start)
        checksum = zlib.crc32(file.read(begin - start))
        if begin - start + prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError(f"{member.filename} has another size than its header says")
        flat = np.empty(prod(shape), dtype)
        data = flat.view(np.uint8).data
        for at in range(0, len(data), _PIECE):
            piece = data[at : at + _PIECE]
            if file.readinto(piece) != len(piece):
                raise EOFError(f"{member.filename} ends too early")
            checksum = zlib.crc32(piece, checksum)
    if checksum != member.CRC:
        raise zipfile.BadZipFile(f"Bad CRC-32 for file {member.filename!r}")
    return flat.reshape(shape, order="F" if fortran else "C")


def _array_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"arrays of npy version {version} are not read")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded")
    return shape, fortran, dtype

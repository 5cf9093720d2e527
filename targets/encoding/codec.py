"""Define field codecs: how one kind of value is written, read and printed.

Integers are LEB128 (7 bits a byte, low bits first; signed ones zigzag), floats IEEE binary64, all
little endian. Every field of an instruction is made of these.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_F64 = struct.Struct("<d")
_LIMIT = 1 << 63


class DecodeError(ValueError):
    """Raised for bytes that are no instruction stream; names the problem and the byte."""


class Reader:
    """A position in a buffer; every read is checked against its end."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    def fail(self, message: str) -> DecodeError:
        """Create an error that names the current byte."""
        return DecodeError(f"{message} at byte {self.at}")

    def byte(self) -> int:
        """Read one byte."""
        at = self.at
        if at >= self.end:
            raise self.fail("instruction stream is truncated")
        self.at = at + 1
        return self.data[at]

    def take(self, size: int) -> bytes:
        """Read the next `size` bytes."""
        at = self.at
        if size > self.end - at:
            raise self.fail("instruction stream is truncated")
        self.at = at + size
        return self.data[at : at + size]

    def uint(self) -> int:
        """Read an unsigned LEB128 integer below 2**64, in its shortest form."""
        value = self.byte()
        if value < 0x80:
            return value
        value &= 0x7F
        shift = 7
        while True:
            part = self.byte()
            value |= (part & 0x7F) << shift
            if part < 0x80:
                break
            shift += 7
        if shift > 63 or value >> 64 or part == 0:
            raise self.fail("malformed number")
        return value

    def sint(self) -> int:
        """Read a signed integer, zigzag."""
        value = self.uint()
        return (value >> 1) ^ -(value & 1)

    def float64(self) -> float:
        """Read an IEEE binary64 value."""
        value: float = _F64.unpack(self.take(8))[0]
        return value


def write_uint(out: bytearray, value: int) -> None:
    """Append an unsigned integer below 2**64."""
    if not 0 <= value < 2 * _LIMIT:
        raise ValueError(f"{value} does not fit an unsigned 64-bit field")
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_sint(out: bytearray, value: int) -> None:
    """Append a signed 64-bit integer."""
    if not -_LIMIT <= value < _LIMIT:
        raise ValueError(f"{value} does not fit a signed 64-bit field")
    write_uint(out, value << 1 if value >= 0 else (~value << 1) | 1)


def write_float64(out: bytearray, value: float) -> None:
    """Append an IEEE binary64 value."""
    out += _F64.pack(value)


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """One kind of field: its writer, its reader and its text."""

    write: Callable[[bytearray, T], None]
    read: Callable[[Reader], T]
    show: Callable[[T], str]


UINT: Codec[int] = Codec(write_uint, Reader.uint, str)
SINT: Codec[int] = Codec(write_sint, Reader.sint, str)
FLOAT: Codec[float] = Codec(write_float64, Reader.float64, repr)


def _write_bool(out: bytearray, value: int) -> None:
    if value not in (0, 1):
        raise ValueError(f"{value} is not a flag (0 or 1)")
    out.append(int(value))


def _read_bool(reader: Reader) -> int:
    value = reader.byte()
    if value > 1:
        raise reader.fail(f"{value} is not a flag")
    return value


BOOL: Codec[int] = Codec(_write_bool, _read_bool, lambda value: "true" if value else "false")


def enum_codec(kind: type[IntEnum]) -> Codec[int]:
    """Return the codec of a member of `kind`, in one byte, as a plain int."""
    members = frozenset(int(m) for m in kind)

    def write(out: bytearray, value: int) -> None:
        if value not in members:
            raise ValueError(f"{value} is no {kind.__name__}")
        out.append(int(value))

    def read(reader: Reader) -> int:
        value = reader.byte()
        if value not in members:
            raise reader.fail(f"{value} is no {kind.__name__}")
        return value

    return Codec(write, read, lambda value: kind(value).name.lower())


def tuple_codec(item: Codec[T], at_most: int) -> Codec[tuple[T, ...]]:
    """Return the codec of a count and its items."""

    def write(out: bytearray, value: tuple[T, ...]) -> None:
        if len(value) > at_most:
            raise ValueError(f"{len(value)} entries, at most {at_most} are possible")
        write_uint(out, len(value))
        for entry in value:
            item.write(out, entry)

    def read(reader: Reader) -> tuple[T, ...]:
        count = reader.uint()
        if count > at_most:
            raise reader.fail(f"{count} entries, at most {at_most} are possible")
        if count == 0:
            return ()
        return tuple([item.read(reader) for _ in range(count)])

    return Codec(write, read, lambda value: ", ".join(map(item.show, value)))


AnyCodec = Codec[Any]

"""Read and write the 1024-byte header of a NEFF (docs/hardware.md section 7: its layout is
public).
"""

import hashlib
import struct
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import Buffer

# pkg_version, header_size, data_size, version_major, version_minor, build_version, num_tpb, hash,
# uuid, name, requested_tpb_count, tpb_per_node, feature_bits, lnc_size, pad
_LAYOUT = struct.Struct("<QQQQQ128sI32s16s256sI64sQI468s")
HEADER_SIZE = _LAYOUT.size
PKG_VERSION = 2  # the hash is sha256
VERSION_MAJOR = 1  # of the container; a reader rejects later ones
VERSION_MINOR = 0
BUILD_PREFIX = "NeuronIR "
NAME_NOTE = " (NeuronIR encoding: for neuron-sim, does not load on a NeuronCore)"
FEATURE_PRIVATE_ENCODING = 1 << 63
"""Feature bit: the instruction files are in NeuronIR's own encoding."""


def invalid(number: int, text: str, path: str | None = None) -> NeuronError:
    """Create the error of an unreadable container: `neff is invalid: ...`."""
    return NeuronError(f"NIR_NEFF{number:03d}", f"neff is invalid: {text}", location=path)


@dataclass(frozen=True)
class Header:
    """The contents of a header; `hash` is the sha256 of header (hash, uuid zeroed) and archive."""

    data_size: int
    name: str
    build_version: str
    version: tuple[int, int] = (VERSION_MAJOR, VERSION_MINOR)
    hash: bytes = bytes(32)
    feature_bits: int = FEATURE_PRIVATE_ENCODING

    @property
    def uuid(self) -> uuid.UUID:
        """Derived from the hash, so that equal files have equal ids."""
        return uuid.UUID(bytes=self.hash[:16], version=4)

    def pack(self, signed: bool = True) -> bytes:
        """Return the 1024 bytes; with zeroed hash and uuid unless `signed`."""
        return _LAYOUT.pack(
            PKG_VERSION,
            HEADER_SIZE,
            self.data_size,
            *self.version,
            _padded(self.build_version, 128),
            1,
            self.hash if signed else bytes(32),
            self.uuid.bytes if signed else bytes(16),
            _padded(self.name, 256),
            1,
            bytes([1]) + bytes(63),
            self.feature_bits,
            1,
            bytes(468),
        )

    def digest(self) -> "hashlib._Hash":
        """Return a hash of this header, to be updated with the archive."""
        return hashlib.sha256(self.pack(signed=False))

    def signed(self, digest: "hashlib._Hash") -> "Header":
        """Return this header with the final hash."""
        return replace(self, hash=digest.digest())

    def sign(self, data: Iterable[Buffer]) -> "Header":
        """Return this header with the hash of itself and of the archive `data`."""
        digest = self.digest()
        for piece in data:
            digest.update(piece)
        return self.signed(digest)


def header_name(module: str) -> str:
    """Return the name field: the module's name, and a note that the file is not for hardware."""
    room = 255 - len(NAME_NOTE.encode())
    return module.encode()[:room].decode(errors="ignore").replace("\0", "") + NAME_NOTE


def _padded(text: str, size: int) -> bytes:
    return text.encode()[: size - 1].ljust(size, b"\0")


def unpack_header(raw: bytes, path: str | None = None) -> Header:
    """Parse the header in `raw`; raises NIR_NEFF001 if there is none, NIR_NEFF003 for a later
    version.
    """
    if len(raw) < HEADER_SIZE:
        raise invalid(1, f"the file has {len(raw)} bytes, a NEFF header has {HEADER_SIZE}", path)
    fields = _LAYOUT.unpack(raw[:HEADER_SIZE])
    build = _text(fields[5])
    if fields[0] != PKG_VERSION or fields[1] != HEADER_SIZE:
        raise invalid(
            1,
            f"the file does not start with a NEFF header (package version {PKG_VERSION}, "
            f"{HEADER_SIZE} bytes)",
            path,
        )
    if build is None or not build.startswith(BUILD_PREFIX):
        raise invalid(
            1,
            f"it was made by '{build or '?'}'; only files made by NeuronIR can be read",
            path,
        )
    if (fields[3], fields[4]) > (VERSION_MAJOR, VERSION_MINOR):
        raise invalid(
            3,
            f"its container version is {fields[3]}.{fields[4]}, made by '{build}'; this program "
            f"reads up to {VERSION_MAJOR}.{VERSION_MINOR}",
            path,
        )
    name = _text(fields[9])
    header = Header(fields[2], name or "", build, (fields[3], fields[4]), fields[7], fields[12])
    if header.pack() != raw[:HEADER_SIZE]:
        raise invalid(1, "its header fields do not fit together", path)
    return header


def _text(raw: bytes) -> str | None:
    try:
        return raw.rstrip(b"\0").decode()
    except UnicodeDecodeError:
        return None

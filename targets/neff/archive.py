"""Read and write the tar archive of a NEFF: plain files, sorted, without times and owners."""

import tarfile
from collections.abc import Mapping

from neuronir.dialects.support.output import Buffer, Stream
from neuronir.targets.neff.header import invalid

_BLOCK = 512
_MAX_MEMBERS = 100_000


def write_archive(members: Mapping[str, Buffer | Stream]) -> list[Buffer | Stream]:
    """Yield the archive in pieces; equal members give equal bytes."""
    pieces: list[Buffer | Stream] = []
    for name in sorted(members):
        data = members[name]
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mode = 0o644
        pieces += [info.tobuf(tarfile.USTAR_FORMAT), data, bytes(-len(data) % _BLOCK)]
    pieces.append(bytes(2 * _BLOCK))
    return pieces


def read_archive(data: memoryview, path: str | None = None) -> dict[str, memoryview]:
    """Return the members by name; raises NIR_NEFF005 for anything `write_archive` would not
    write.
    """
    members: dict[str, memoryview] = {}
    at = 0
    while True:
        block = bytes(data[at : at + _BLOCK])
        if len(block) < _BLOCK:
            raise invalid(5, "its archive has no end", path)
        if block == bytes(_BLOCK):
            break
        name, size = _member(block, path)
        if name in members:
            raise invalid(5, f"its archive contains '{name}' twice", path)
        if len(members) >= _MAX_MEMBERS:
            raise invalid(5, f"its archive contains more than {_MAX_MEMBERS} files", path)
        at += _BLOCK
        if size > len(data) - at:
            raise invalid(5, f"its archive ends inside '{name}'", path)
        members[name] = data[at : at + size]
        at += size + -size % _BLOCK
    if bytes(data[at:]) != bytes(2 * _BLOCK):
        raise invalid(5, "there are bytes after the end of its archive", path)
    return members


def _member(block: bytes, path: str | None) -> tuple[str, int]:
    try:
        info = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    # A damaged number field can also surface as a plain ValueError.
    except (tarfile.TarError, ValueError) as error:
        raise invalid(5, f"its archive is malformed ({error})", path) from error
    name = info.name
    if info.type != tarfile.REGTYPE:
        raise invalid(5, f"its archive contains '{name}', which is not a regular file", path)
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or any(p in ("", ".", "..") for p in parts):
        raise invalid(5, f"its archive contains a file named {name!r}", path)
    if info.size < 0:
        raise invalid(5, f"its archive says that '{name}' has {info.size} bytes", path)
    return name, info.size

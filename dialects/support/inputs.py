"""Open the files that a compile reads, and report afterwards what was read.

A file may change or be replaced during a compile. Code that keys a result by the contents of files
therefore registers a `Readings`, and finally asks for the digests of the files that were actually
opened, instead of the current files with those names.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

_PIECE = 1 << 20
_PLAIN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""Flags for plain files: opening a fifo that took the name meanwhile must not block."""


class Changed(Exception):
    """Raised if a file changed after it was opened."""


def open_input(path: str | os.PathLike[str], *, plain: bool = False) -> BinaryIO:
    """Open a file for reading, and notify listeners.

    Raises OSError, with `plain` also if it is not a regular file (which is then not opened).
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        if plain:
            raise no_plain_file(path)
        for readings in _listening.get():
            readings.streams.append(os.path.realpath(path))
        return open(path, "rb")
    return _opened(os.open(path, _PLAIN), path)


def open_below(folder: Path, path: Path) -> BinaryIO:
    """Open a plain file below a folder without following links, and notify listeners.

    `path` begins with `folder`; both are resolved. Raises OSError.
    """
    *inner, name = path.relative_to(folder).parts
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in inner:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            place, outer = os.open(part, flags, dir_fd=place), place
            os.close(outer)
        if not stat.S_ISREG(os.stat(name, dir_fd=place, follow_symlinks=False).st_mode):
            raise no_plain_file(path)
        return _opened(os.open(name, _PLAIN | os.O_NOFOLLOW, dir_fd=place), path)
    finally:
        os.close(place)


def read_input(path: str | os.PathLike[str], *, plain: bool = False) -> bytes:
    """Return the bytes of a file, opened by `open_input`."""
    with open_input(path, plain=plain) as file:
        return file.read()


def no_plain_file(path: str | os.PathLike[str]) -> OSError:
    """Create the error for a folder, fifo or device instead of a plain file."""
    return OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))


def digest_of_file(descriptor: int) -> str:
    """Return the sha256 of an open plain file; its read position is unchanged."""
    digest, at = hashlib.sha256(), 0
    while piece := os.pread(descriptor, _PIECE, at):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()


def _opened(descriptor: int, path: str | os.PathLike[str]) -> BinaryIO:
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise no_plain_file(path)
        for readings in _listening.get():
            readings.add(descriptor, os.path.realpath(path))
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


@dataclass(frozen=True)
class _Reading:
    """An opened file: its own descriptor, and its state at that time."""

    path: str
    descriptor: int
    state: tuple[int, ...]


def _state(descriptor: int) -> tuple[int, ...]:
    """Return what changes if a file changes. Programs cannot set ctime."""
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@dataclass
class Readings:
    """The opened plain files, and `streams`: the paths of other files."""

    streams: list[str] = field(default_factory=list)
    _files: list[_Reading] = field(default_factory=list)

    def add(self, descriptor: int, path: str) -> None:
        """Record an open file, which is kept open."""
        own = os.dup(descriptor)
        self._files.append(_Reading(path, own, _state(own)))

    def digests(self) -> list[tuple[str, str]]:
        """Return path and sha256 of each opened file; raises `Changed` if one has changed."""
        found = []
        known: dict[tuple[int, ...], str] = {}
        for file in self._files:
            if file.state not in known:
                known[file.state] = digest_of_file(file.descriptor)
            if _state(file.descriptor) != file.state:
                raise Changed(f"'{file.path}' was changed meanwhile")
            found.append((file.path, known[file.state]))
        return found

    def close(self) -> None:
        """Close the files."""
        while self._files:
            with suppress(OSError):
                os.close(self._files.pop().descriptor)


_listening: ContextVar[tuple[Readings, ...]] = ContextVar("neuronir_readings", default=())


@contextmanager
def listening(readings: Readings) -> Iterator[None]:
    """Record in `readings` what is opened while the context is active, then close the files.

    This covers the current thread and threads that inherit its context.
    """
    token = _listening.set((*_listening.get(), readings))
    try:
        yield
    finally:
        _listening.reset(token)
        readings.close()

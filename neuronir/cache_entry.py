"""One entry of the cache on the disk: written by its owner, and trusted only as far as it fits.

`model.neff` is the compiled model, `entry.json` tells of it: the entry's name, the digest of the
model, the messages of the compile, and the digest of all that. A file is opened without following
links and without waiting, and must be a plain one that only its owner can write: whoever else could
would choose what a user runs, and what the user's terminal is told.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = "model.neff"
ABOUT = "entry.json"
_LARGEST_ABOUT = 64 << 20
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class Hit:
    """A compiled model: its bytes, and the messages of its compile as (level, text)."""

    data: bytes
    messages: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Damaged:
    """An entry that is there and not to be used, and why."""

    why: str


def read_entry(entry: Path) -> Hit | Damaged | None:
    """What an entry holds, which is marked as used now; None where there is none."""
    try:
        with _folder(entry) as folder:
            about = json.loads(_read(folder, ABOUT, _LARGEST_ABOUT))
            own = about.pop("own")
            if own != digest_of_about(about) or about["name"] != entry.name:
                return Damaged(f"'{ABOUT}' does not fit its digest or its name")
            messages = [(int(level), str(text)) for level, text in about["messages"]]
            data = _read(folder, MODEL)
            if about["sha256"] != hashlib.sha256(data).hexdigest():
                return Damaged(f"'{MODEL}' does not fit its digest")
            os.utime(folder)
    except FileNotFoundError as error:
        if error.filename == os.fspath(entry):
            return None
        return Damaged(f"'{error.filename}' is missing")
    except OSError as error:
        return Damaged(error.strerror or str(error))
    # What json raises, and what an object of another form does.
    except (ValueError, RecursionError, OverflowError, KeyError, TypeError, AttributeError):
        return Damaged(f"'{ABOUT}' is damaged")
    except MemoryError:
        return Damaged("it does not fit into memory")
    return Hit(data, messages)


def write_about(part: Path, entry: Path, messages: Sequence[tuple[int, str]]) -> None:
    """Complete a folder that holds MODEL and is to become an entry; OSError where that fails."""
    part.chmod(0o700)
    (part / MODEL).chmod(0o600)
    with (part / MODEL).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    about: dict[str, Any] = {
        "name": entry.name,
        "sha256": digest,
        "messages": [list(m) for m in messages],
    }
    about["own"] = digest_of_about(about)
    (part / ABOUT).write_text(json.dumps(about))
    (part / ABOUT).chmod(0o600)


def digest_of_about(about: dict[str, Any]) -> str:
    """The digest of ABOUT, without itself."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


@contextmanager
def _folder(entry: Path) -> Iterator[int]:
    """An entry's folder, opened and checked."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(entry, flags)
    try:
        _check_owner(os.fstat(descriptor), "it")
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: int, name: str, limit: int | None = None) -> bytes:
    """The bytes of a plain file in a folder."""
    if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise OSError(errno.EINVAL, f"'{name}' is not a regular file", name)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, f"'{name}' is not a regular file", name)
        _check_owner(found, f"'{name}'")
        if limit is not None and found.st_size > limit:
            raise OSError(errno.EFBIG, f"'{name}' is too large", name)
        return file.read()


def _check_owner(found: os.stat_result, what: str) -> None:
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{what} belongs to another user")
    if found.st_mode & _OTHERS_WRITE:
        raise PermissionError(errno.EPERM, f"other users can write {what}")

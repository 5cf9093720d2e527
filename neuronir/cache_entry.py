"""Read and write one entry of the cache, which is trusted only if it matches its digests.

`model.neff` is the compiled model, `entry.json` describes it: the entry's name, the digest of the
model, the messages of the compile, what was compiled, and the digest of all that. The entry of a
compile that failed has its diagnostic in `entry.json` and no model.

A file on disk is opened without following links and without blocking. It must be a plain file that
only its owner can write. Any other writer could choose what a user runs, and what the user's
terminal shows.
"""

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuronir.dialects.support.printable import printable

MODEL = "model.neff"
ABOUT = "entry.json"
LARGEST_ABOUT = 64 << 20
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

Messages = Sequence[tuple[int, str]]
"""The messages of a compile as (level, text)."""


@dataclass(frozen=True)
class About:
    """The description of an entry.

    `sha256` is the digest of the model: None if the compile failed with `failure`, a diagnostic as
    JSON, and None for an entry that is not written yet. `label` describes the compiled model for
    people.
    """

    messages: Messages
    sha256: str | None = None
    failure: Mapping[str, Any] | None = None
    label: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hit:
    """A compiled model: its bytes, and the messages of its compile."""

    data: bytes
    messages: Messages


@dataclass(frozen=True)
class Failed:
    """A failed compile: its diagnostic as JSON, and the preceding messages."""

    failure: Mapping[str, Any]
    messages: Messages


@dataclass(frozen=True)
class Damaged:
    """Raised for an existing entry that must not be used, with the reason."""

    why: str


Found = Hit | Failed | Damaged


def skipped(entry: Path) -> str:
    """Return the message about a compile that is skipped, because it failed before."""
    return (
        f"Got a cached failed neff at {printable(str(entry))}. Will skip compilation, please set "
        "--retry_failed_compilation for recompilation."
    )


def read_entry(entry: Path, *, touch: bool = True) -> Found | None:
    """Return the contents of an entry, marking it as used unless `touch` is False.

    Returns None if there is none.
    """
    try:
        with _folder(entry) as folder:
            about = about_of(_read(folder, ABOUT, LARGEST_ABOUT), entry.name)
            found = (
                about
                if isinstance(about, Damaged)
                else found_of(about, lambda: _read(folder, MODEL))
            )
            if touch and not isinstance(found, Damaged):
                os.utime(folder)
            return found
    except FileNotFoundError as error:
        # Another process may remove an entry while it is read, which is the same as no entry.
        if error.filename == os.fspath(entry) or not entry.exists():
            return None
        return Damaged(f"'{error.filename}' is missing")
    except OSError as error:
        return Damaged(error.strerror or str(error))
    except MemoryError:
        return Damaged("it does not fit into memory")


def read_about(entry: Path) -> About | Damaged | None:
    """Return the description of an entry without reading the model; None if there is no entry."""
    try:
        with _folder(entry) as folder:
            return about_of(_read(folder, ABOUT, LARGEST_ABOUT), entry.name)
    except FileNotFoundError as error:
        if error.filename == os.fspath(entry) or not entry.exists():
            return None
        return Damaged(f"'{error.filename}' is missing")
    except OSError as error:
        return Damaged(error.strerror or str(error))


def read_owned(folder: Path, name: str) -> bytes:
    """Return the bytes of a file and folder that only this user can write; raises OSError
    otherwise.
    """
    with _folder(folder) as descriptor:
        return _read(descriptor, name, LARGEST_ABOUT)


def about_of(text: bytes, name: str) -> About | Damaged:
    """Return the description in ABOUT of the entry `name`."""
    try:
        about = json.loads(text)
        own = about.pop("own")
        if own != digest_of_about(about) or about["name"] != name:
            return Damaged(f"'{ABOUT}' does not fit its digest or its name")
        messages = [(int(level), str(text)) for level, text in about["messages"]]
        label = {str(key): str(value) for key, value in about.get("label", {}).items()}
        failure = about.get("failure")
        if failure is not None:
            return About(messages, failure=dict(failure), label=label)
        return About(messages, str(about["sha256"]), label=label)
    # Exceptions of json, and of an object of another form.
    except (ValueError, RecursionError, OverflowError, KeyError, TypeError, AttributeError):
        return Damaged(f"'{ABOUT}' is damaged")
    except MemoryError:
        return Damaged("it does not fit into memory")


def found_of(about: About, read: Callable[[], bytes]) -> Found:
    """Return an entry with its model, which `read` reads, if it matches its digest."""
    if about.failure is not None:
        return Failed(about.failure, about.messages)
    data = read()
    if about.sha256 != hashlib.sha256(data).hexdigest():
        return Damaged(f"'{MODEL}' does not fit its digest")
    return Hit(data, about.messages)


def write_about(part: Path, name: str, about: About) -> None:
    """Complete a folder that will become the entry `name`; raises OSError on failure.

    The folder contains MODEL, or nothing if the compile failed. The digest of MODEL is computed
    here.
    """
    part.chmod(0o700)
    written: dict[str, Any] = {"name": name, "messages": [list(m) for m in about.messages]}
    if about.failure is not None:
        written["failure"] = dict(about.failure)
    else:
        (part / MODEL).chmod(0o600)
        with (part / MODEL).open("rb") as stream:
            written["sha256"] = hashlib.file_digest(stream, "sha256").hexdigest()
    if about.label:
        written["label"] = dict(about.label)
    written["own"] = digest_of_about(written)
    (part / ABOUT).write_text(json.dumps(written))
    (part / ABOUT).chmod(0o600)


def digest_of_about(about: dict[str, Any]) -> str:
    """Return the digest of ABOUT, without the digest itself."""
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
    """Return the bytes of a plain file in a folder."""
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

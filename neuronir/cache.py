"""A persistent cache of compiled models, by what they were made from.

An entry is `<folder>/neuronxcc-<version>/MODULE_<model>+<how>/` with `model.neff` and `entry.json`:
the layout of the public Neuron cache (docs/features.md M01). `<model>` is the digest of the input
files, `<how>` that of the options and of the compiler itself: its source, and the versions of what
it is built on. Nothing here imports the compiler, so that a hit answers at once.

The folder is one on this computer (`Cache`), or a URL that fsspec opens (`cache_remote`).

Files are hashed whole each time: no size or time of a file says that it is what it was.
"""

import errno
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from neuronir.cache_entry import (
    About,
    Damaged,
    Failed,
    Found,
    Hit,
    Messages,
    read_about,
    read_entry,
    write_about,
)
from neuronir.dialects.support.inputs import Changed, Readings, digest_of_file, open_input
from neuronir.dialects.support.parts import lock, sweep
from neuronir.version import __version__

FOLDER_VARIABLE = "NEURON_COMPILE_CACHE_URL"
"""The environment variable with the cache's folder; empty for no cache."""

LIMIT_BYTES = 8 << 30
"""The largest size of a cache by default; beyond it the least recently used entries go."""

_BUILT_ON = ("xdsl", "numpy", "ml_dtypes", "lark")
_PART = ".part-"  # of an entry that is being written
_TRIES = 8  # of a name that others break or take
_DIGITS = 32


@dataclass(frozen=True)
class Key:
    """The folder of an entry, and the digests of the files that it is for, by path."""

    entry: Path
    files: Mapping[str, str]

    def check(self, readings: Readings) -> None:
        """`Changed` unless all that was read is what the key was made from."""
        if readings.streams:
            raise Changed(f"'{readings.streams[0]}' is not a regular file")
        for path, digest in readings.digests():
            if self.files.get(path) != digest:
                raise Changed(f"'{path}' is not what it was when the compile began")


class Store(Protocol):
    """A place that holds entries by name (`neuronxcc-<version>/MODULE_...`)."""

    def key(self, files: Mapping[str, str], options: Mapping[str, str]) -> Key:
        """The key for these input files, by what each is for, and options."""

    def get(self, entry: Path) -> Found | None:
        """The contents of an entry, which is marked as used; None where there is none."""

    def part(self, entry: Path) -> AbstractContextManager[Path]:
        """A folder in which to write MODEL of an entry, for `put`; it is gone afterwards."""

    def put(
        self,
        part: Path,
        entry: Path,
        messages: Messages,
        *,
        failure: Mapping[str, Any] | None = None,
        label: Mapping[str, str] | None = None,
    ) -> None:
        """Keep a part as an entry; OSError where that fails."""

    def entries(self) -> Sequence["Entry"]:
        """All entries, the least recently used first."""

    def look(self, entry: Path) -> Found | None:
        """As `get`, without a mark."""

    def about(self, entry: Path) -> About | Damaged | None:
        """The description of an entry; its model is not read."""

    def remove(self, entry: Path) -> None:
        """Remove an entry; OSError where that fails."""


@dataclass(frozen=True, order=True)
class Entry:
    """An entry of a store: when it was last used (seconds since 1970; in a remote store, when it
    was written), its path and its size in bytes."""

    used: float
    path: Path
    size: int = field(compare=False)


def trim(store: Store, limit: int, keep: Path | None = None, *, dry: bool = False) -> list[Entry]:
    """Remove the least recently used entries until the rest is within `limit` bytes; those that
    were removed. `keep` stays. With `dry`, nothing is removed."""
    entries = store.entries()
    total = sum(entry.size for entry in entries)
    removed = []
    for entry in entries:
        if total <= limit:
            break
        if entry.path != keep:
            with suppress(OSError):  # another process may remove it at the same time
                if not dry:
                    store.remove(entry.path)
                removed.append(entry)
            total -= entry.size
    return removed


@dataclass(frozen=True)
class Cache:
    """The cache in a folder, which is made when the first entry is put into it."""

    folder: Path
    limit: int = LIMIT_BYTES

    def key(self, files: Mapping[str, str], options: Mapping[str, str]) -> Key:
        """The key for these input files, by what each is for, and options.

        Raises OSError where a file cannot be read or is not a regular file.
        """
        return key_of(self.folder, files, options)

    def get(self, entry: Path) -> Found | None:
        """The contents of an entry, which is marked as used; None where there is none."""
        return read_entry(entry)

    def look(self, entry: Path) -> Found | None:
        """As `get`, without a mark."""
        return read_entry(entry, touch=False)

    def about(self, entry: Path) -> About | Damaged | None:
        """The description of an entry; its model is not read."""
        return read_about(entry)

    @contextmanager
    def part(self, entry: Path) -> Iterator[Path]:
        """A folder in which to write MODEL of an entry, for `put`; it is gone afterwards."""
        entry.parent.mkdir(parents=True, exist_ok=True)
        descriptor, part = _locked_folder(entry.parent)
        try:
            yield part
        finally:
            # Also on KeyboardInterrupt: a part of an entry must not stay behind.
            shutil.rmtree(part, ignore_errors=True)
            os.close(descriptor)

    def put(
        self,
        part: Path,
        entry: Path,
        messages: Messages,
        *,
        failure: Mapping[str, Any] | None = None,
        label: Mapping[str, str] | None = None,
    ) -> None:
        """Keep a part as an entry, whole or not at all; OSError where that fails.

        The part holds MODEL, or nothing if the compile failed with `failure`. An entry that another
        process put there meanwhile stays: it was made from the same. A failure never replaces a
        model.
        """
        write_about(part, entry.name, messages, failure=failure, label=label)
        self._take_name(part, entry, (Hit, Failed) if failure is not None else (Hit,))
        self.sweep()
        trim(self, self.limit, keep=entry)

    def _take_name(self, part: Path, entry: Path, stays: tuple[type[Found], ...]) -> None:
        """Give a whole entry its name, unless an entry of one of the types `stays` has it. A folder
        that is there does not let it go: it is first put aside, all at once."""
        for _ in range(_TRIES):
            try:
                part.rename(entry)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
            else:
                return
            if isinstance(self.get(entry), stays):
                return
            with suppress(FileNotFoundError):  # another process was faster
                self.remove(entry)

    def entries(self) -> list[Entry]:
        """All entries, the least recently used first."""
        found = []
        for path in self.folder.glob("neuronxcc-*/MODULE_*"):
            with suppress(OSError):  # another process may remove it at the same time
                size = sum(file.lstat().st_size for file in path.iterdir()) if path.is_dir() else 0
                found.append(Entry(path.lstat().st_mtime_ns / 1e9, path, size))
        return sorted(found)

    def remove(self, entry: Path) -> None:
        """Remove an entry, all at once: who reads it meanwhile finds all of it, or none.

        Raises FileNotFoundError where there is none, OSError where it cannot be removed.
        """
        aside = Path(tempfile.mkdtemp(prefix=_PART, dir=entry.parent))
        try:
            entry.rename(aside / entry.name)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def sweep(self) -> int:
        """Remove the parts that killed processes left; how many there were."""
        parts = [str(part) for part in self.folder.glob(f"neuronxcc-*/{_PART}*")]
        sweep(parts, shutil.rmtree)
        return sum(not os.path.exists(part) for part in parts)


def key_of(folder: Path, files: Mapping[str, str], options: Mapping[str, str]) -> Key:
    """The key in `folder` for these input files, by what each is for, and options."""
    digests = {}
    for use, name in files.items():
        with open_input(name, plain=True) as file:
            digests[use] = os.path.realpath(name), digest_of_file(file.fileno())
    model = _digest([f"{use}={digest}" for use, (_, digest) in sorted(digests.items())])
    how = _digest([f"{key}={value}" for key, value in sorted(options.items())] + [compiler()])
    name = f"MODULE_{model[:_DIGITS]}+{how[:_DIGITS]}"
    return Key(folder / f"neuronxcc-{__version__}" / name, dict(digests.values()))


def _locked_folder(parent: Path) -> tuple[int, Path]:
    """A new part, open and locked."""
    while True:
        part = Path(tempfile.mkdtemp(prefix=_PART, dir=parent))
        with suppress(FileNotFoundError):  # another process swept it before it was locked
            descriptor = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
            if lock(descriptor, part):
                return descriptor, part
            os.close(descriptor)


@cache
def compiler() -> str:
    """A digest of this compiler: its source, and what it is built on."""
    root = Path(__file__).parent
    pieces = [platform.python_version(), *(f"{name} {version(name)}" for name in _BUILT_ON)]
    for folder, inner, names in os.walk(root, followlinks=True):
        inner.sort()
        for name in sorted(names):
            if name.endswith((".py", ".lark", ".json")):
                path = Path(folder, name)
                pieces.append(
                    f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
                )
    return _digest(pieces)


def _digest(pieces: Sequence[str]) -> str:
    """Of texts, in which a file's name may hold bytes that are no UTF-8 (surrogates)."""
    return hashlib.sha256("\0".join(pieces).encode(errors="surrogatepass")).hexdigest()

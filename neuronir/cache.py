"""Cache compiled models persistently, keyed by their inputs.

An entry is `<folder>/neuronxcc-<version>/MODULE_<model>+<how>/` with `model.neff` and `entry.json`:
the layout of the public Neuron cache (docs/features.md M01). `<model>` is the digest of the input
files. `<how>` is the digest of the options and of the compiler: its source, and the versions of its
dependencies. This module does not import the compiler, so a hit is fast.

The folder is one on this computer (`Cache`), or a URL that fsspec opens (`cache_remote`).

Files are hashed completely each time, because size and time do not prove that a file is unchanged.
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
from typing import Protocol

from neuronir.cache_entry import (
    About,
    Damaged,
    Failed,
    Found,
    Hit,
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
"""The default size limit of a cache; beyond it the least recently used entries are removed."""

BUILT_ON = ("xdsl", "numpy", "ml_dtypes", "lark")
"""The packages whose versions are part of a key."""
_PART = ".part-"  # of an entry that is being written
_TRIES = 8  # of a name whose lock others may break or take
_DIGITS = 32


@dataclass(frozen=True)
class Key:
    """The folder of an entry, and the digests of its input files, by path."""

    entry: Path
    files: Mapping[str, str]

    def check(self, readings: Readings) -> None:
        """Raise `Changed` unless the files that were read match the key."""
        if readings.streams:
            raise Changed(f"'{readings.streams[0]}' is not a regular file")
        for path, digest in readings.digests():
            if self.files.get(path) != digest:
                raise Changed(f"'{path}' is not what it was when the compile began")


class Store(Protocol):
    """A store of entries by name (`neuronxcc-<version>/MODULE_...`)."""

    def key(self, files: Mapping[str, str], options: Mapping[str, str]) -> Key:
        """Return the key for these input files, by purpose, and options."""

    def entry(self, digests: Mapping[str, str], options: Mapping[str, str]) -> Path:
        """Return the entry for inputs with these digests, by purpose, and options."""

    def get(self, entry: Path) -> Found | None:
        """Return the contents of an entry and mark it as used; None if there is none."""

    def part(self, entry: Path) -> AbstractContextManager[Path]:
        """Create a temporary folder in which to write MODEL of an entry, for `put`."""

    def put(self, part: Path, entry: Path, about: About) -> None:
        """Store a part as an entry; raises OSError on failure."""

    def entries(self) -> Sequence["Entry"]:
        """Return all entries, the least recently used first."""

    def look(self, entry: Path) -> Found | None:
        """Return the contents of an entry like `get`, without marking it as used."""

    def about(self, entry: Path) -> About | Damaged | None:
        """Return the description of an entry; its model is not read."""

    def remove(self, entry: Path) -> None:
        """Remove an entry; raises OSError on failure."""


@dataclass(frozen=True, order=True)
class Entry:
    """An entry of a store: when it was last used (seconds since 1970; in a remote store, when it
    was written), its path and its size in bytes.
    """

    used: float
    path: Path
    size: int = field(compare=False)


def trim(store: Store, limit: int, keep: Path | None = None, *, dry: bool = False) -> list[Entry]:
    """Remove the least recently used entries until the rest is within `limit` bytes.

    Returns the removed entries. `keep` is never removed. With `dry`, nothing is removed. An entry
    that cannot be removed is skipped, and its OSError is raised at the end.
    """
    entries = store.entries()
    total = sum(entry.size for entry in entries)
    removed = []
    refused: OSError | None = None
    for entry in entries:
        if total <= limit:
            break
        if entry.path == keep:
            continue
        try:
            if not dry:
                store.remove(entry.path)
            removed.append(entry)
        except FileNotFoundError:
            pass  # another process removed it at the same time
        except OSError as error:
            refused = refused or error
            continue
        total -= entry.size
    if refused is not None:
        raise refused
    return removed


@dataclass(frozen=True)
class Cache:
    """The cache in a folder, which is created with the first entry."""

    folder: Path
    limit: int = LIMIT_BYTES

    def key(self, files: Mapping[str, str], options: Mapping[str, str]) -> Key:
        """Return the key for these input files, by purpose, and options.

        Raises OSError if a file cannot be read or is not a regular file.
        """
        return key_of(self.folder, files, options)

    def entry(self, digests: Mapping[str, str], options: Mapping[str, str]) -> Path:
        """Return the entry for inputs with these digests, by purpose, and options."""
        return entry_of(self.folder, digests, options)

    def get(self, entry: Path) -> Found | None:
        """Return the contents of an entry and mark it as used; None if there is none."""
        return read_entry(entry)

    def look(self, entry: Path) -> Found | None:
        """Return the contents of an entry like `get`, without marking it as used."""
        return read_entry(entry, touch=False)

    def about(self, entry: Path) -> About | Damaged | None:
        """Return the description of an entry; its model is not read."""
        return read_about(entry)

    @contextmanager
    def part(self, entry: Path) -> Iterator[Path]:
        """Create a temporary folder in which to write MODEL of an entry, for `put`."""
        entry.parent.mkdir(parents=True, exist_ok=True)
        descriptor, part = _locked_folder(entry.parent)
        try:
            yield part
        finally:
            # Also on KeyboardInterrupt: a partial entry must not stay behind.
            shutil.rmtree(part, ignore_errors=True)
            os.close(descriptor)

    def put(self, part: Path, entry: Path, about: About) -> None:
        """Store a part as an entry atomically; raises OSError on failure.

        The part contains MODEL, or nothing if the compile failed. An entry that another process
        stored meanwhile is kept, because it was made from the same inputs. A failed compile never
        replaces a compiled model.
        """
        write_about(part, entry.name, about)
        self._take_name(part, entry, (Hit, Failed) if about.failure is not None else (Hit,))
        self.sweep()
        # The entry is stored; `neuron-cache clear --limit` tells why others cannot be removed.
        with suppress(OSError):
            trim(self, self.limit, keep=entry)

    def _take_name(self, part: Path, entry: Path, stays: tuple[type[Found], ...]) -> None:
        """Rename a complete part to its final name, unless an entry of one of the types `stays` has
        it; raises OSError if other processes take the name again and again.

        An existing folder cannot be replaced by a rename, so it is first moved away atomically.
        """
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
        raise OSError(errno.EBUSY, f"other processes have taken '{entry.name}' {_TRIES} times")

    def entries(self) -> list[Entry]:
        """Return all entries, the least recently used first."""
        found = []
        for path in self.folder.glob("neuronxcc-*/MODULE_*"):
            with suppress(OSError):  # another process may remove it at the same time
                size = sum(file.lstat().st_size for file in path.iterdir()) if path.is_dir() else 0
                found.append(Entry(path.lstat().st_mtime_ns / 1e9, path, size))
        return sorted(found)

    def remove(self, entry: Path) -> None:
        """Remove an entry atomically: concurrent readers find all of it, or none.

        Raises FileNotFoundError if there is none, OSError if it cannot be removed.
        """
        aside = Path(tempfile.mkdtemp(prefix=_PART, dir=entry.parent))
        try:
            entry.rename(aside / entry.name)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def sweep(self) -> int:
        """Remove partial entries of killed processes; return their number."""
        parts = [str(part) for part in self.folder.glob(f"neuronxcc-*/{_PART}*")]
        sweep(parts, shutil.rmtree)
        return sum(not os.path.exists(part) for part in parts)


def key_of(folder: Path, files: Mapping[str, str], options: Mapping[str, str]) -> Key:
    """Return the key in `folder` for these input files, by purpose, and options."""
    digests = {}
    for use, name in files.items():
        with open_input(name, plain=True) as file:
            digests[use] = os.path.realpath(name), digest_of_file(file.fileno())
    entry = entry_of(folder, {use: digest for use, (_, digest) in digests.items()}, options)
    return Key(entry, dict(digests.values()))


def entry_of(folder: Path, digests: Mapping[str, str], options: Mapping[str, str]) -> Path:
    """Return the entry in `folder` for inputs with these digests, by purpose, and options."""
    model = _digest([f"{use}={digest}" for use, digest in sorted(digests.items())])
    how = _digest([f"{key}={value}" for key, value in sorted(options.items())] + [compiler()])
    name = f"MODULE_{model[:_DIGITS]}+{how[:_DIGITS]}"
    return folder / f"neuronxcc-{__version__}" / name


def _locked_folder(parent: Path) -> tuple[int, Path]:
    """Create an open and locked part."""
    while True:
        part = Path(tempfile.mkdtemp(prefix=_PART, dir=parent))
        with suppress(FileNotFoundError):  # another process removed it before it was locked
            descriptor = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
            if lock(descriptor, part):
                return descriptor, part
            os.close(descriptor)


@cache
def compiler() -> str:
    """Return a digest of this compiler: its source, and its dependencies."""
    root = Path(__file__).parent
    pieces = [platform.python_version(), *(f"{name} {version(name)}" for name in BUILT_ON)]
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
    """Hash texts, in which a file's name may contain bytes that are not UTF-8 (surrogates)."""
    return hashlib.sha256("\0".join(pieces).encode(errors="surrogatepass")).hexdigest()

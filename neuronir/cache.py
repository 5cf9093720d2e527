"""A persistent cache of compiled models, by what they were made from.

An entry is `<folder>/neuronxcc-<version>/MODULE_<model>+<how>/` with `model.neff` and `entry.json`:
the layout of the public Neuron cache (docs/features.md M01). `<model>` is the digest of the input
files, `<how>` that of the options and of the compiler itself: its source, and the versions of what
it is built on. Nothing here imports the compiler, so that a hit answers at once.

Files are hashed whole each time: no size or time of a file says that it is what it was.
"""

import errno
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from neuronir.cache_entry import Damaged, Hit, read_entry, write_about
from neuronir.dialects.support.inputs import Changed, Readings, digest_of_file, open_input
from neuronir.dialects.support.parts import lock, sweep
from neuronir.version import __version__

FOLDER_VARIABLE = "NEURON_COMPILE_CACHE_URL"
"""The environment variable with the cache's folder; empty for no cache."""

LIMIT_BYTES = 8 << 30
"""Above this size in all, the entries that were used the longest ago go."""

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


@dataclass(frozen=True)
class Cache:
    """The cache in a folder, which is made when the first entry is put into it."""

    folder: Path
    limit: int = LIMIT_BYTES

    def key(self, files: Mapping[str, str], options: Mapping[str, str]) -> Key:
        """The key for these input files, by what each is for, and options.

        Raises OSError where a file cannot be read or is not a regular file.
        """
        digests = {}
        for use, name in files.items():
            with open_input(name, plain=True) as file:
                digests[use] = os.path.realpath(name), digest_of_file(file.fileno())
        model = _digest([f"{use}={digest}" for use, (_, digest) in sorted(digests.items())])
        how = _digest([f"{key}={value}" for key, value in sorted(options.items())] + [compiler()])
        name = f"MODULE_{model[:_DIGITS]}+{how[:_DIGITS]}"
        entry = self.folder / f"neuronxcc-{__version__}" / name
        return Key(entry, dict(digests.values()))

    def get(self, entry: Path) -> Hit | Damaged | None:
        """What the entry holds; None where there is none."""
        return read_entry(entry)

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

    def put(self, part: Path, entry: Path, messages: Sequence[tuple[int, str]]) -> None:
        """Keep the MODEL in a part as an entry, whole or not at all; OSError where that fails.

        An entry that another process put there meanwhile stays: it was made from the same.
        """
        write_about(part, entry, messages)
        self._take_name(part, entry)
        self._trim(entry)

    def _take_name(self, part: Path, entry: Path) -> None:
        """Give a whole entry its name, unless that is a whole entry already. A folder that is there
        does not let it go: one that is not whole is first put aside, all at once."""
        for _ in range(_TRIES):
            try:
                part.rename(entry)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
            else:
                return
            if isinstance(self.get(entry), Hit):
                return
            aside = Path(tempfile.mkdtemp(prefix=_PART, dir=entry.parent))
            with suppress(FileNotFoundError):  # another process was faster
                entry.rename(aside / entry.name)
            shutil.rmtree(aside, ignore_errors=True)

    def _trim(self, newest: Path) -> None:
        """Remove the entries that were used the longest ago until the rest is within the limit, and
        the parts that killed processes left."""
        sweep(map(str, self.folder.glob(f"neuronxcc-*/{_PART}*")), shutil.rmtree)
        entries = []
        for path in self.folder.glob("neuronxcc-*/MODULE_*"):
            with suppress(OSError):  # another process may remove it at the same time
                size = sum(file.lstat().st_size for file in path.iterdir())
                entries.append((path.stat().st_mtime_ns, path.name, path, size))
        total = sum(size for *_, size in entries)
        for _, _, path, size in sorted(entries):
            if total <= self.limit:
                break
            if path != newest:
                shutil.rmtree(path, ignore_errors=True)
                total -= size


def _locked_folder(parent: Path) -> tuple[int, Path]:
    """A new part, open and locked."""
    while True:
        part = Path(tempfile.mkdtemp(prefix=_PART, dir=parent))
        with suppress(FileNotFoundError):  # another process swept it before it was locked
            descriptor = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
            if lock(descriptor, part):
                return descriptor, part
            os.close(descriptor)


def find_cache(folder: str | None) -> Cache | None:
    """The cache in `folder`, else where the environment says, else the user's own.

    None where the environment says that there is none, or no folder of the user is known.
    """
    folder = os.environ.get(FOLDER_VARIABLE) if folder is None else folder
    if folder is None:
        with suppress(RuntimeError):
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
            return Cache(Path(base) / "neuronir")
        return None
    return Cache(Path(folder)) if folder else None


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

"""A persistent cache of compiled models, by what they were made from.

An entry is `<folder>/neuronxcc-<version>/MODULE_<model>+<how>/` with `model.neff` and `entry.json`:
the layout of the public Neuron cache (features.md M01). `<model>` is the digest of the input files,
`<how>` that of the options and of the compiler itself: its source, and the versions of what it is
built on. Nothing here imports the compiler, so that a hit answers at once.
"""

import errno
import hashlib
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import neuronir
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import atomic_write

FOLDER_VARIABLE = "NEURON_COMPILE_CACHE_URL"
"""The environment variable with the cache's folder; empty for no cache."""

LIMIT_BYTES = 8 << 30
"""Above this size in all, the entries that were used the longest ago go."""

_BUILT_ON = ("xdsl", "numpy", "ml_dtypes", "lark")
_SETTLED_S = 2.0
_PART = ".part-"  # of an entry that is being written
_STALE_S = 24 * 60 * 60.0  # no process writes that long
_TRIES = 8  # of a name that others break or take
_DIGITS = 32


@dataclass(frozen=True)
class Hit:
    """A compiled model: its bytes, and the messages of its compile as (level, text)."""

    data: bytes
    messages: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Cache:
    """The cache in a folder, which is made when the first entry is put into it."""

    folder: Path
    limit: int = LIMIT_BYTES

    def entry(self, files: Sequence[str], options: Mapping[str, str]) -> Path:
        """The folder of the entry for these input files (in order) and options.

        Raises OSError where a file cannot be read.
        """
        model = _digest([self._file_digest(Path(name)) for name in files])
        how = _digest([f"{key}={value}" for key, value in sorted(options.items())] + [compiler()])
        name = f"MODULE_{model[:_DIGITS]}+{how[:_DIGITS]}"
        return self.folder / f"neuronxcc-{neuronir.__version__}" / name

    def get(self, entry: Path) -> Hit | None:
        """What the entry holds; None where there is none, or not a whole one."""
        try:
            data = (entry / "model.neff").read_bytes()
            about = json.loads((entry / "entry.json").read_text())
            if about["sha256"] != hashlib.sha256(data).hexdigest():
                return None
            messages = [(int(level), str(text)) for level, text in about["messages"]]
            os.utime(entry)  # used now
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Hit(data, messages)

    def put(self, entry: Path, made: str, messages: Sequence[tuple[int, str]]) -> None:
        """Keep the file `made` as an entry, whole or not at all; OSError where that fails.

        An entry that another process put there meanwhile stays: it was made from the same.
        """
        entry.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=_PART, dir=entry.parent))
        try:
            shutil.copyfile(made, part / "model.neff")
            with (part / "model.neff").open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            about = {"sha256": digest, "messages": list(messages)}
            (part / "entry.json").write_text(json.dumps(about))
            if not self._take_name(part, entry):
                shutil.rmtree(part, ignore_errors=True)
        except BaseException:
            # Also on KeyboardInterrupt: a part of an entry must not stay behind.
            shutil.rmtree(part, ignore_errors=True)
            raise
        self._trim(entry)

    def _take_name(self, part: Path, entry: Path) -> bool:
        """Give a whole entry its name, which a folder that is there does not let go; False where
        that is a whole entry already. One that is not is first put aside, all at once."""
        for _ in range(_TRIES):
            try:
                part.rename(entry)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
            else:
                return True
            if self.get(entry) is not None:
                return False
            aside = Path(tempfile.mkdtemp(prefix=_PART, dir=entry.parent))
            with suppress(FileNotFoundError):  # another process was faster
                entry.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
        return False

    def _trim(self, newest: Path) -> None:
        """Remove the entries that were used the longest ago until the rest is within the limit, and
        the parts that killed processes left."""
        for part in self.folder.glob(f"neuronxcc-*/{_PART}*"):
            with suppress(OSError):
                if time.time() - part.stat().st_mtime > _STALE_S:
                    shutil.rmtree(part, ignore_errors=True)
        entries = []
        for path in self.folder.glob("neuronxcc-*/MODULE_*"):
            with suppress(OSError):  # another process may remove it at the same time
                size = sum(file.stat().st_size for file in path.iterdir())
                entries.append((path.stat().st_mtime_ns, path.name, path, size))
        total = sum(size for *_, size in entries)
        for _, _, path, size in sorted(entries):
            if total <= self.limit:
                break
            if path != newest:
                shutil.rmtree(path, ignore_errors=True)
                total -= size

    def _file_digest(self, path: Path) -> str:
        """The sha256 of a file, remembered as long as its size, time and inode stay.

        As git's index does: a file of 400 MB is not read again. One that changed less than two
        seconds ago could change again within the clock's grain and is not remembered.
        """
        stat = path.stat()
        identity = [stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev]
        note = self.folder / "files" / _digest([str(path.resolve())])[:_DIGITS]
        with suppress(OSError, ValueError, TypeError):
            known, digest = json.loads(note.read_text())
            if known == identity:
                return str(digest)
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if time.time() - stat.st_mtime > _SETTLED_S:
            with suppress(OSError, NeuronError):
                note.parent.mkdir(parents=True, exist_ok=True)
                atomic_write(note, json.dumps([identity, digest]))
        return digest


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
    root = Path(neuronir.__file__).parent
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
    return hashlib.sha256("\0".join(pieces).encode()).hexdigest()

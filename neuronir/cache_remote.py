"""Store the cache at a URL that fsspec opens: `s3://bucket/folder`, `gs://...`, `memory://`.

An entry has the same two objects as one in a folder. `entry.json` is written last, so an entry
without it does not exist yet; its digests detect a model that was truncated or replaced. Anyone
with write access decides what users run, because objects have no owner that could be checked.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from neuronir.cache import Entry, Key, entry_of, key_of
from neuronir.cache_entry import (
    ABOUT,
    LARGEST_ABOUT,
    MODEL,
    About,
    Damaged,
    Failed,
    Found,
    Hit,
    about_of,
    found_of,
    write_about,
)
from neuronir.dialects.support.errors import NeuronError

_ROOT = Path()


@dataclass(frozen=True)
class RemoteCache:
    """The cache below `root` of an fsspec file system. The paths of entries are relative to it."""

    files: Any
    root: str
    url: str

    @staticmethod
    def at(url: str) -> "RemoteCache":
        """Open the cache at a URL; raises NIR_CACHE002 if fsspec or the package of the URL is
        missing.
        """
        try:
            import fsspec
        except ImportError as error:
            raise NeuronError(
                "NIR_CACHE002",
                f"the cache '{url}' needs fsspec, which is not installed",
                help="pip install 'neuronir[remote]'",
            ) from error
        try:
            files, root = fsspec.core.url_to_fs(url)
        # A file system's package may raise anything during its setup.
        except Exception as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise NeuronError(
                "NIR_CACHE002",
                f"the cache '{url}' cannot be opened: {why}",
                help="check the URL; s3:// needs s3fs, gs:// gcsfs, abfs:// adlfs",
            ) from error
        return RemoteCache(files, root.rstrip("/"), url)

    def key(self, files: Mapping[str, str], options: Mapping[str, str]) -> Key:
        """Return the key for these input files, by purpose, and options.

        Raises OSError if a file cannot be read or is not a regular file.
        """
        return key_of(_ROOT, files, options)

    def entry(self, digests: Mapping[str, str], options: Mapping[str, str]) -> Path:
        """Return the entry for inputs with these digests, by purpose, and options."""
        return entry_of(_ROOT, digests, options)

    def get(self, entry: Path) -> Found | None:
        """Return the contents of an entry; None if there is none.

        The entry is not marked as used, because object stores would have to write it again.
        """
        about = self.about(entry)
        if not isinstance(about, About):
            return about
        try:
            with _own_errors():
                return found_of(about, lambda: bytes(self.files.cat_file(self._at(entry, MODEL))))
        except OSError as error:
            return Damaged(str(error))
        except MemoryError:
            return Damaged("it does not fit into memory")

    look = get

    def about(self, entry: Path) -> About | Damaged | None:
        """Return the description of an entry; its model is not read."""
        try:
            with _own_errors(), self.files.open(self._at(entry, ABOUT), "rb") as stream:
                text = stream.read(LARGEST_ABOUT + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            return Damaged(str(error))
        if len(text) > LARGEST_ABOUT:
            return Damaged(f"'{ABOUT}' is too large")
        return about_of(text, entry.name)

    @contextmanager
    def part(self, entry: Path) -> Iterator[Path]:
        """Create a local folder in which to write MODEL of an entry, for `put`."""
        with tempfile.TemporaryDirectory(prefix="neuronir-", ignore_cleanup_errors=True) as name:
            yield Path(name)

    def put(self, part: Path, entry: Path, about: About) -> None:
        """Upload a part as an entry; raises OSError on failure.

        A failed compile replaces no model.
        """
        stays = (Hit, Failed) if about.failure is not None else (Hit,)
        if isinstance(self.get(entry), stays):
            return
        write_about(part, entry.name, about)
        with _own_errors():
            for name in (MODEL, ABOUT):  # the description last: it completes the entry
                if (part / name).exists():
                    self.files.put_file(os.fspath(part / name), self._at(entry, name))

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first; raises OSError if they cannot be listed."""
        sizes: dict[Path, int] = {}
        times: dict[Path, float] = {}
        with _own_errors():
            self.files.invalidate_cache()
            found = self.files.glob(f"{self.root}/neuronxcc-*/MODULE_*/*", detail=True)
        for name, info in found.items():
            version, entry, file = name.rsplit("/", 3)[1:]
            path = _ROOT / version / entry
            sizes[path] = sizes.get(path, 0) + int(info.get("size") or 0)
            if file == ABOUT:
                times[path] = _time_of(info)
        return sorted(Entry(times.get(path, 0.0), path, size) for path, size in sizes.items())

    def remove(self, entry: Path) -> None:
        """Remove an entry, its description first, because an entry without one does not exist.

        Raises FileNotFoundError if there is none, OSError if it cannot be removed.
        """
        with _own_errors():
            found = [self._at(entry, name) for name in (ABOUT, MODEL)]
            found = [name for name in found if self.files.exists(name)]
            if not found:
                raise FileNotFoundError(2, "there is no such entry", entry.name)
            for name in found:
                self.files.rm_file(name)

    def _at(self, entry: Path, file: str) -> str:
        return f"{self.root}/{entry.as_posix()}/{file}"


def _time_of(info: Mapping[str, Any]) -> float:
    """Return when an object was written, according to its file system; 0 if unknown."""
    for key in ("LastModified", "last_modified", "mtime", "updated", "created"):
        value = info.get(key)
        if isinstance(value, datetime):
            return float(value.timestamp())
        if isinstance(value, int | float):
            return float(value)
    return 0.0


@contextmanager
def _own_errors() -> Iterator[None]:
    """Convert errors of a file system's package to OSError."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    # There is no common class: each package raises exceptions of its client.
    except Exception as error:
        why = " ".join(str(error).split())
        raise OSError(f"{type(error).__name__}: {why}") from error

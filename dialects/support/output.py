"""Write result files atomically."""

import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.parts import lock, sweep

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True)
class Later:
    """A piece of `size` bytes that is generated while, or after, the others are written."""

    size: int
    make: Callable[[], bytes]


PIECES_KEPT = 4
"""Pieces of a stream that are available at the same time: the next one replaces the first."""


@dataclass(frozen=True, eq=False)
class Stream:
    """`size` bytes that are generated in pieces on request; PIECES_KEPT of them stay valid."""

    size: int
    make: Callable[[], Iterable[Buffer]]

    def __len__(self) -> int:
        return self.size


def buffers_of(pieces: Iterable[Buffer | Stream]) -> Iterator[Buffer]:
    """Yield the buffers of pieces in order; those of streams stay valid as described there."""
    for piece in pieces:
        if isinstance(piece, Stream):
            yield from piece.make()
        else:
            yield piece


def atomic_write(
    path: str | os.PathLike[str], data: bytes | str | Iterable[Buffer | Later]
) -> None:
    """Write `data` (bytes, text, or pieces of bytes) to the file `path` atomically.

    The bytes are written to a temporary file in the same folder, which is then renamed. If anything
    fails (no space, no permission, Ctrl-C), the temporary file is removed and an existing file is
    unchanged. A file left by a killed process is removed at the next write. Pieces are requested in
    order. Text is written as UTF-8. A path that is not a plain file (`/dev/stdout`, a pipe) is
    written directly, because a rename would replace the device.
    """
    target = Path(path)
    if isinstance(data, str):
        data = data.encode()
    pieces: Iterable[Buffer | Later] = [data] if isinstance(data, bytes) else data
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            if target.is_dir():
                raise IsADirectoryError(21, "Is a directory", str(target))
            with target.open("wb") as device:
                device.writelines(p.make() if isinstance(p, Later) else p for p in pieces)
            return
        _replace(target.resolve(), pieces)
    except OSError as error:
        raise output_error(target, error) from error


_PART = re.compile(r"[a-z0-9_]{8}\.part")  # the form of mkstemp's names, after the file's name


def _replace(target: Path, pieces: Iterable[Buffer | Later]) -> None:
    prefix = f".{target.name}."
    with suppress(PermissionError):  # a folder that is writable, but cannot be listed
        left = (n for n in os.listdir(target.parent) if n.startswith(prefix))
        parts = (str(target.parent / n) for n in left if _PART.fullmatch(n, len(prefix)))
        sweep(parts, os.unlink)
    descriptor, name = _part(prefix, target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            _write(stream, pieces)
            stream.flush()
            # mkstemp uses 0600; a result file gets the mode that open() would give it.
            os.chmod(name, _mode_of(target))
            os.replace(name, target)  # while it is locked
    except BaseException:
        # Also on KeyboardInterrupt: a partial file must not stay behind.
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _part(prefix: str, folder: Path) -> tuple[int, str]:
    """Create a locked temporary file."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=folder)
        if lock(descriptor, name):
            return descriptor, name
        os.close(descriptor)  # another process removed it before it was locked


def _write(stream: BinaryIO, pieces: Iterable[Buffer | Later]) -> None:
    """Write pieces in order, and late pieces to the gaps left for them."""
    later: list[tuple[int, Later]] = []
    for piece in pieces:
        if isinstance(piece, Later):
            later.append((stream.tell(), piece))
            stream.seek(piece.size, os.SEEK_CUR)
        else:
            stream.write(piece)
    for place, piece in later:
        stream.seek(place)
        stream.write(piece.make())


def _mode_of(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_outputs(*paths: str | None) -> None:
    """Raise NIR_OUTPUT if one of these files cannot be written, so that no work is lost.

    None stands for a file that is not requested, `-` for the standard output.
    """
    for path in paths:
        if path is None or path == "-":
            continue
        parent = Path(path).parent
        if not parent.is_dir():
            raise NeuronError(
                "NIR_OUTPUT",
                f"cannot write '{path}': there is no folder '{parent}'",
                help="create the folder first",
            )
        if Path(path).is_dir():
            raise output_error(path, IsADirectoryError(21, "Is a directory"))


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a folder for results, with its parents; raises NIR_OUTPUT."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise output_error(path, error) from error


def output_error(path: str | os.PathLike[str], error: OSError) -> NeuronError:
    """Return the user error for a file that cannot be written."""
    return NeuronError(
        "NIR_OUTPUT",
        f"cannot write '{os.fspath(path)}': {error.strerror or error}",
        help="check that the folder exists, is writable and has space left",
    )


def input_error(path: str | os.PathLike[str], error: OSError) -> NeuronError:
    """Return the user error for a file that cannot be read."""
    name = os.fspath(path)
    return NeuronError(
        "NIR_INPUT", f"cannot read '{name}': {error.strerror or error}", help=help_for_url(name)
    )


def help_for_url(name: str) -> str | None:
    """Return advice for the name of a file that is a URL."""
    return "download the file, and pass its path" if "://" in name else None


def write_stdout(text: str) -> None:
    """Print to stdout; a closed pipe (`| head`) is not an error."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit and would complain there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise output_error("<stdout>", error) from error

"""Result files are whole or absent."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from neuronir.diagnostics.output import atomic_write
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import Later


def test_write_and_replace(tmp_path: Path) -> None:
    """Bytes and text; an older file keeps its mode; nothing else stays in the folder."""
    target = tmp_path / "x"
    atomic_write(target, b"one")
    assert target.read_bytes() == b"one"
    target.chmod(0o640)
    atomic_write(target, "zwei \N{GREEK SMALL LETTER PI}")
    assert target.read_text(encoding="utf-8") == "zwei \N{GREEK SMALL LETTER PI}"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["x"]


def test_new_files_follow_the_umask(tmp_path: Path) -> None:
    """Not mkstemp's 0600."""
    old = os.umask(0o022)
    try:
        atomic_write(tmp_path / "x", b"")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o644


def test_links_are_followed(tmp_path: Path) -> None:
    """The file behind a link changes, the link stays."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    atomic_write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_errors_are_the_users(tmp_path: Path) -> None:
    """A folder, a missing folder, a full disk: a coded error."""
    with pytest.raises(NeuronError, match="NIR_OUTPUT"):
        atomic_write(tmp_path, b"x")
    with pytest.raises(NeuronError, match="No such file"):
        atomic_write(tmp_path / "no" / "x", b"x")
    if Path("/dev/full").exists():
        with pytest.raises(NeuronError, match="No space left"):
            atomic_write("/dev/full", b"x")


def test_interruption_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C just before the end: the old file is untouched and the temporary one is gone."""
    target = tmp_path / "x"
    target.write_bytes(b"old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic_write(target, b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_pieces_that_are_made_later(tmp_path: Path) -> None:
    """They are made after the others, and lie in their places; also through a pipe."""
    made: list[str] = []

    def make(name: str) -> bytes:
        made.append(name)
        return name.encode() * 3

    pieces: list[bytes | Later] = [
        Later(3, lambda: make("a")),
        b"middle",
        Later(3, lambda: make("b")),
        b"end",
    ]
    target = tmp_path / "x.bin"
    atomic_write(target, pieces)
    assert target.read_bytes() == b"aaamiddlebbbend" and made == ["a", "b"]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        atomic_write(pipe, pieces)
        assert read.result() == b"aaamiddlebbbend"


def test_a_piece_that_cannot_be_made(tmp_path: Path) -> None:
    """The older file stays, and no part of the new one."""
    target = tmp_path / "x.bin"
    target.write_bytes(b"old")

    def fail() -> bytes:
        raise ValueError

    with pytest.raises(ValueError):
        atomic_write(target, [Later(4, fail), b"new"])
    assert target.read_bytes() == b"old" and [f.name for f in tmp_path.iterdir()] == ["x.bin"]


def test_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(os, "listdir", refuse)
    atomic_write(tmp_path / "x", "text")
    assert (tmp_path / "x").read_text() == "text"

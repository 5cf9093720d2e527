"""The persistent cache of neuronx-cc: what it answers, and what it must not."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from neuronir import cache as cache_module
from neuronir.cache import Cache, trim
from neuronir.cache_entry import About, Hit
from neuronir.cache_place import find_cache
from neuronir.cli import neuronx_cc
from neuronir.dialects.support.npz import npz_bytes
from tests.driver.models import write_model

BASE = ["--framework", "XLA", "--target", "trn1", "--verbose", "info"]


@pytest.fixture
def model(tmp_path: Path) -> str:
    return write_model(tmp_path)[0]


def compiled(model: str, tmp_path: Path, *options: str, name: str = "x.neff") -> bytes:
    output = tmp_path / name
    folder = ["--cache-dir", str(tmp_path / "cache")]
    assert neuronx_cc.main(["compile", model, *BASE, *folder, "-o", str(output), *options]) == 0
    return output.read_bytes()


def hits(capsys: pytest.CaptureFixture[str]) -> int:
    return capsys.readouterr().out.count("Using a cached neff")


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").glob("neuronxcc-*/MODULE_*"))


def test_second_compile_is_answered(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = compiled(model, tmp_path)
    assert hits(capsys) == 0
    assert compiled(model, tmp_path, name="y.neff") == first
    assert hits(capsys) == 1
    assert compiled(model, tmp_path, "--no-cache") == first
    assert hits(capsys) == 0


@pytest.mark.parametrize(
    "options", [("--auto-cast", "none"), ("--auto-cast-type", "fp16"), ("-O1",)]
)
def test_options_are_part_of_the_key(
    options: tuple[str, ...], model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled(model, tmp_path)
    compiled(model, tmp_path, *options)
    assert hits(capsys) == 0
    assert len(entries(tmp_path)) == 2


def test_files_are_part_of_the_key(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled(model, tmp_path)
    Path(model).write_text(Path(model).read_text() + "\n")
    compiled(model, tmp_path)
    weights = tmp_path / "w.npz"
    for value in (1.0, 2.0):
        weights.write_bytes(npz_bytes({"arg1": np.full((8, 16), value, np.float32)}))
        neuronx_cc.main(  # whether these weights fit the model does not matter to the key
            ["compile", model, *BASE, "--weights", str(weights), "-o", str(tmp_path / "z.neff")]
        )
    assert hits(capsys) == 0


def test_compiler_is_part_of_the_key(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(model, tmp_path)
    monkeypatch.setattr(cache_module, "compiler", lambda: "another")
    compiled(model, tmp_path)
    assert hits(capsys) == 0


def test_a_compile_that_shows_more_is_done(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled(model, tmp_path)
    compiled(model, tmp_path, "--timing")
    compiled(model, tmp_path, "--dump-phases-to", str(tmp_path / "dumps"))
    assert hits(capsys) == 0
    assert list((tmp_path / "dumps").iterdir())


def entry_of(cache: Cache, made: Path, **options: str) -> Path:
    return cache.key({"model": str(made)}, options).entry


def keep(cache: Cache, entry: Path, data: bytes, messages: Sequence[tuple[int, str]] = ()) -> None:
    with cache.part(entry) as part:
        (part / "model.neff").write_bytes(data)
        cache.put(part, entry, About(messages))


def test_broken_entry_is_replaced(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = compiled(model, tmp_path)
    (entry,) = entries(tmp_path)
    (entry / "model.neff").write_bytes(first[:-1])
    assert compiled(model, tmp_path) == first
    assert hits(capsys) == 0
    assert compiled(model, tmp_path) == first
    assert hits(capsys) == 1


def test_failure_of_a_frontend_is_not_kept(tmp_path: Path) -> None:
    bad = tmp_path / "bad.hlo"
    bad.write_text("HloModule m\n")
    arguments = ["compile", str(bad), *BASE, "--cache-dir", str(tmp_path / "cache")]
    assert neuronx_cc.main([*arguments, "-o", str(tmp_path / "x.neff")]) == 1
    assert not entries(tmp_path)


def test_unwritable_cache_does_not_hurt(model: str, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    assert compiled(model, tmp_path)


def test_messages_are_said_again(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"neff")
    cache = Cache(tmp_path / "cache")
    entry = entry_of(cache, made)
    assert cache.get(entry) is None
    keep(cache, entry, b"neff", [(30, "a warning")])
    assert cache.get(entry) == Hit(b"neff", [(30, "a warning")])


def test_oldest_entries_go(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(bytes(1000))
    cache = Cache(tmp_path / "cache", limit=3000)
    paths = [entry_of(cache, made, n=str(n)) for n in range(3)]
    for number, path in enumerate(paths):
        keep(cache, path, bytes(1000))
        os.utime(path, (number, number))
    keep(cache, entry_of(cache, made, n="3"), bytes(1000))
    assert [path.exists() for path in paths] == [False, False, True]


def test_entries_that_cannot_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next ones go instead; the error is told, but not as one of the entry that is stored."""
    made = tmp_path / "made"
    made.write_bytes(bytes(1000))
    cache = Cache(tmp_path / "cache")
    paths = [entry_of(cache, made, n=str(n)) for n in range(4)]
    for number, path in enumerate(paths[:3]):
        keep(cache, path, bytes(1000))
        os.utime(path, (number, number))
    remove = Cache.remove

    def refusing(self: Cache, entry: Path) -> None:
        if entry == paths[0]:
            raise PermissionError(13, "no")
        remove(self, entry)

    monkeypatch.setattr(Cache, "remove", refusing)
    with pytest.raises(PermissionError):
        trim(cache, 2500)
    assert [path.exists() for path in paths[:3]] == [True, False, False]
    keep(Cache(cache.folder, limit=1), paths[3], bytes(1000))
    assert cache.get(paths[3]) == Hit(bytes(1000), [])


def test_name_that_others_take_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"neff")
    cache = Cache(tmp_path / "cache")
    entry = entry_of(cache, made)

    def other(self: Cache, path: Path) -> None:
        """Another process has put a damaged entry there."""

    (entry / "x").mkdir(parents=True)
    monkeypatch.setattr(Cache, "remove", other)
    with pytest.raises(OSError, match="other processes have taken 'MODULE_"):
        keep(cache, entry, b"neff")


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(cache_module.FOLDER_VARIABLE)
    assert find_cache(None) == Cache(tmp_path / "neuronir")
    monkeypatch.setenv(cache_module.FOLDER_VARIABLE, "")
    assert find_cache(None) is None
    assert find_cache("here") == Cache(Path("here"))

"""The cache at a URL: fsspec's file system in memory, and one of a directory."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuronir.cache import Cache, trim
from neuronir.cache_entry import About, Damaged, Failed, Hit
from neuronir.cache_place import LIMIT_VARIABLE, find_cache, size_of
from neuronir.cache_remote import RemoteCache
from neuronir.cli import neuron_cache, neuronx_cc
from neuronir.dialects.support.errors import NeuronError
from tests.driver.models import write_model

fsspec = pytest.importorskip("fsspec")
_FAILURE = {"text": "no"}


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RemoteCache]:
    if request.param == "directory":
        files = fsspec.filesystem("file", auto_mkdir=True)
        yield RemoteCache(files, str(tmp_path / "bucket"), "file")
        return
    yield RemoteCache.at("memory://bucket/cache")
    fsspec.filesystem("memory").store.clear()


def key(store: RemoteCache, tmp_path: Path, text: str = "model") -> Path:
    (tmp_path / "model").write_text(text)
    return store.key({"model": str(tmp_path / "model")}, {"a": "b"}).entry


def put(store: RemoteCache, entry: Path, data: bytes | None, **named: Any) -> None:
    with store.part(entry) as part:
        if data is not None:
            (part / "model.neff").write_bytes(data)
        store.put(part, entry, About([(30, "a warning")], **named))


def test_entry_comes_back(store: RemoteCache, tmp_path: Path) -> None:
    entry = key(store, tmp_path)
    assert store.get(entry) is None and store.about(entry) is None
    put(store, entry, b"neff", label={"model": "m"})
    assert store.get(entry) == Hit(b"neff", [(30, "a warning")])
    (listed,) = store.entries()
    assert listed.path == entry and listed.size > 4
    store.remove(entry)
    assert store.get(entry) is None and store.entries() == []
    with pytest.raises(FileNotFoundError):
        store.remove(entry)


def test_model_replaces_a_failure_and_stays(store: RemoteCache, tmp_path: Path) -> None:
    entry = key(store, tmp_path)
    put(store, entry, None, failure=_FAILURE)
    assert store.get(entry) == Failed(_FAILURE, [(30, "a warning")])
    put(store, entry, b"neff")
    put(store, entry, None, failure=_FAILURE)
    assert isinstance(store.get(entry), Hit)


def test_damaged_entry_is_not_used_and_replaced(store: RemoteCache, tmp_path: Path) -> None:
    entry = key(store, tmp_path)
    put(store, entry, b"neff")
    for file, data in (("model.neff", b"nef"), ("entry.json", b"{}"), ("entry.json", b"\xff")):
        store.files.pipe_file(store._at(entry, file), data)
        assert isinstance(store.get(entry), Damaged)
        put(store, entry, b"neff")
        assert isinstance(store.get(entry), Hit)
    store.files.rm_file(store._at(entry, "model.neff"))
    assert isinstance(store.get(entry), Damaged)
    put(store, entry, b"neff")
    store.files.rm_file(store._at(entry, "entry.json"))  # an upload that was interrupted
    assert store.get(entry) is None


def test_oldest_go(store: RemoteCache, tmp_path: Path) -> None:
    entries = [key(store, tmp_path, str(number)) for number in range(3)]
    for entry in entries:
        put(store, entry, bytes(1000))
    listed = store.entries()
    assert {one.path for one in listed} == set(entries)
    removed = trim(store, listed[-1].size)
    assert removed == listed[:2] and [one.path for one in store.entries()] == [listed[2].path]


def test_errors_of_the_client_are_the_caches(tmp_path: Path) -> None:
    """Packages of object stores raise classes of their own."""

    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no credentials")

    store = RemoteCache(Broken(), "bucket", "broken://bucket")
    assert store.get(Path("v/e")) == Damaged("RuntimeError: no credentials")
    for call in (store.entries, lambda: put(store, Path("v/e"), b"neff")):
        with pytest.raises(OSError, match="no credentials"):
            call()


def test_compile_through_a_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_model(tmp_path)[0]
    words = ["compile", model, "--framework", "XLA", "--target", "trn1", "-v", "info"]
    words += ["--cache_dir", "memory://common/cache", "-o", str(tmp_path / "x.neff")]
    assert neuronx_cc.main(words) == 0
    assert "Using a cached neff" not in capsys.readouterr().out
    first = (tmp_path / "x.neff").read_bytes()
    assert neuronx_cc.main(words) == 0
    assert "Using a cached neff" in capsys.readouterr().out
    assert (tmp_path / "x.neff").read_bytes() == first
    assert neuron_cache.main(["list", "--cache-dir", "memory://common/cache"]) == 0
    assert "dense.hlo" in capsys.readouterr().out
    assert neuron_cache.main(["clear", "--cache-dir", "memory://common/cache"]) == 0
    assert not fsspec.filesystem("memory").find("/common")


def test_url_that_nothing_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NeuronError, match="NIR_CACHE002.*nosuch"):
        find_cache("nosuch://bucket")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(NeuronError, match=r"NIR_CACHE002[\s\S]*neuronir\[remote\]"):
        find_cache("memory://bucket")


def test_url_of_a_folder_is_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_cache(f"file://{tmp_path}") == Cache(tmp_path)
    monkeypatch.setenv(LIMIT_VARIABLE, "2k")
    assert find_cache(str(tmp_path)) == Cache(tmp_path, 2048)


def test_sizes() -> None:
    texts = ("0", "12", "12B", "1k", "1KB", "1 KiB", "500M", "2G", "1T")
    found = [size_of(text, "--limit") for text in texts]
    assert found == [0, 12, 12, 1024, 1024, 1024, 500 << 20, 2 << 30, 1 << 40]
    for text in ("", "M", "-1", "1.5G", "1X", "ten"):
        with pytest.raises(NeuronError, match="NIR_CACHE001"):
            size_of(text, "--limit")

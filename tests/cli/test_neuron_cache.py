"""neuron-cache: what it prints, what it removes, and its errors."""

import json
import os
from pathlib import Path

import pytest

from neuronir.cache import Cache
from neuronir.cache_entry import About
from neuronir.cache_remote import RemoteCache
from neuronir.cli import neuron_cache

DAY_S = 86_400


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """Three entries: used 3, 2 and 1 days ago; the second failed."""
    store = Cache(tmp_path / "cache")
    for number, name in enumerate(("MODULE_a1", "MODULE_a2", "MODULE_b")):
        entry = store.folder / "neuronxcc-1" / name
        failure = {"text": "[NCC_X] too\nlarge"} if number == 1 else None
        with store.part(entry) as part:
            if failure is None:
                (part / "model.neff").write_bytes(bytes(1000))
            label = {"model": f"m{number}\x1b.hlo", "target": "trn1"}
            store.put(part, entry, About([(30, "warning: w")], failure=failure, label=label))
        used = os.stat(store.folder).st_mtime - (3 - number) * DAY_S
        os.utime(entry, (used, used))
    return store


def names(cache: Cache) -> list[str]:
    return [entry.path.name for entry in cache.entries()]


def run(cache: Cache, *words: str) -> int:
    command, *rest = words
    return neuron_cache.main([command, "--cache-dir", str(cache.folder), *rest])


def test_list(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cache, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["MODULE_b", "MODULE_a2", "MODULE_a1"]
    assert [line.split()[1] for line in lines[:3]] == ["neff", "failed", "neff"]
    assert "m0\\x1b.hlo" in lines[2] and lines[3].startswith("3 entries, ")
    assert run(cache, "list", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found[0]["compiled"] == {"model": "m2\x1b.hlo", "target": "trn1"}
    assert names(cache) == ["MODULE_a1", "MODULE_a2", "MODULE_b"]  # nothing is marked as used


def test_show(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cache, "show", "MODULE_a2") == 0
    said = capsys.readouterr().out
    assert "state: failed\n" in said and "failure: [NCC_X] too\nlarge\n" in said
    assert "message: warning: w\n" in said and "  target: trn1\n" in said
    assert run(cache, "show", "MODULE_b", "--json") == 0
    assert json.loads(capsys.readouterr().out)["failure"] is None
    for name, many in (("MODULE_a", "2 entries"), ("x", "no entry")):
        assert run(cache, "show", name) == 1
        said = capsys.readouterr().err
        assert "[NIR_CACHE004]" in said and many in said


def test_short_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The names of `list` select entries, also two of one model."""
    store = Cache(tmp_path / "cache")
    for options in "89":
        entry = store.folder / "neuronxcc-1" / f"MODULE_{'a' * 32}+{options * 32}"
        with store.part(entry) as part:
            store.put(part, entry, About([], failure={"text": options}))
    assert run(store, "list") == 0
    short = sorted(line.split()[0] for line in capsys.readouterr().out.splitlines()[:2])
    assert short == ["MODULE_aaaaaaaa+88888888", "MODULE_aaaaaaaa+99999999"]
    assert run(store, "show", short[1]) == 0
    assert "failure: 9" in capsys.readouterr().out
    assert run(store, "show", "MODULE_aaaaaaaa") == 1


def test_verify(cache: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cache, "verify") == 0
    assert capsys.readouterr().out == "3 checked, 0 damaged\n"
    (cache.folder / "neuronxcc-1" / "MODULE_b" / "model.neff").write_bytes(b"x")
    assert run(cache, "verify") == 1
    said = capsys.readouterr().err
    assert "MODULE_b: damaged: 'model.neff' does not fit" in said and "[NIR_CACHE005]" in said
    assert run(cache, "verify", "--remove") == 0
    assert capsys.readouterr().out == "3 checked, 1 damaged, 1 removed\n"
    assert names(cache) == ["MODULE_a1", "MODULE_a2"]


@pytest.mark.parametrize(
    "options, stay",
    [
        ((), []),
        (("--failed",), ["MODULE_a1", "MODULE_b"]),
        (("--older-than", "1.5"), ["MODULE_b"]),
        (("--older-than", "1.5", "--failed"), ["MODULE_a1", "MODULE_b"]),
        (("--limit", "2K"), ["MODULE_a2", "MODULE_b"]),
        (("--limit", "0"), []),
        (("MODULE_a1", "MODULE_b"), ["MODULE_a2"]),
        (("MODULE_a1", "MODULE_a1"), ["MODULE_a2", "MODULE_b"]),
    ],
)
def test_clear(
    options: tuple[str, ...], stay: list[str], cache: Cache, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = 3 - len(stay)
    assert run(cache, "clear", *options, "--dry-run") == 0
    said = capsys.readouterr().out.splitlines()
    assert len(names(cache)) == 3 and len(said) == gone + 1
    assert said[-1].startswith(f"{gone} would be removed")
    assert run(cache, "clear", *options) == 0
    assert capsys.readouterr().out.startswith(f"{gone} removed, ")
    assert names(cache) == stay


def test_clear_leaves_other_files(cache: Cache) -> None:
    """A folder that is no cache loses nothing."""
    kept = cache.folder / "neuronxcc-1" / "notes.txt"
    kept.write_text("mine")
    (cache.folder / "MODULE_c").mkdir()
    assert run(cache, "clear") == 0
    assert kept.exists() and (cache.folder / "MODULE_c").exists()


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert neuron_cache.main([]) == 2
    assert neuron_cache.main(["clear", "--limit", "1G", "--failed"]) == 1
    assert "[NIR_CACHE003]" in capsys.readouterr().err  # tests run without a cache
    here = ["--cache-dir", str(tmp_path)]
    assert neuron_cache.main(["clear", *here, "--limit", "1G", "--failed"]) == 2
    for days in ("-1", "nan"):
        assert neuron_cache.main(["clear", *here, f"--older-than={days}"]) == 2
        assert "--older-than" in capsys.readouterr().err
    assert neuron_cache.main(["clear", *here, "--limit", "lots"]) == 1
    assert "[NIR_CACHE001] --limit: 'lots' is not a size" in capsys.readouterr().err
    assert neuron_cache.main(["list", *here]) == 0
    assert capsys.readouterr().out == "0 entries, 0 B\n"


def test_entries_that_others_remove(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are no error, and they do not count."""
    (cache.folder / "neuronxcc-1" / "MODULE_b" / "model.neff").write_bytes(b"x")
    listed = cache.entries()
    monkeypatch.setattr(Cache, "entries", lambda self: listed)
    cache.remove(listed[0].path)
    assert run(cache, "show", listed[0].path.name) == 1
    assert "[NIR_CACHE004]" in capsys.readouterr().err
    remove = Cache.remove

    def twice(self: Cache, entry: Path) -> None:
        remove(self, entry)
        remove(self, entry)

    with monkeypatch.context() as patched:
        patched.setattr(Cache, "remove", twice)
        assert run(cache, "verify", "--remove") == 0
    assert capsys.readouterr().out == "2 checked, 1 damaged, 0 removed\n"
    assert run(cache, "clear") == 0
    assert capsys.readouterr().out.startswith("1 removed, ")


def test_upload_that_is_not_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = RemoteCache(fsspec.filesystem("file"), str(tmp_path), "file")
    entry = tmp_path / "neuronxcc-1" / "MODULE_a"
    entry.mkdir(parents=True)
    (entry / "model.neff").write_bytes(b"neff")
    monkeypatch.setattr(neuron_cache, "find_cache", lambda place: store)
    assert neuron_cache.main(["show", "MODULE_a"]) == 1
    assert "'MODULE_a' is incomplete" in capsys.readouterr().err
    assert neuron_cache.main(["verify"]) == 0
    assert capsys.readouterr().out == "0 checked, 0 damaged\n"

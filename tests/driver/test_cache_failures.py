"""Compiles that failed: the cache remembers the error of a model, and no other."""

from collections.abc import Callable
from pathlib import Path

import pytest

from neuronir.cache import Cache
from neuronir.cache_entry import About, Failed, Hit
from neuronir.cli import neuron_cc, neuronx_cc
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.diagnostics.stored import from_json, to_json
from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.driver import compiler
from tests.driver.models import write_model
from tests.driver.test_cache import entry_of, keep

LARGE = Path(__file__).resolve().parents[2] / "lit" / "driver" / "Inputs" / "large.hlo"
SAID = "Will skip compilation, please set --retry_failed_compilation for recompilation."


def compiled(folder: Path, *options: str, model: Path = LARGE) -> int:
    words = ["compile", str(model), "--framework", "XLA", "--target", "trn1", "--tiling", "never"]
    words += ["--cache_dir", str(folder / "cache"), "-o", str(folder / "x.neff"), *options]
    return neuronx_cc.main(words)


def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows with every compile."""
    found: list[int] = []
    run = compiler._Compile.run

    def counted(self: compiler._Compile) -> object:
        found.append(1)
        return run(self)

    monkeypatch.setattr(compiler._Compile, "run", counted)
    return found


def test_error_comes_again_without_a_compile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = runs(monkeypatch)
    assert compiled(tmp_path) == 1
    first = capsys.readouterr().err
    assert "NCC_EOOM002" in first and SAID not in first
    assert compiled(tmp_path) == 1
    again = capsys.readouterr().err
    assert again.startswith(first) and SAID in again
    assert len(done) == 1
    assert compiled(tmp_path, "--retry_failed_compilation") == 1
    assert capsys.readouterr().err == first
    assert len(done) == 2
    assert not (tmp_path / "x.neff").exists()


def test_error_names_the_model_that_is_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compiled(tmp_path) == 1
    capsys.readouterr()
    other = tmp_path / "other.hlo"
    other.write_bytes(LARGE.read_bytes())
    assert compiled(tmp_path, "--logfile", str(tmp_path / "log"), model=other) == 1
    said = capsys.readouterr().err
    assert SAID in said and "other.hlo" in said and "large.hlo" not in said
    assert "NCC_EOOM002" in (tmp_path / "log").read_text()


def failing(error: Exception) -> Callable[..., object]:
    """The phases of a compile that ends with an error in one of them."""

    def fail(self: compiler._Compile, *rest: object, **named: object) -> object:
        with self.options.progress("virtual"):
            raise error

    return fail


def test_retry_that_succeeds_replaces_the_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Path(write_model(tmp_path)[0])

    with monkeypatch.context() as patch:
        patch.setattr(compiler._Compile, "phases", failing(NeuronError("NCC_EOOM002", "too large")))
        assert compiled(tmp_path, model=model) == 1
        assert compiled(tmp_path, model=model) == 1
    assert SAID in capsys.readouterr().err
    assert compiled(tmp_path, model=model) == 1
    assert compiled(tmp_path, "--retry_failed_compilation", model=model) == 0
    capsys.readouterr()
    assert compiled(tmp_path, "-v", "info", model=model) == 0
    assert "Using a cached neff" in capsys.readouterr().out


@pytest.mark.parametrize("error", [MemoryError(), KeyError("bug")])
def test_faults_of_the_computer_and_ours_are_not_kept(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Path(write_model(tmp_path)[0])
    with monkeypatch.context() as patch:
        patch.setattr(compiler._Compile, "phases", failing(error))
        assert compiled(tmp_path, model=model) in (1, 70)
    assert not list((tmp_path / "cache").glob("*/*"))
    assert compiled(tmp_path, model=model) == 0


def test_failure_never_replaces_a_model(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"neff")
    cache = Cache(tmp_path / "cache")
    entry = entry_of(cache, made)
    diagnostic = to_json(Diagnostic("error", "[NCC_EOOM002] no"), "m")
    with cache.part(entry) as part:
        cache.put(part, entry, About([], failure=diagnostic))
    assert cache.get(entry) == Failed(diagnostic, [])
    keep(cache, entry, b"neff")
    with cache.part(entry) as part:
        cache.put(part, entry, About([], failure=diagnostic))
    assert cache.get(entry) == Hit(b"neff", [])


def test_the_two_compilers_have_their_own_entries(tmp_path: Path) -> None:
    """neuron-cc checks a program, and says more of it."""
    model = write_model(tmp_path)[0]
    words = ["compile", model, "--framework", "XLA"]
    words += ["--cache-dir", str(tmp_path / "cache"), "-o", str(tmp_path / "x.neff")]
    assert neuronx_cc.main([*words, "--target", "inf1"]) == 0
    assert neuron_cc.main(words) == 0
    assert len(list((tmp_path / "cache").glob("*/MODULE_*"))) == 2


def test_diagnostics_survive_json() -> None:
    note = Diagnostic("note", "here", SourceLocation("model.py", 7, 1))
    error = Diagnostic("error", "[NCC_X] no", SourceLocation("m", 1, 2), (note,), "help", "x\n^")
    assert from_json(to_json(error, "m"), "m") == error
    moved = from_json(to_json(error, "m"), "n")
    assert moved.location == SourceLocation("n", 1, 2) and moved.notes == (note,)
    for damaged in ({}, {"severity": "fatal"}, to_json(error, "m") | {"location": [1]}):
        with pytest.raises(ValueError):
            from_json(damaged, "m")


def test_a_kept_error_of_another_form_is_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Path(write_model(tmp_path)[0])

    def other(self: Cache, entry: Path) -> object:
        return Failed({"severity": "error"}, [])

    monkeypatch.setattr(Cache, "get", other)
    assert compiled(tmp_path, model=model) == 0
    assert "is not used: not a diagnostic" in capsys.readouterr().err

"""Outputs that cannot be written: told before the work is done, and never as an internal error."""

from collections.abc import Callable
from pathlib import Path

import pytest

from neuronir.cli import neuron_cc, neuron_opt, neuron_parallel_compile, neuron_sim, neuronx_cc
from neuronir.cli.program import USER_ERROR

ADD = """HloModule add
ENTRY main {
  x = f32[4,8] parameter(0)
  ROOT r = f32[4,8] add(x, x)
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, a folder and a file that is no folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEURON_COMPILE_CACHE_URL", "")
    (tmp_path / "m.hlo").write_text(ADD)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    return tmp_path


def compiling(*words: str) -> int:
    return neuron_cc.main(["compile", "m.hlo", "--framework", "XLA", *words])


@pytest.mark.parametrize(
    ("main", "line"),
    [
        (neuron_cc.main, "compile m.hlo --framework XLA --workdir file"),
        (neuron_cc.main, "compile m.hlo --framework XLA --workdir file/sub"),
        (neuron_cc.main, "compile m.hlo --framework XLA --dump-phases-to file"),
        (neuron_cc.main, "compile m.hlo --framework XLA --logfile none/log"),
        (neuron_cc.main, "compile m.hlo --framework XLA --logfile folder"),
        (neuron_cc.main, "compile m.hlo --framework XLA --output folder"),
        (neuronx_cc.main, "compile m.hlo m.hlo --framework XLA --target trn1 --output file"),
        (neuron_opt.main, "m.hlo -p hlo-dce --print-ir-tree-dir file"),
        (neuron_opt.main, "m.hlo -o folder"),
        (neuron_parallel_compile.main, "--command compile --summary none/s --cache-dir c"),
    ],
)
def test_a_place_that_cannot_be_written(
    main: Callable[[list[str]], int], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == USER_ERROR
    err = capsys.readouterr().err
    assert err.count("error: ") == 1
    assert "[NIR_OUTPUT] cannot write '" in err or "[NIR_MANY" in err
    assert not Path("out.neff").exists()


@pytest.mark.parametrize(
    "words",
    [
        "run out.neff --timing-only --report none/r.json",
        "run out.neff --timing-only --trace folder",
        "run out.neff --timing-only --html none/p.html",
        "run out.neff --inputs in.npz --outputs none/o.npz",
        "diff out.neff out.neff --report none/d.json",
        "sweep m.hlo --jobs 1 --csv none/s.csv",
        "sweep m.hlo --jobs 1 --report folder",
    ],
)
def test_neuron_sim_tells_before_it_runs(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert compiling() == 0
    capsys.readouterr()
    assert neuron_sim.main(words.split()) == USER_ERROR
    out, err = capsys.readouterr()
    assert out == ""
    assert "[NIR_OUTPUT] cannot write '" in err


def test_a_requested_cache_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert compiling("--cache-dir", "file/cache") == 0
    assert Path("out.neff").exists()
    assert "warning: the result was not kept in the cache: " in capsys.readouterr().err


def test_ir_is_not_written_to_a_file_named_neff() -> None:
    assert compiling("--compile-to", "hlo") == 0
    assert not Path("out.neff").exists()
    assert Path("out.mlir").read_text().startswith("builtin.module")

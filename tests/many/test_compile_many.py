"""`neuronx-cc compile` of several models, and neuron_parallel_compile."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuronir.cache import FOLDER_VARIABLE
from neuronir.cli import cc_many, cc_request, neuron_parallel_compile, neuronx_cc
from neuronir.cli.cc_request import Answer, Request, compile_one
from neuronir.cli.neuron_parallel_check import Checked
from neuronir.cli.neuronx_cc_args import build_parser
from neuronir.many.dask_pool import DaskPool
from neuronir.many.jobs import Job, Outcome
from neuronir.many.serial import SerialPool
from tests.many.test_pools import Heard

LARGE = Path(__file__).resolve().parents[2] / "lit" / "driver" / "Inputs" / "large.hlo"
SOURCE = """HloModule m

ENTRY e {
  x = f32[%d,32]{1,0} parameter(0)
  ROOT y = f32[%d,32]{1,0} tanh(x)
}
"""
OPTIONS = ["--framework", "XLA", "--target", "trn1"]


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Four models that compile, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for rows in range(1, 5):
        (tmp_path / f"m{rows}.hlo").write_text(SOURCE % (rows, rows))
    return [f"m{rows}.hlo" for rows in range(1, 5)]


def alone(model: str, *options: str) -> bytes:
    """The binary of a model that is compiled alone."""
    assert neuronx_cc.main(["compile", model, *OPTIONS, *options, "-o", "alone.neff"]) == 0
    return Path("alone.neff").read_bytes()


def test_several_models(models: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compile", *models, str(LARGE), *OPTIONS, "--jobs", "1", "--output", "out"]
    words += ["--cache-dir", "cache", "--summary", "s.json", "--tiling", "never"]
    assert neuronx_cc.main(words) == 1
    said = capsys.readouterr()
    assert "[1/5] m1.hlo: compiled (" in said.out and "4 compiled, 0 from the cache" in said.out
    assert f"{LARGE}:12:3: error: [NCC_EOOM002]" in said.err
    found = json.loads(Path("s.json").read_text())
    assert found["compilation_summary"] == {"true": 4, "false": 1}
    assert found["compilation_report"]["m1.hlo"]["status"] is True
    bad = found["compilation_report"][str(LARGE)]
    assert bad["status"] is False and bad["exit_status"] == 1
    assert "NCC_EOOM002" in bad["messages"][0]
    assert sorted(os.listdir("out")) == [f"m{n}.neff" for n in range(1, 5)]
    assert Path("out/m2.neff").read_bytes() == alone("m2.hlo", "--tiling", "never")
    assert neuronx_cc.main(words) == 1
    assert "0 compiled, 4 from the cache, 1 failed" in capsys.readouterr().out


def test_spellings_of_one_name(models: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A model that is named twice is compiled once."""
    Path("sub").mkdir()
    names = [models[0], f"./{models[0]}", f"sub/../{models[0]}", models[1], models[1]]
    assert neuronx_cc.main(["compile", *names, *OPTIONS, "--jobs", "1", "--output", "out"]) == 0
    assert "2 models: 2 compiled" in capsys.readouterr().out
    assert sorted(os.listdir("out")) == ["m1.neff", "m2.neff"]


def test_long_io_config(models: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON text is not a name of a file, however long it is; paths become absolute."""
    text = json.dumps({"inputs": {}}) + " " * 9000
    words = ["compile", *models[:2], *OPTIONS, "--jobs", "1", "--output", "out"]
    assert neuronx_cc.main([*words, "--io-config", text]) == 0
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "1")
    assert neuronx_cc.main([*words, "--io-config", text, "--cache-dir", "cache"]) == 0
    given = {"io_config": "file:io.json", "cache_dir": "c", "weights": "w"}
    here = Path.cwd()
    absolute = {"io_config": here / "io.json", "cache_dir": here / "c", "weights": here / "w"}
    assert cc_request.absolute(given) == {name: str(path) for name, path in absolute.items()}
    given = {"io_config": text, "cache_dir": "s3://c", "weights": ""}
    assert cc_request.absolute(given) == given
    assert cc_request.absolute({"load": ["f.py"]}) == {"load": [str(here / "f.py")]}


@pytest.mark.parametrize(
    "words, status, said",
    [
        (["--logfile", "log"], 2, "--logfile goes with one model"),
        (["--timing"], 2, "--timing goes with one model"),
        (["-"], 2, "stdin (-) is only possible with a single model"),
        (["sub/m1.hlo"], 1, "[NIR_MANY003]"),
        (["--jobs", "0"], 2, "from 1"),
        (["--retries", "-1"], 2, "from 0"),
        (["--memory-limit", "0"], 2, "--memory-limit 0: a worker needs memory"),
        (["--memory-limit", "much"], 1, "[NIR_CACHE001] --memory-limit"),
        (["--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], 2, "exclude each other"),
    ],
)
def test_options_are_checked(
    words: list[str],
    status: int,
    said: str,
    models: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert neuronx_cc.main(["compile", *models, *words, *OPTIONS]) == status
    assert said in capsys.readouterr().err
    assert neuronx_cc.main(["compile", models[0], *OPTIONS, "--jobs", "2"]) == 0
    assert "--jobs has no effect here" in capsys.readouterr().err


def request(model: str, output: str) -> Request:
    given = vars(build_parser().parse_args(["compile", model, *OPTIONS, "-o", output]))
    return Request("neuronx-cc", given)


def test_killed_worker_loses_its_own_model(
    local: DaskPool, models: list[str], tmp_path: Path
) -> None:
    """With a second attempt nothing is lost, and what is written is whole."""
    jobs = [Job(m, request(str(tmp_path / m), str(tmp_path / f"{m}.neff"))) for m in models]

    class Killing(Heard):
        def ended(self, outcome: Outcome) -> None:
            super().ended(outcome)
            if len(self.over) == 1:
                (pids,) = (client.run(os.getpid) for client in local.clients)
                os.kill(next(iter(pids.values())), signal.SIGKILL)

    heard = Killing()
    outcomes = local.run(jobs, compile_one, retries=1, listener=heard)
    assert [outcome.value.status for outcome in outcomes] == [0] * 4
    assert sum(outcome.retries for outcome in outcomes) == len(heard.lost) <= 1
    for model in models:
        assert (tmp_path / f"{model}.neff").read_bytes() == alone(model)


def test_status_of_a_run() -> None:
    def answered(status: int) -> Outcome:
        request = Request("neuronx-cc", {"model": ["m"]})
        answer = Answer(status, "", False, 1.0, 0)
        return Outcome(Job("m", request), answer, None, 0, 1.0, "w")

    gone = Outcome(Job("m", None), None, "its worker ended", 1, 2.0, "w")
    cases: dict[int, list[Outcome]] = {
        0: [answered(0)],
        1: [answered(0), answered(1)],
        70: [answered(1), gone],
    }
    for status, outcomes in cases.items():
        assert cc_many.ManyRun(outcomes, 0.0, 1.0).status == status
    summary = cc_many.ManyRun([gone], 0.0, 1.0).summary()
    assert summary["compilation_report"]["m"]["error"] == "its worker ended"


def test_worker_with_another_compiler(models: list[str]) -> None:
    job = Job("m", Request("neuronx-cc", request(models[0], "x.neff").given, "another"))
    (outcome,) = SerialPool().run([job], compile_one, retries=0, listener=Heard())
    assert outcome.lost is not None and "another version of NeuronIR" in outcome.lost


# --- neuron_parallel_compile


@pytest.fixture
def parallel(models: list[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """neuron_parallel_compile with one worker and a cache in `cache`, of a script's compiles."""
    monkeypatch.setenv(FOLDER_VARIABLE, "cache")
    start = "from neuronir.cli.neuronx_cc import main; import sys; "
    lines = [
        f"main({['compile', model, *OPTIONS, *more, '-o', 'out.neff']!r})"
        for model, more in (("m1.hlo", []), ("m1.hlo", ["-O1"]), ("m2.hlo", []), ("m1.hlo", []))
    ]
    Path("script.py").write_text(start + "; ".join(lines) + "; sys.exit(int(sys.argv[1]))")

    def run(*words: str, status: int = 0) -> int:
        script = [sys.executable, "script.py", str(status)]
        return neuron_parallel_compile.main(["--jobs", "1", *words, *script])

    return run


def test_collect_then_compile(
    parallel: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert parallel("--command", "collect") == 0
    assert "Collected graphs: 3\n" in capsys.readouterr().out  # two compiles are the same
    assert not Path("out.neff").exists()
    for model in ("m1.hlo", "m2.hlo"):
        Path(model).rename(f"moved-{model}")  # the graphs have copies
    assert neuron_parallel_compile.main(["--jobs", "1", "--command", "compile"]) == 0
    said = capsys.readouterr().out
    assert "Total graphs: 3\nTotal successful compilations: 3\n" in said
    assert neuron_parallel_compile.main(["--command", "compile"]) == 0
    assert capsys.readouterr().out == "Total graphs: 0\n"
    words = ["compile", "moved-m1.hlo", *OPTIONS, "-v", "info", "-o", "out.neff"]
    assert neuronx_cc.main(words) == 0
    assert "Using a cached neff" in capsys.readouterr().out


def test_both_at_once_and_again(
    parallel: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    assert parallel("--summary", "s.json") == 0
    assert capfd.readouterr().err.count("No compilation was done.") == 4
    assert json.loads(Path("s.json").read_text())["compilation_summary"] == {"true": 3}
    assert parallel() == 0
    said = capfd.readouterr()
    assert "Collected graphs: 0" in said.out and "No compilation was done" not in said.err


def test_command_that_fails(
    parallel: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert parallel(status=3) == 1
    assert "[NIR_MANY004]" in capsys.readouterr().err
    monkeypatch.setenv(neuron_parallel_compile.IGNORE_VARIABLE, "1")
    assert parallel(status=3) == 0
    said = capsys.readouterr()
    assert "Total successful compilations: 3" in said.out and "ended with status 3" in said.err
    assert neuron_parallel_compile.main(["no-such-command"]) == 1
    assert "cannot run 'no-such-command'" in capsys.readouterr().err


def test_failed_graph_waits_and_is_retried(
    models: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEURON_CC_FLAGS", "--cache_dir=cache --tiling never")
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "1")
    assert neuronx_cc.main(["compile", str(LARGE), models[0], *OPTIONS]) == 0
    words = ["--jobs", "1", "--command", "compile"]
    assert neuron_parallel_compile.main(words) == 1
    assert "Total failed compilations: 1" in capsys.readouterr().out
    assert neuron_parallel_compile.main(words) == 1
    said = capsys.readouterr()
    assert "from the cache" in said.out and "Got a cached failed neff" in said.err
    monkeypatch.setenv("NEURON_CC_FLAGS", "--cache_dir=cache --retry_failed_compilation")
    assert neuron_parallel_compile.main(words) == 1
    assert "Got a cached failed neff" not in capsys.readouterr().err
    assert neuron_parallel_compile.main(["--command", "clean"]) == 0
    assert capsys.readouterr().out == "2 entries and 1 collected graphs removed\n"
    assert neuron_parallel_compile.main(["--command", "clear-locks"]) == 0


def test_analyze(parallel: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--command", "analyze", "--analyze-output", "result"]
    assert parallel(*words) == 0
    assert "3 of 3 models supported: result/result.json\n" in capsys.readouterr().out
    models: dict[str, Any] = json.loads(Path("result/result.json").read_text())["models"]
    (tanh,) = next(iter(models.values()))["operators"]
    assert tanh["operator"] == "tanh" and tanh["supported"] and "nodes" in tanh
    checked = Outcome(Job("m", None), Checked([tanh], None), None, 0, 1.0, "w")
    short = neuron_parallel_compile._described(checked, 1)
    assert short["supported"] and "nodes" not in short["operators"][0]
    assert not Path("cache").exists()


def test_usage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert neuron_parallel_compile.main([]) == 2
    assert neuron_parallel_compile.main(["--command", "clean"]) == 1
    assert "[NIR_MANY005]" in capsys.readouterr().err  # tests run without a cache
    monkeypatch.setenv(FOLDER_VARIABLE, "memory://bucket")
    assert neuron_parallel_compile.main(["true"]) == 1
    assert "[NIR_MANY005]" in capsys.readouterr().err


def test_model_with_external_data_is_collected_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx = pytest.importorskip("onnx")
    from tests.driver.test_cache_trust import in_a_node

    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("sub/m.onnx").write_bytes(in_a_node().SerializeToString())
    Path("sub/w.bin").write_bytes(bytes(16))
    Path("io.json").write_text(json.dumps({"inputs": {"x": [[4], "float32"]}}))
    words = ["compile", "sub/m.onnx", "--framework", "ONNX", "--target", "trn1"]
    words += ["--io-config", "io.json", "--cache_dir", "cache"]
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "1")
    assert neuronx_cc.main(words) == 0 and onnx
    (graph,) = Path("cache").glob("neuronxcc-*/GRAPH_*")
    found = sorted(str(p.relative_to(graph)) for p in graph.rglob("*") if p.is_file())
    files = ["files/io_config/io.json", "files/model/m.onnx", "files/model/w.bin"]
    assert found == [*files, "graph.json"]
    Path("sub").rename("elsewhere")
    words = ["--jobs", "1", "--cache-dir", "cache", "--command", "compile"]
    assert neuron_parallel_compile.main(words) == 0


def test_cache_that_the_flags_name(
    parallel: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """--cache-dir counts more; the cache of analyze is its own."""
    monkeypatch.setenv("NEURON_CC_FLAGS", "--cache_dir=other")
    assert parallel("--cache-dir", "mine", "--command", "collect") == 0
    assert "Collected graphs: 3" in capsys.readouterr().out
    assert parallel("--command", "analyze") == 0
    assert "3 of 3 models supported" in capsys.readouterr().out
    assert Path("mine").exists() and not Path("other").exists()
    monkeypatch.setenv("NEURON_CC_FLAGS", "--cache_dir='other")
    assert neuron_parallel_compile.main(["--command", "compile"]) == 2
    assert "NEURON_CC_FLAGS: No closing quotation" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["collect", "analyze"])
def test_nothing_is_collected(
    command: str, models: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    compiling = "from neuronir.cli.neuronx_cc import main; main(%r)"
    words = ["compile", models[0], *OPTIONS, "--cache_dir", "other"]
    for code in ("pass", compiling % words):
        run = ["--cache-dir", "cache", "--command", command, sys.executable, "-c", code]
        assert neuron_parallel_compile.main(run) == 1
        assert "[NIR_MANY006]" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--no-cache"], ["--timing"], ["--compile-to", "hlo"]])
def test_compile_that_cannot_be_collected(
    options: list[str],
    models: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is an error, and not a compile."""
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "1")
    words = ["compile", models[0], *OPTIONS, "--cache_dir", "cache", "-o", "out.neff"]
    assert neuronx_cc.main([*words, *options]) == 1
    said = capsys.readouterr().err
    assert "[NIR_MANY005] 'm1.hlo' cannot be collected" in said and options[0] in said
    assert not Path("out.neff").exists() and not Path("cache").exists()
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert neuronx_cc.main(words[:-4]) == 1
    assert "[NIR_MANY005] models cannot be collected without a cache" in capsys.readouterr().err
    assert neuronx_cc.main(["compile", "none.hlo", *words[2:]]) == 1
    assert "[NIR_INPUT] cannot read 'none.hlo'" in capsys.readouterr().err


def test_damaged_graphs(parallel: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """They are told, they fail, and they can be removed."""
    assert parallel("--command", "collect") == 0
    first, second, third = sorted(Path("cache").glob("*/GRAPH_*"))
    (first / "graph.json").write_text("{")
    (second / "graph.json").unlink()
    capsys.readouterr()
    words = ["--jobs", "1", "--command", "compile"]
    assert neuron_parallel_compile.main(words) == 1
    said = capsys.readouterr()
    assert "Total graphs: 3\nTotal successful compilations: 1\n" in said.out
    assert said.err.count("[NIR_MANY007]") == 2 and "'graph.json' is damaged" in said.err
    assert not third.exists()
    assert neuron_parallel_compile.main(words) == 1
    assert capsys.readouterr().out == "Total graphs: 2\nTotal failed compilations: 2\n"
    assert neuron_parallel_compile.main(["--command", "clean"]) == 0
    assert capsys.readouterr().out == "1 entries and 2 collected graphs removed\n"
    assert not first.exists() and not second.exists()

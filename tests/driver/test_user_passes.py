"""The user's passes in a whole compile: what the cache keeps of it, failures, and copies."""

import json
from pathlib import Path

import pytest

from neuronir.cli import neuron_opt, neuronx_cc
from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.user_passes import UserPassFailure, user_passes
from neuronir.registry import Registry
from tests.corpus import CORPUS
from tests.driver.models import write_model

BASE = ["--framework", "XLA", "--target", "trn1", "--verbose", "info"]
PASS = '''
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from neuronir.passes import statistics


class Mine(ModulePass):
    """Do {text}."""

    name = "mine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        statistics.record(self.name, "{text}")
        {body}


PASSES = [Mine]
'''


@pytest.fixture
def model(tmp_path: Path) -> str:
    return write_model(tmp_path)[0]


def write_pass(tmp_path: Path, text: str = "nothing", body: str = "pass", head: str = "") -> str:
    path = tmp_path / "mine.py"
    path.write_text(head + PASS.format(text=text, body=body))
    return str(path)


def compiled(model: str, tmp_path: Path, *options: str) -> int:
    cache = ["--cache-dir", str(tmp_path / "cache"), "-o", str(tmp_path / "x.neff")]
    return neuronx_cc.main(["compile", model, *BASE, *cache, *options])


def hits(capsys: pytest.CaptureFixture[str]) -> int:
    return capsys.readouterr().out.count("Using a cached neff")


def test_the_bytes_of_the_file_are_part_of_the_key(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--load", write_pass(tmp_path), "--pass-after", "hlo=mine"]
    assert compiled(model, tmp_path) == 0
    assert compiled(model, tmp_path, *options) == 0
    assert hits(capsys) == 0
    assert compiled(model, tmp_path, *options) == 0
    assert hits(capsys) == 1
    assert compiled(model, tmp_path, *options[:2], "--pass-after", "parsed=mine") == 0
    write_pass(tmp_path, "something")
    assert compiled(model, tmp_path, *options) == 0
    assert hits(capsys) == 0


@pytest.mark.parametrize("head", ["import json\n", "import json, helpers_of_mine\n"])
def test_code_of_other_packages_is_not_part_of_the_key(
    head: str,
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "helpers_of_mine.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    options = ["--load", write_pass(tmp_path, head=head), "--pass-after", "hlo=mine"]
    assert compiled(model, tmp_path, *options) == compiled(model, tmp_path, *options) == 0
    assert hits(capsys) == ("helpers" not in head)


def test_a_failure_ends_the_compile(model: str, tmp_path: Path) -> None:
    """No other path hides it, although the direct path would compile the program."""
    body = "raise RuntimeError('no')"
    users = user_passes(["tiled=mine"], [write_pass(tmp_path, body=body)])
    options = CompileOptions(user_passes=users, tiling="always", reproducers=False)
    with pytest.raises(UserPassFailure, match="internal error in pass 'mine'") as failed:
        compile_file(model, "trn1", options)
    assert failed.value.internal


def test_a_reproducer_loads_the_file(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_pass(tmp_path, body="raise RuntimeError('no')")
    assert compiled(model, tmp_path, "--load", path, "--pass-after", "hlo=canonicalize,mine") == 70
    written = capsys.readouterr().err
    reproducer = written.split("reproducer written to ")[1].splitlines()[0]
    configuration = Path(reproducer).read_text().splitlines()[2]
    assert f'"load": ["{path}"]' in configuration
    assert neuron_opt.main(["--run-reproducer", reproducer]) == 70
    assert "internal error in pass 'mine': RuntimeError: no" in capsys.readouterr().err
    Path(reproducer).unlink()


def test_a_collected_model_has_a_copy_of_the_file(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_pass(tmp_path)
    monkeypatch.setenv("NEURON_EXTRACT_GRAPHS_ONLY", "1")
    assert compiled(model, tmp_path, "--load", path, "--pass-after", "hlo=mine") == 0
    (graph,) = (tmp_path / "cache").glob("neuronxcc-*/GRAPH_*")
    given = json.loads((graph / "graph.json").read_text())["given"]
    assert given["pass_after"] == ["hlo=mine"]
    assert (graph / given["load"][0]).read_text() == Path(path).read_text()


def test_a_file_that_is_given_twice_is_loaded_once(tmp_path: Path) -> None:
    registry = Registry.discover()
    path = write_pass(tmp_path)
    registry.load_file(path)
    registry.load_file(path)
    assert [file.path for file in registry.files] == [path]


@pytest.mark.parametrize("phase", ["tiled", "virtual", "synchronised"])
def test_messages_of_the_attempt_that_is_kept_are_told_once(phase: str, tmp_path: Path) -> None:
    """Several ways are tried, and the one through tiles is kept."""
    body = "from neuronir.dialects.support import diagnostics; diagnostics.remark('seen')"
    users = user_passes([f"{phase}=mine"], [write_pass(tmp_path, body=body)])
    model = str(CORPUS / "hlo" / "core" / "lstm_scan.hlo")
    heard: list[Message] = []
    with handling(heard.append):
        result = compile_file(model, "trn1", CompileOptions(user_passes=users))
    assert result.tiled
    assert [message.text for message in heard].count("seen") == 1

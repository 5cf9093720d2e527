"""Faults of passes and of the computer, as neuron-cc reports them."""

from pathlib import Path

import pytest

from neuronir.cli import neuron_cc, neuronx_cc, start
from neuronir.cli.program import INTERNAL, USER_ERROR
from tests.cli.small_models import enter

PASSES = """
import errno
from xdsl.passes import ModulePass

class Faulty(ModulePass):
    name = "faulty"
    def apply(self, ctx, op):
        _deep({})

def _deep(table):
    return table["planted"]

class Full(ModulePass):
    name = "full"
    def apply(self, ctx, op):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

PASSES = [Faulty, Full]
"""
UNKNOWN = """< ir_version: 10, opset_import: ["" : 20] >
g (float[2, 3] x) => (float[2, 3] y)
{
  y = Frobnicate (x)
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and passes, in which the programs run."""
    enter(tmp_path, monkeypatch, UNKNOWN)
    (tmp_path / "passes.py").write_text(PASSES)
    return tmp_path


def after_hlo(name: str) -> int:
    words = ["compile", "m.hlo", "--framework", "XLA", "--load", "passes.py"]
    return neuron_cc.main([*words, "--pass-after", f"hlo={name}"])


def test_the_block_names_the_fault_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert after_hlo("faulty") == INTERNAL
    err = capsys.readouterr().err
    assert "Error class:  KeyError\n" in err
    assert "Error location:  _deep, line 11\n" in err
    assert 'return table["planted"]' in err
    assert "neuronir-reproducer-" in err
    assert "neuronx-cc" not in err


def test_a_pass_that_gets_no_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert after_hlo("full") == USER_ERROR
    err = capsys.readouterr().err
    assert "[NIR_MEMORY] there is not enough memory" in err
    assert "reproducer" not in err


def test_a_program_that_cannot_be_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(module: str) -> None:
        raise MemoryError

    monkeypatch.setattr(start, "_main_of", fails)
    assert start.neuron_cc() == USER_ERROR
    assert capsys.readouterr().err.startswith("neuron-cc: error: [NIR_MEMORY] ")


@pytest.mark.parametrize("program", ["neuron-cc", "neuronx-cc"])
def test_advice_names_the_program_itself(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    main = neuron_cc.main if program == "neuron-cc" else neuronx_cc.main
    words = ["compile", "m.onnxtxt", "--framework", "ONNX"]
    assert main(words if program == "neuron-cc" else [*words, "--target", "trn1"]) == USER_ERROR
    assert f"help: {program} list-operators --framework ONNX" in capsys.readouterr().err

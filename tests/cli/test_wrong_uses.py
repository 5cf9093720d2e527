"""Options that do nothing together, or name nothing: refused, with advice that helps."""

from pathlib import Path

import numpy as np
import pytest

from neuronir.cli import neuron_cc, neuron_check, neuron_opt, neuron_sim, neuronx_cc
from neuronir.cli.program import USAGE, USER_ERROR
from neuronir.dialects.support.npz import npz_bytes
from tests.cli.small_models import enter


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with models and arrays, in which the programs run."""
    enter(tmp_path, monkeypatch)
    array = np.ones((4, 8), np.float32)
    (tmp_path / "y.npz").write_bytes(npz_bytes({"arg1": array}))
    (tmp_path / "xy.npz").write_bytes(npz_bytes({"arg0": array, "arg1": array}))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("m.hlo --weights y.npz", "--weights"),
        ("m.hlo --inputs xy.npz", "--inputs"),
        ("m.hlo --accuracy --operators-only", "--operators-only"),
        ("m.hlo --accuracy --show-names", "--show-names"),
        ("m.hlo --localize --operators-only --inputs xy.npz", "--operators-only"),
    ],
)
def test_options_of_neuron_check_that_need_another(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert neuron_check.main(words.split()) == USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["inf2", "trn1n"])
def test_other_names_of_a_target_are_known_to_all(name: str) -> None:
    words = ["m.hlo", "--target", name]
    assert neuron_check.main(words) == 0
    assert neuron_sim.main(["sweep", *words, "--jobs", "1"]) == 0
    assert (
        neuronx_cc.main(["compile", *words, "--framework", "XLA", "--report", "unsupported"]) == 0
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ("dma_queues=-1", "dma_queues"),
        ("dma_queues=0", "dma_queues"),
        ("dma_queues=nan", "dma_queues"),
        ("dma_queues=inf", "dma_queues"),
        ("dma_queues=1.5", "dma_queues"),
        ("dma_queue=2", "did you mean dma_queues"),
    ],
)
def test_values_of_set(changes: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert neuron_cc.main(["compile", "m.hlo", "--framework", "XLA"]) == 0
    assert neuron_sim.main(["run", "out.neff", "--timing-only", "--set", changes]) == USAGE
    err = capsys.readouterr().err
    assert said in err
    assert "convert float" not in err


def test_a_model_with_bound_shapes_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ["--input-shape", "n=4"]
    assert neuron_cc.main(["compile", "m.onnxtxt", "--framework", "ONNX", *shape]) == 0
    Path("x.npz").write_bytes(npz_bytes({"arg0": np.ones((4, 3), np.float32)}))
    run = ["run", "out.neff", "--inputs", "x.npz", "--no-timing"]
    assert neuron_sim.main([*run, "--model", "m.onnxtxt", *shape]) == 0
    assert "all outputs agree with the interpreter" in capsys.readouterr().out
    assert neuron_sim.main([*run, *shape]) == USAGE


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("m.hlo --hlo-canonicalise", USAGE, "did you mean --hlo-canonicalize?"),
        ("m.hlo -p hlo-canonicalise", USAGE, "did you mean hlo-canonicalize"),
        ("m.hlo --help-pass hlo-canonicalise", USER_ERROR, "did you mean hlo-canonicalize"),
        ("m.hlo -p frobnicate", USAGE, "--list-passes"),
        ("m.hlo --pipeline trn1:hl", USAGE, "did you mean trn1:hlo"),
        ("m.hlo -p @bogus", USAGE, "--list-pipelines"),
    ],
)
def test_unknown_names_of_neuron_opt(
    words: str, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert neuron_opt.main(words.split()) == status
    assert said in capsys.readouterr().err


def test_a_pipeline_may_be_given_with_its_sign() -> None:
    assert neuron_opt.main(["m.hlo", "--pipeline", "@trn1:hlo"]) == 0


def test_fp8_has_no_meaning_without_a_cast() -> None:
    words = ["compile", "m.hlo", "--framework", "XLA", "--target", "trn1"]
    assert neuronx_cc.main([*words, "--auto-cast", "none", "--auto-cast-type", "fp8_e4m3"]) == 0


def test_the_pipeline_warning_has_the_published_words(capsys: pytest.CaptureFixture[str]) -> None:
    cores = ["--neuroncore-pipeline-cores", "64"]
    assert neuron_cc.main(["compile", "m.hlo", "--framework", "XLA", *cores]) == 0
    said = (
        "The requested number of neuroncore-pipeline-cores (64) may not be suitable for this "
        "network"
    )
    assert said in capsys.readouterr().err

"""Bindings (--io-config, --input-shape, --signature) and --framework that do not fit the model."""

import io
from pathlib import Path

import pytest

from neuronir.cli import neuron_cc, neuron_check, neuron_explore, neuron_opt
from tests.cli.small_models import enter


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with models, in which the programs run."""
    enter(tmp_path, monkeypatch)
    return tmp_path


WRONG = [
    (["--io-config", '{"inputs": {"z": [[4, 8], "float32"]}}'], "no parameter 'z'"),
    (["--io-config", '{"inputs": {"x": [[4, 9], "float32"]}}'], "shape 4x9 does not fit"),
    (["--io-config", '{"inputs": {"x": [[4], "float32"]}}'], "shape 4 does not fit"),
    (["--io-config", '{"inputs": {"x": [[4, 8], "float16"]}}'], "has type f32"),
    (["--io-config", '{"inputs": {"x": [[4, 8], "floaty"]}}'], "unknown type 'floaty'"),
    (["--io-config", '{"outputs": ["r"]}'], "outputs"),
    (["--input-shape", "x=4x9"], "shape 4x9 does not fit"),
    (["--input-shape", "n=4"], "no parameter 'n'"),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_bindings_must_fit_an_hlo_module(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert neuron_cc.main(["compile", "m.hlo", "--framework", "XLA", *words]) == 1
    err = capsys.readouterr().err
    assert "[NIR_ARG003]" in err
    assert said in err
    assert not Path("out.neff").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--io-config", '{"inputs": {"x": [[4, 8], "float32"], "arg1": [[4, 8], "float32"]}}'],
        ["--input-shape", "x=4x8"],
    ],
)
def test_bindings_that_fit_are_accepted(words: list[str]) -> None:
    assert neuron_cc.main(["compile", "m.hlo", "--framework", "XLA", *words]) == 0
    assert neuron_check.main(["m.hlo", *words]) == 0


def test_other_programs_check_the_bindings_too(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--input-shape", "n=4"], ["--signature", "serve"]):
        assert neuron_check.main(["m.hlo", *words]) == 1
        assert neuron_opt.main(["m.hlo", *words]) == 1
        assert neuron_explore.main(["m.hlo", "--list", *words]) == 1
        assert capsys.readouterr().err.count("error: [NIR_ARG00") == 3


@pytest.mark.parametrize(("model", "framework"), [("m.hlo", "XLA"), ("m.onnxtxt", "ONNX")])
def test_only_a_saved_model_has_signatures(
    model: str, framework: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--signature", "serve"] + (["--input-shape", "n=4"] if model == "m.onnxtxt" else [])
    assert neuron_cc.main(["compile", model, "--framework", framework, *words]) == 1
    assert "[NIR_ARG002] --signature serve" in capsys.readouterr().err


@pytest.mark.parametrize("framework", ["bogus", "MXNET"])
def test_every_program_refuses_an_unknown_framework(
    framework: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--framework", framework]
    assert neuron_check.main(["m.hlo", *words]) == 1
    assert neuron_explore.main(["m.hlo", "--list", *words]) == 1
    assert capsys.readouterr().err.count(f"[NIR_ARG001] --framework {framework}") == 2


@pytest.mark.parametrize(
    ("model", "given", "right"),
    [
        ("m.hlo", "ONNX", "XLA"),
        ("m.hlo", "TENSORFLOW", "XLA"),
        ("m.onnxtxt", "XLA", "ONNX"),
        ("m.onnxtxt", "TENSORFLOW", "ONNX"),
        ("m.pbtxt", "XLA", "TENSORFLOW"),
        ("saved", "XLA", "TENSORFLOW"),
        ("saved", "ONNX", "TENSORFLOW"),
    ],
)
def test_a_model_of_another_framework(
    model: str, given: str, right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("m.pbtxt").write_text('node { name: "x" op: "Placeholder" }\n')
    Path("saved").mkdir()
    assert neuron_cc.main(["compile", model, "--framework", given]) == 1
    err = capsys.readouterr().err
    assert "error: [NIR_" in err
    assert f"use --framework {right}" in err


def test_the_example_of_a_shape_has_the_known_dimensions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert neuron_cc.main(["compile", "m.onnxtxt", "--framework", "ONNX"]) == 1
    assert "--input-shape x=1x3" in capsys.readouterr().err


def test_an_unknown_output_of_an_onnx_model(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--input-shape", "n=4", "--io-config", '{"outputs": ["nope"]}']
    assert neuron_cc.main(["compile", "m.onnxtxt", "--framework", "ONNX", *words]) == 1
    err = capsys.readouterr().err
    assert "[NIR_ONNX007] the model has no output 'nope'" in err
    assert "its outputs: 'y'" in err


def test_the_hint_is_for_files_that_were_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert neuron_cc.main(["compile", "none.hlo", "--framework", "ONNX"]) == 1
    assert "--framework" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["s3://bucket/m.hlo"],
        ["m.hlo", "--io-config", "https://example.com/io.json"],
        ["m.hlo", "--weights", "https://example.com/w.npz"],
    ],
)
def test_a_url_is_not_a_missing_file(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert neuron_cc.main(["compile", *words, "--framework", "XLA"]) == 1
    assert "help: download the file" in capsys.readouterr().err


def test_a_folder_is_no_npz_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    words = ["m.hlo", "--framework", "XLA", "--weights", "folder"]
    assert neuron_cc.main(["compile", *words]) == 1
    assert "[NIR_INPUT] cannot read 'folder': Is a directory" in capsys.readouterr().err


def test_empty_input_has_a_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert neuron_cc.main(["compile", "-", "--framework", "XLA"]) == 1
    assert "error: [NIR_HLO001] unexpected end of the text" in capsys.readouterr().err


def test_an_io_config_that_is_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--io-config", '["x"]']
    assert neuron_cc.main(["compile", "m.hlo", "--framework", "XLA", *words]) == 1
    assert "[NIR_ARG003] --io-config: it must be an object" in capsys.readouterr().err

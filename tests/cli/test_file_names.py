"""Names of files that are no UTF-8, which Linux allows."""

import os
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from neuronir.cli import neuron_check, neuron_opt, neuron_sim, neuronx_cc
from tests.driver.models import DENSE


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / os.fsdecode(b"a\xff\x1b")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("names have to be UTF-8 here")
    return folder


def name_in(place: Path, suffix: str) -> str:
    return str(place / (os.fsdecode(b"m\xfe") + suffix))


def compiled(model: str, place: Path, *options: str, framework: str = "XLA") -> int:
    words = ["compile", model, "--framework", framework, "--target", "trn1", "-v", "info"]
    words += ["--logfile", name_in(place, ".log"), "-o", name_in(place, ".neff")]
    return neuronx_cc.main([*words, *options])


def onnx_model(path: str) -> None:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    weight = TensorProto(data_type=TensorProto.FLOAT, dims=[4], name="w")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="w.bin")
    (Path(path).parent / "w.bin").write_bytes(np.ones(4, np.float32).tobytes())
    graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    Path(path).write_bytes(model.SerializeToString())


@pytest.mark.parametrize("framework", ["XLA", "ONNX"])
def test_compile_keeps_and_answers(
    framework: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = name_in(place, ".model")
    if framework == "XLA":
        Path(model).write_text(DENSE)
    else:
        onnx_model(model)
    options = ("--cache-dir", name_in(place, "cache"))
    for expected in (0, 1):
        assert compiled(model, place, *options, framework=framework) == 0
        assert capsys.readouterr().out.count("Using a cached neff") == expected
    assert compiled(model, place, "--dump-phases-to", name_in(place, ""), framework=framework) == 0
    assert neuron_sim.main(["run", name_in(place, ".neff"), "--timing-only"]) == 0


def test_other_programs(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = name_in(place, ".hlo")
    Path(model).write_text(DENSE)
    output = name_in(place, ".mlir")
    assert neuron_opt.main([model, "--mlir-print-debuginfo", "-o", output]) == 0
    assert neuron_opt.main([output]) == 0
    assert neuron_check.main([model, "--target", "trn1"]) == 0


def test_errors(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also of what is wrong in such a file; a terminal gets no escape of its name."""
    bad = name_in(place, ".hlo")
    Path(bad).write_text("HloModule m\n\nENTRY e {\n  ROOT x = f32[2]{0} nothing()\n}\n")
    missing = name_in(place, ".missing")
    assert compiled(bad, place) == 1
    assert compiled(missing, place) == 1
    assert compiled(bad, place, framework="ONNX") == 1
    words = ["compile", bad, "--framework", "XLA", "--target", "trn1"]
    assert neuronx_cc.main([*words, "-o", f"{missing}/x"]) == 1
    assert neuron_opt.main([bad]) == 1
    assert neuron_opt.main([missing]) == 1
    assert neuron_sim.main(["run", missing]) == 1
    said = capsys.readouterr().err
    assert said.count("error: ") == 7 and "internal" not in said
    assert "\x1b" not in said, said

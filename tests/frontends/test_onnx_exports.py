"""Whole ONNX models: PyTorch's exports of the corpus, and the light models of the onnx package."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import neuronir
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.interpreter_bounds import bounds
from neuronir.dialects.support.compare import compare
from neuronir.dialects.support.npz import load_npz, numbered
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.onnx import import_onnx, read_onnx
from tests.corpus import CORPUS, Array

EXPORTS = sorted(path.stem for path in (CORPUS / "onnx").glob("*.onnx"))
LIGHT = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
)
TOLERANCE = 1e-4


def _runtime(path: Path, inputs: list[Array]) -> list[Array]:
    """What onnxruntime computes."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return [np.asarray(a) for a in session.run(None, dict(zip(names, inputs, strict=True)))]


@pytest.mark.parametrize("name", EXPORTS)
def test_export_on_the_interpreter(name: str) -> None:
    path = CORPUS / "onnx" / f"{name}.onnx"
    stored = load_npz(path.with_suffix(".ref.npz"))
    module = import_onnx(read_onnx(str(path)))
    module.verify()
    args = numbered(stored, "arg")
    found = interpret(module, args)
    limits = bounds(module, "fp32")
    for wanted in (numbered(stored, "out"), _runtime(path, args)):
        report = compare(found, {f"out{i}": a for i, a in enumerate(wanted)}, rtol=max(limits))
        assert report.ok, report.render()


@pytest.mark.slow
@pytest.mark.parametrize("cast", ["none", "matmult", "all"])
@pytest.mark.parametrize("name", EXPORTS)
def test_export_on_trn1(name: str, cast: str) -> None:
    path = CORPUS / "onnx" / f"{name}.onnx"
    args = numbered(load_npz(path.with_suffix(".ref.npz")), "arg")
    limits = bounds(import_onnx(read_onnx(str(path))), "fp32" if cast == "none" else "bf16")
    found = list(neuronir.compile(path, auto_cast=cast)(*args).values())
    wanted = {f"out{i}": a for i, a in enumerate(_runtime(path, args))}
    report = compare(found, wanted, rtol=max(limits))
    assert report.ok, report.render()


@pytest.mark.slow
@pytest.mark.parametrize("name", LIGHT)
def test_light_models(name: str) -> None:
    """Architectures with constant weights, on the interpreter."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    path = folder / f"light_{name}.onnx"
    file = read_onnx(str(path))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (value,) = session.get_inputs()
    x = np.random.default_rng(0).standard_normal(value.shape).astype(np.float32)
    (found,) = interpret(import_onnx(file, Bindings({value.name: x.shape})), [x])
    (wanted,) = (np.asarray(a) for a in session.run(None, {value.name: x}))
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE * np.abs(wanted).max())

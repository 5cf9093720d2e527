"""The TensorFlow models of the corpus: frozen graphs, their text, SavedModels."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.npz import load_npz, numbered
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.tensorflow.saved import TensorFlowModel, read_model
from tests.corpus import CORPUS
from tests.differential.stages import judge

FOLDER = CORPUS / "tf"
FILES = sorted(p.name for p in FOLDER.glob("*") if p.suffix in (".pb", ".pbtxt") or p.is_dir())
KERAS_INPUT = {"lenet": "keras_tensor_4", "sepconv_bn": "keras_tensor_12"}
"""The inputs of the SavedModels whose batch is open."""

Array = NDArray[Any]


def source_of(name: str) -> tuple[TensorFlowModel, Bindings, list[Array], dict[str, Array]]:
    """A model of the corpus, what it leaves open, its arguments and reference outputs."""
    base = name.split(".")[0].removesuffix("_savedmodel")
    stored = load_npz(CORPUS / "tf" / f"{base}.ref.npz")
    args = numbered(stored, "arg")
    reference = {key: array for key, array in stored.items() if key.startswith("out")}
    about = json.loads((FOLDER / f"{base}.json").read_text())
    if name.endswith("_savedmodel"):
        bindings = Bindings()
        if base in KERAS_INPUT:
            bindings = Bindings({KERAS_INPUT[base]: args[0].shape})
        else:  # the signature orders its inputs by name
            args = [args[i] for i in np.argsort(about["inputs"])]
    else:
        shapes = {n: a.shape for n, a in zip(about["inputs"], args, strict=True)}
        bindings = Bindings(shapes, outputs=about["outputs"])
    return read_model(str(FOLDER / name)), bindings, args, reference


@pytest.mark.parametrize("name", FILES)
def test_interpreter_matches_tensorflow(name: str) -> None:
    model, bindings, args, reference = source_of(name)
    module = model.module(bindings)
    module.verify()
    with np.errstate(all="ignore"):
        report = judge(module, interpret(module, args), args, reference)
    assert report.ok, report.render()

"""The TensorFlow models of the corpus: frozen graphs, their text, SavedModels."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.npz import load_npz, numbered
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.tensorflow import import_tensorflow, read_file
from tests.corpus import CORPUS, corpus_dir
from tests.differential.stages import judge

FOLDER = CORPUS / "tf"
FILES = sorted(p.name for p in FOLDER.glob("*") if p.suffix in (".pb", ".pbtxt") or p.is_dir())
KERAS_INPUT = {"lenet": "keras_tensor_4", "sepconv_bn": "keras_tensor_12"}
"""The inputs of the SavedModels whose batch is open."""

Array = NDArray[Any]


def model_of(name: str) -> tuple[ModuleOp, list[Array], dict[str, Array]]:
    """A module of the corpus, its arguments and reference outputs."""
    base = name.split(".")[0].removesuffix("_savedmodel")
    stored = load_npz(corpus_dir() / "tf" / f"{base}.ref.npz")
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
    module = import_tensorflow(read_file(str(FOLDER / name)), bindings)
    module.verify()
    return module, args, reference


@pytest.mark.parametrize("name", FILES)
def test_interpreter_matches_tensorflow(name: str) -> None:
    module, args, reference = model_of(name)
    with np.errstate(all="ignore"):
        report = judge(module, interpret(module, args), args, reference)
    assert report.ok, report.render()

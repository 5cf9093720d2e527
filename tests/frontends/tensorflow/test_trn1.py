"""The operators and the corpus of TensorFlow on the simulated trn1, all products in fp32."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.api import Executable
from neuronir.driver import CompileOptions
from neuronir.driver.compiler import compile_model
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.models import Model
from neuronir.frontends.tensorflow import File
from neuronir.frontends.tensorflow.saved import TensorFlowModel
from neuronir.frontends.tensorflow.schema import parse_binary
from tests.differential.stages import judge
from tests.frontends.tensorflow.check import against, bindings_of
from tests.frontends.tensorflow.stored import load, names
from tests.frontends.tensorflow.test_corpus import FILES, source_of
from tests.frontends.tensorflow.test_operators import FAMILIES

Array = NDArray[Any]
_STEP = 16
"""Every sixteenth case runs in the fast tests, all of them in the slow ones."""
_FAST = ("sepconv_bn_savedmodel", "tf1_cond.pb", "tf1_convnet.pb", "tf1_while.pbtxt")


def on_trn1(model: Model, bindings: Bindings, args: Sequence[Array]) -> list[Array]:
    """What the simulated machine computes."""
    result = compile_model(model, "trn1", CompileOptions(auto_cast="none", bindings=bindings))
    assert result.program is not None
    with np.errstate(all="ignore"):
        return list(Executable(result.program, result.encoding)(*args).values())


def _wrong(family: str, step: int) -> list[str]:
    wrong = []
    for name in [n for n in names() if n.startswith(f"{family}/")][::step]:
        case = load(name)
        file = File(name, parse_binary("GraphDef", case.graph, name), name)
        args = [array for _, array in case.inputs]
        report = against(case, on_trn1(TensorFlowModel(file), bindings_of(case), args))
        if not report.ok:
            wrong.append(f"{name}: {report.render()}")
    return wrong


@pytest.mark.parametrize("family", FAMILIES)
def test_some_operators(family: str) -> None:
    wrong = _wrong(family, _STEP)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_all_operators(family: str) -> None:
    wrong = _wrong(family, 1)
    assert not wrong, "\n".join(wrong)


def _corpus(name: str) -> None:
    model, bindings, args, reference = source_of(name)
    outputs = on_trn1(model, bindings, args)
    report = judge(model.module(bindings), outputs, args, reference)
    assert report.ok, report.render()


@pytest.mark.parametrize("name", [n for n in FILES if n in _FAST])
def test_some_models(name: str) -> None:
    _corpus(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_all_models(name: str) -> None:
    _corpus(name)

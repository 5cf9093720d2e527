"""Single operators against TensorFlow: on the reference interpreter, and on the simulated trn1."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from tests.frontends.tensorflow.check import against, module_of
from tests.frontends.tensorflow.stored import load, names

FAMILIES = sorted({name.split("/")[0] for name in names()})


@pytest.mark.parametrize("family", FAMILIES)
def test_operators_match_tensorflow(family: str) -> None:
    wrong = []
    for name in [n for n in names() if n.startswith(f"{family}/")]:
        case = load(name)
        with np.errstate(all="ignore"):
            outputs = interpret(module_of(case), [array for _, array in case.inputs])
        report = against(case, outputs)
        if not report.ok:
            wrong.append(f"{name}: {report.render()}")
    assert not wrong, "\n".join(wrong)


def test_enough_cases() -> None:
    assert len(names()) >= 600

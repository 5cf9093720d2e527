"""Models that are not in the corpus: each compiles in both precisions, with weights bound and
given, and agrees with XLA."""

import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.acceptance.programs import decoded
from tests.differential.stages import judge
from tests.differential.zoo import ZOO, model
from tests.oracle import run_xla

QUICK = ("mlp_tower", "mixed_mlp", "gpt_layer", "masked_attention", "decode_step", "conv1d")
"""Models that all tests try; the others are slow tests."""


def _check(name: str, cast: str, bound: bool) -> None:
    m = model(name)
    weights = {f"arg{i}": m.args[i] for i in range(m.weights)} if bound else {}
    result = compile_text(m.text, "trn1", CompileOptions(auto_cast=cast, weights=weights))
    program = decoded(result)
    given = sorted(v.index for v in program.variables if v.kind == "input")
    args = [m.args[i] for i in given]
    outputs = run(program, args, get_target("trn1").machine, Options(races=True)).outputs
    reference = {f"out{i}": x for i, x in enumerate(run_xla(m.text, m.args))}
    with np.errstate(all="ignore"):
        module = import_hlo_text(m.text, "model.hlo")
        report = judge(module, outputs, m.args, reference, cast)
    assert report.ok, report.render()


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("name", QUICK)
@pytest.mark.thin(2)
def test_model(name: str, cast: str) -> None:
    _check(name, cast, bound=False)


@pytest.mark.slow
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize("name", ZOO)
def test_every_model(name: str, cast: str, bound: bool) -> None:
    _check(name, cast, bound)

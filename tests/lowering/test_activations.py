"""Functions that a machine's ACT does not have."""

from dataclasses import replace

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.interpreter_bounds import bounds
from neuronir.dialects.support.compare import compare
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.pipelines import PIPELINES
from neuronir.targets import registry
from neuronir.targets.simulator.functional import run
from neuronir.targets.trn1 import TARGET
from tests.lowering.helpers import at_hlo, entry

PRODUCT_AND_GELU = entry(
    "x = f32[64,32] parameter(0)",
    "w = f32[32,48] parameter(1)",
    "d = f32[64,48] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "c = f32[] constant(0.70710678)",
    "cb = f32[64,48] broadcast(c), dimensions={}",
    "h = f32[] constant(0.5)",
    "hb = f32[64,48] broadcast(h), dimensions={}",
    "o = f32[] constant(1)",
    "ob = f32[64,48] broadcast(o), dimensions={}",
    "a = f32[64,48] multiply(d, cb)",
    "e = f32[64,48] erf(a)",
    "t = f32[64,48] add(e, ob)",
    "p = f32[64,48] multiply(d, t)",
    "r = f32[64,48] multiply(p, hb)",
)


@pytest.mark.parametrize("without", [frozenset[str](), frozenset({"GELU"})])
def test_gelu_of_a_product(monkeypatch: pytest.MonkeyPatch, without: frozenset[str]) -> None:
    """It is computed as the product is evicted, or as its region says where ACT has none."""
    has = TARGET.machine.activations - without
    machine = replace(TARGET.machine, name="acts", activations=has)
    monkeypatch.setattr(registry, "_extra", {})
    hlo = {"hlo": PIPELINES["hlo-simplify"] + ",hlo-find-composites"}
    registry.register_target(replace(TARGET, name="acts", machine=machine, pipelines=hlo))
    text, options = PRODUCT_AND_GELU, CompileOptions(auto_cast="none")
    virtual = compile_text(text, "acts", replace(options, compile_to="virtual")).module
    assert ('func = "gelu"' in str(virtual)) == (not without)
    program = compile_text(text, "acts", options).program
    assert program is not None
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=s).astype(np.float32) for s in ((64, 32), (32, 48)))
    module = at_hlo(text)
    (expected,) = interpret(module, [x, w])
    outputs = run(program, [x, w], machine).outputs
    report = compare(outputs, {"out0": expected}, rtol=bounds(module))
    assert report.ok, report

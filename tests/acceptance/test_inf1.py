"""The second machine: its tensor engine is smaller, takes no fp32, and it has no loops or calls."""

import pytest

from benchmarks.measure import judge, simulate
from neuronir.driver import CompileOptions, compile_file
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import decoded, model


@pytest.mark.parametrize("name", ["mlp", "lenet", "hf_bert_tiny"])
def test_small_models(name: str) -> None:
    chosen = model(name)
    result = compile_file(str(chosen.path), "inf1", CompileOptions())
    program = decoded(result)
    args = chosen.args()
    outputs = simulate(program, args, result)
    text = chosen.path.read_text()
    report = judge(text, outputs, args, chosen.reference(), "matmult").report
    assert report.ok, report.render()
    assert simulate_timing(program, result.target.machine).total_ns > 0

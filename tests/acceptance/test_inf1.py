"""The second machine: its tensor engine is smaller, takes no fp32, and it has no loops or calls."""

import pytest

from benchmarks.measure import judge
from neuronir.driver import CompileOptions, compile_file
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import decoded, model


@pytest.mark.parametrize(
    "name", ["mlp", "lenet", "hf_bert_tiny", "xent_grad", "embed_scatter_grad"]
)
def test_small_models(name: str) -> None:
    chosen = model(name)
    result = compile_file(str(chosen.path), "inf1", CompileOptions())
    program = decoded(result)
    verdict = judge(chosen, program, result.target)
    assert verdict.ok, verdict.render()
    assert simulate_timing(program, result.target.machine).total_ns > 0

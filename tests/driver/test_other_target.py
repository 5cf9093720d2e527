"""A target of another package compiles and runs like ours."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neuronir.cli import neuron_sim
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_file, compile_text
from neuronir.passes.pipelines import PIPELINES
from neuronir.targets import registry
from neuronir.targets.neff.reader import read_neff
from neuronir.targets.simulator.functional import run
from neuronir.targets.target import EncoderOptions, Target
from neuronir.targets.trn1 import TARGET as TRN1
from tests.driver.models import DENSE, dense_arguments, dense_result, write_model


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Target:
    """Trn1 with a slower tensor engine, without control flow, with a pipeline of its own."""
    target = Target(
        name="slow1",
        machine=replace(TRN1.machine, name="slow1", pe_ghz=0.1),
        description="a test",
        pipelines={"hlo": f"{PIPELINES['hlo-simplify']},hlo-auto-cast"},
        encoder=EncoderOptions(unroll_loops=True),
    )
    monkeypatch.setattr(registry, "_extra", {})
    registry.register_target(target)
    return target


def test_other_target(slow: Target, tmp_path: Path) -> None:
    model, inputs, reference = write_model(tmp_path)
    path = str(tmp_path / "x.neff")
    result = compile_file(model, "slow1", CompileOptions(auto_cast="none"))
    result.write(path)
    program = read_neff(path)
    assert program.machine == "slow1" and program.metadata["precision"] == "none"
    (output,) = run(program, dense_arguments(), slow.machine).outputs
    assert np.abs(output - dense_result()).max() < 1e-5
    assert neuron_sim.main(["run", path, "--inputs", inputs, "--expect", reference]) == 0


def test_the_machine_bears_the_name_of_its_target(slow: Target) -> None:
    registry.register_target(replace(slow, name="slow2"))
    with pytest.raises(NeuronError, match="must have the name of the target"):
        compile_text(DENSE, "slow2")

"""Compiled models on the simulator: right in every phase and order, no race, no fault unseen."""

import random

import numpy as np
import pytest

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.compiler import compile_file
from neuronir.driver.options import CompileOptions
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module
from neuronir.targets.simulator.races import check_races
from tests.corpus import CORPUS, program_args, program_reference
from tests.simulator_functional.faults import wait_places, without_wait

MACHINE = get_machine("trn1")
MODELS = ["mlp", "hf_bert_tiny"]


def compiled(model: str) -> Program:
    """The program of a corpus model, in fp32."""
    path = CORPUS / "hlo" / "core" / f"{model}.hlo"
    program = compile_file(str(path), "trn1", CompileOptions(auto_cast="none")).program
    assert program is not None
    return program


@pytest.mark.parametrize("model", MODELS)
def test_outputs_are_those_of_xla_in_every_order(model: str) -> None:
    path = CORPUS / "hlo" / "core" / f"{model}.hlo"
    program, inputs = compiled(model), program_args(path)
    first = run(program, inputs, MACHINE, Options(races=True)).outputs
    reference = program_reference(path)
    for i, output in enumerate(first):
        np.testing.assert_allclose(output, reference[f"out{i}"], rtol=1e-3, atol=1e-4)
    engines = sorted({engine for streams in program.streams.values() for engine in streams})
    for options in (
        Options(order="reversed"),
        Options(order=11),
        Options(dma_mode="on_wait"),
        *(Options(starve=engine) for engine in engines[:4]),
    ):
        for output, expected in zip(
            run(program, inputs, MACHINE, options).outputs, first, strict=True
        ):
            assert np.array_equal(output, expected), options


@pytest.mark.parametrize("phase", ["virtual", "ordered", "allocated", "synchronised"])
def test_every_phase_computes_the_same(phase: str) -> None:
    path = CORPUS / "hlo" / "core" / "mlp.hlo"
    options = CompileOptions(auto_cast="none", compile_to=phase)
    module = compile_file(str(path), "trn1", options).module
    reference = program_reference(path)
    for i, output in enumerate(run_module(module, program_args(path))):
        np.testing.assert_allclose(output, reference[f"out{i}"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_removed_waits_are_races(model: str) -> None:
    program = compiled(model)
    chance = random.Random(0)
    places = wait_places(program)
    chosen = [chance.choice(places) for _ in range(200)]
    missed = {place for place in set(chosen) if not _race(without_wait(program, place))}
    assert sum(place in missed for place in chosen) <= 10, sorted(missed)


def _race(program: Program) -> bool:
    try:
        check_races(program)
    except NeuronError as error:
        return error.code == "NIR_SIM020"
    return False

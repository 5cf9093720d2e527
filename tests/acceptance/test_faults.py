"""The simulator judges compiled programs: what is broken in them does not go unseen."""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from neuronir.dialects.nc.instruction import AccessPattern, Instruction, Program
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.races import check_races
from tests.acceptance.programs import binary, machine, model
from tests.simulator_functional.faults import changed, instructions, wait_places, without_wait

MODELS = ("hf_bert_tiny", "lenet", "hf_resnet_tiny")
SAMPLES = 200


def _race(program: Program) -> bool:
    try:
        check_races(program)
    except NeuronError as error:
        return error.code == "NIR_SIM020"
    return False


@pytest.mark.slow
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_removed_waits_are_races(name: str, weights: bool) -> None:
    program = binary(name, weights=weights)
    assert not _race(program)
    chance = random.Random(0)
    places = wait_places(program)
    chosen = [chance.choice(places) for _ in range(SAMPLES)]
    verdicts = {place: _race(without_wait(program, place)) for place in set(chosen)}
    missed = [place for place in chosen if not verdicts[place]]
    assert len(missed) <= 0.05 * SAMPLES, sorted(set(missed))


def _outputs(program: Program, name: str) -> list[Array] | str:
    """The outputs, or the code of the error that stops the run."""
    args = model(name).args()
    given = sorted(v.index for v in program.variables if v.kind == "input")
    try:
        return run(program, [args[i] for i in given], machine(), Options()).outputs
    except NeuronError as error:
        return error.code


def _same(one: list[Array] | str, other: list[Array] | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return False
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def _flip(target: Instruction) -> None:
    target.params = {**target.params, "accumulate": not target.params["accumulate"]}


@pytest.mark.parametrize("name", ["mlp", "lenet"])
def test_flipped_accumulate_flags_change_the_output(name: str) -> None:
    program = binary(name)
    right = _outputs(program, name)
    numbers = [n for n, i in enumerate(instructions(program)) if "accumulate" in i.params]
    assert numbers
    for number in random.Random(1).sample(numbers, min(len(numbers), 8)):
        broken = changed(program, number, _flip)
        assert not _same(_outputs(broken, name), right), number


def _bendable(instruction: Instruction) -> list[tuple[int, int]]:
    """(operand, dimension) of the strides of its sources that a run goes along."""
    return [
        (operand, dimension)
        for operand, ap in enumerate(instruction.src)
        if isinstance(ap, AccessPattern)
        for dimension, (stride, size) in enumerate(ap.free)
        if size > 1 and stride
    ]


def _bend(target: Instruction, operand: int, dimension: int) -> None:
    source = list(target.src)
    ap = source[operand]
    assert ap is not None
    free = list(ap.free)
    free[dimension] = (0, free[dimension][1])
    source[operand] = replace(ap, free=tuple(free))
    target.src = tuple(source)


@pytest.mark.parametrize("name", ["mlp", "lenet"])
def test_bent_strides_change_the_output(name: str) -> None:
    program = binary(name)
    right = _outputs(program, name)
    chance = random.Random(2)
    places = [
        (number, *place)
        for number, instruction in enumerate(instructions(program))
        if instruction.opcode == "matmul"
        for place in _bendable(instruction)
    ]
    assert places
    for number, operand, dimension in chance.sample(places, min(len(places), 8)):
        broken = changed(program, number, partial(_bend, operand=operand, dimension=dimension))
        assert not _same(_outputs(broken, name), right), (number, operand, dimension)

"""Faults put into correct programs must not go unseen."""

import random
from collections.abc import Callable
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.instruction import Affine, Instruction, Program, Update, Wait
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.races import check_races
from tests.simulator_functional.build import copy, tile, variable
from tests.simulator_functional.build import program as build
from tests.simulator_functional.faults import changed, instructions, wait_places, without_wait
from tests.simulator_functional.gemm import gemm

MACHINE = get_machine("trn1")
PROGRAMS: dict[str, Callable[[], Program]] = {
    "gemm": lambda: gemm(8, 256, 256),
    "gemm_deep": lambda: gemm(6, 512, 128),
}
"""Programs without redundant waits, by name; compiled models may be added."""


def race_code(program: Program) -> str:
    """The code of the race that the checker reports, or nothing."""
    try:
        check_races(program)
    except NeuronError as error:
        return error.code
    return ""


@pytest.mark.parametrize("name", PROGRAMS)
def test_removed_waits_are_races(name: str) -> None:
    program = PROGRAMS[name]()
    assert race_code(program) == ""
    chance = random.Random(0)
    places = wait_places(program)
    chosen = [chance.choice(places) for _ in range(200)]
    verdicts = {place: race_code(without_wait(program, place)) for place in set(chosen)}
    reported = sum(verdicts[place] == "NIR_SIM020" for place in chosen)
    assert reported >= 190, [place for place in set(chosen) if verdicts[place] != "NIR_SIM020"]


def test_race_names_both_instructions() -> None:
    program = PROGRAMS["gemm"]()
    matmul = next(
        n for n, i in enumerate(instructions(program)) if i.opcode == "matmul" and i.waits
    )
    with pytest.raises(NeuronError) as caught:
        check_races(without_wait(program, (matmul, 0)))
    text = str(caught.value)
    assert "Data race between Op1 'dma1 dma(" in text
    assert "' from 'parameter.1' (gemm.py:2) and Op2 'pe matmul(" in text
    assert "'dot.3' (jit(f)/dot_general, gemm.py:4)" in text


def test_a_wait_for_half_a_transfer_proves_nothing() -> None:
    program = PROGRAMS["gemm"]()
    number = next(n for n, i in enumerate(instructions(program)) if i.opcode == "matmul")

    def halve(target: Instruction) -> None:
        first = target.waits[0]
        value = replace(first.value, const=first.value.const - 8)
        target.waits = (replace(first, value=value), *target.waits[1:])

    assert race_code(changed(program, number, halve)) == "NIR_SIM020"


def test_a_barrier_orders_engines_but_not_transfers() -> None:
    def meet(engine: Engine) -> Instruction:
        return Instruction("barrier", engine, (), (), updates=(Update(0),))

    write = Instruction("memset", Engine.DVE, (tile(0, 4),), (), {"value": 1.0})
    read = copy(Engine.POOL, tile(64, 4), tile(0, 4))
    good = {Engine.DVE: [write, meet(Engine.DVE)], Engine.POOL: [meet(Engine.POOL), read]}
    good[Engine.POOL][0].updates = ()
    assert race_code(build(good)) == ""
    read.waits = (Wait(0, Affine(1)),)
    assert race_code(build(good)) == ""
    load = copy(Engine.DMA0, tile(0, 4), tile(0, 4, Space.HBM))
    read.waits = ()
    source = [variable("x", "input", 0, 128, 4)]
    for instructions_of_dma in ([load, meet(Engine.DMA0)], [load]):
        program = build({**good, Engine.DVE: [], Engine.DMA0: instructions_of_dma}, source)
        assert race_code(program) == "NIR_SIM020"


def outputs(program: Program) -> np.ndarray:
    generator = np.random.default_rng(3)
    inputs = [
        generator.standard_normal(v.shape).astype(ml_dtypes.bfloat16)
        for v in program.variables
        if v.kind == "input"
    ]
    return np.asarray(run(program, inputs, MACHINE, Options()).outputs[0])


def test_flipped_accumulate_changes_the_output() -> None:
    program = gemm(4, 256, 64)
    expected = outputs(program)
    for number, instruction in enumerate(instructions(program)):
        if instruction.opcode != "matmul":
            continue

        def flip(target: Instruction) -> None:
            target.params = {"accumulate": 1 - target.params["accumulate"]}

        other = changed(program, number, flip)
        try:
            assert not np.array_equal(outputs(other), expected)
        except NeuronError as error:
            assert error.code in ("NIR_SIM001", "NIR_SIM010")


@pytest.mark.parametrize("operand", [0, 1])
def test_changed_stride_changes_the_output(operand: int) -> None:
    program = gemm(4, 256, 64)
    expected = outputs(program)
    number = next(n for n, i in enumerate(instructions(program)) if i.opcode == "matmul")

    def bend(target: Instruction) -> None:
        source = list(target.src)
        ap = source[operand]
        assert ap is not None
        source[operand] = replace(ap, free=((2, ap.free[0][1]),))
        target.src = tuple(source)

    assert not np.array_equal(outputs(changed(program, number, bend)), expected)


def test_removed_wait_is_seen_in_some_order() -> None:
    """Apart from the race checker: a missing wait gives another result in some legal order."""
    program = gemm(8, 256, 64)
    for place in wait_places(program):
        assert _differs(without_wait(program, place), outputs(program)), place


def _differs(program: Program, expected: np.ndarray) -> bool:
    generator = np.random.default_rng(3)
    inputs = [
        generator.standard_normal(v.shape).astype(ml_dtypes.bfloat16)
        for v in program.variables
        if v.kind == "input"
    ]
    engines = sorted(program.streams["main"])
    for options in (
        Options(dma_mode="on_wait"),
        *(Options(starve=engine) for engine in engines),
    ):
        try:
            if not np.array_equal(run(program, inputs, MACHINE, options).outputs[0], expected):
                return True
        except NeuronError:
            return True
    return False

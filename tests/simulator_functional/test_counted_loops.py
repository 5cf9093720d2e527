"""Loops whose trip count is in a register: encoding, checks, values, races and time."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from xdsl.parser import Parser

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    COUNTER,
    AccessPattern,
    Affine,
    Instruction,
    Item,
    Loop,
    Program,
)
from neuronir.dialects.support.errors import NeuronError
from neuronir.pipeline import parse_pipeline
from neuronir.registry import Registry
from neuronir.targets.encoding.disassembler import disassemble
from neuronir.targets.encoding.encoding import check_registers, encoding_for
from neuronir.targets.encoding.flatten import flatten
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.neff.check import check_machine
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.races import check_races
from neuronir.targets.simulator.timing import simulate_timing
from neuronir.targets.simulator.walker import DmaMode, Order
from neuronir.targets.trn1.machine import TRN1

SOURCE = Path(__file__).parents[2] / "lit" / "passes" / "nc" / "counted-loop.mlir"
PIPELINE = "@nc-order,nc-assign-banks,nc-allocate,nc-synchronise"
ROUNDS = 3  # of the loop around


@cache
def _program() -> Program:
    return synchronised(SOURCE)


def synchronised(source: Path) -> Program:
    """Order, allocate and synchronise a module of phase virtual."""
    registry = Registry.discover()
    ctx = registry.context()
    module = Parser(ctx, source.read_text()).parse_module()
    for one in parse_pipeline(PIPELINE, registry.passes, registry.pipelines):
        one.apply(ctx, module)
    return program_from_module(module, TRN1)


def _expected(x: np.ndarray, count: int) -> np.ndarray:
    state = x
    for _ in range(ROUNDS):
        for _ in range(count):
            state = np.tanh(np.float32(0.5) * (state + x))
        state = np.tanh(np.float32(0.5) * state)
    return state


def without(program: Program, dropped: Callable[[Instruction, bool], bool]) -> Program:
    """Return the program without some instructions; the flag says whether a loop that depends on
    data is around.
    """

    def kept(items: list[Item], counted: bool) -> list[Item]:
        out: list[Item] = []
        for item in items:
            if isinstance(item, Loop):
                out.append(replace(item, body=kept(item.body, counted or item.count >= 0)))
            elif not isinstance(item, Instruction) or not dropped(item, counted):
                out.append(item)
        return out

    streams = {
        name: {engine: kept(items, False) for engine, items in engines.items()}
        for name, engines in program.streams.items()
    }
    return replace(program, streams=streams)


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize(("order", "dma"), [("forward", "eager"), (3, "on_wait")])
def test_values_and_time(count: int, order: Order, dma: DmaMode) -> None:
    x = np.random.default_rng(0).standard_normal((128, 64)).astype(np.float32)
    options = Options(order=order, dma_mode=dma, races=dma == "eager")
    result = run(_program(), [np.array([count], np.int32), x], TRN1, options)
    np.testing.assert_allclose(result.outputs[0], _expected(x, count), rtol=1e-5, atol=1e-6)
    assert result.trips == {0: [count] * ROUNDS}
    known = simulate_timing(_program(), TRN1, trips=result.trips)
    assumed = simulate_timing(_program(), TRN1, assumed=count)
    assert known.total_ns == assumed.total_ns


def test_every_run_has_its_own_trip_count_in_time() -> None:
    def ns(*trips: int) -> float:
        return simulate_timing(_program(), TRN1, trips={0: list(trips)}).total_ns

    assert ns(0, 0, 0) < ns(0, 1, 0) < ns(0, 2, 0) < ns(1, 2, 0) < ns(1, 2, 3)


def test_the_negative_and_the_too_large_are_clamped() -> None:
    x = np.ones((128, 64), np.float32)
    for given, count in ((-4, 0), (1 << 20, 1000)):
        result = run(_program(), [np.array([given], np.int32), x], TRN1)
        assert result.trips == {0: [count] * ROUNDS}


def survives_encoding(program: Program) -> None:
    """Assert that a decoded program reads like the encoded one, and that trn1 can run it."""
    encoding = encoding_for(TRN1)
    files = encoding.encode(program)
    decoded = replace(program, streams=encoding.decode(files, list(program.streams)))
    assert list(disassemble(decoded)) == list(disassemble(program))
    check_machine(program, TRN1)


def test_encoding() -> None:
    survives_encoding(_program())


def test_no_control_flow() -> None:
    with pytest.raises(NeuronError, match="NIR_ENC004.*trip count of a loop is in a register"):
        flatten(without(_program(), lambda i, _: i.opcode == "register_load"), 1000)


def test_a_count_that_is_not_loaded() -> None:
    program = without(
        _program(), lambda i, _: i.opcode == "register_load" and i.engine is Engine.ACT
    )
    with pytest.raises(NeuronError, match="NIR_NEFF008.*ACT uses register r0, which was never"):
        check_machine(program, TRN1)


def test_too_few_registers() -> None:
    with pytest.raises(NeuronError, match="NIR_ENC005.*2 registers"):
        check_registers(_program(), replace(TRN1, registers=1))


def test_a_race_between_iterations() -> None:
    check_races(_program())
    broken = without(_program(), lambda i, counted: i.opcode == "barrier" and counted)
    with pytest.raises(NeuronError, match="NIR_SIM020"):
        check_races(broken)


def test_an_address_may_not_depend_on_a_counter() -> None:
    moves = Affine(0, ((COUNTER, 4),))
    word = AccessPattern(Space.SBUF, DType.F32, moves, 0, 1, ((1, 1),))
    fill: list[Item] = [Instruction("memset", Engine.DVE, (word,), (), {"value": 0.0})]
    program = replace(_program(), streams={"main": {Engine.DVE: fill}})
    with pytest.raises(NeuronError, match="NIR_NEFF008.*depends on a counter of iterations"):
        check_machine(program, TRN1)

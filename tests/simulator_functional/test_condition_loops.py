"""Loops whose condition is in a register: encoding, checks, values, races and time."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Instruction, Item, Loop, Program
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.iterations import at_most_iterations
from neuronir.targets.encoding.codec import DecodeError
from neuronir.targets.encoding.disassembler import disassemble
from neuronir.targets.encoding.encoding import check_registers, encoding_for
from neuronir.targets.encoding.fields import ENCODING_VERSION, OLDEST_VERSION
from neuronir.targets.encoding.flatten import flatten
from neuronir.targets.encoding.stream import MAGIC
from neuronir.targets.neff.check import check_machine
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.races import check_races
from neuronir.targets.simulator.timing import simulate_timing
from neuronir.targets.simulator.walker import DmaMode, Order
from neuronir.targets.trn1.machine import TRN1
from tests.differential.stages import stages
from tests.simulator_functional.test_counted_loops import survives_encoding, synchronised, without

SOURCE = Path(__file__).parents[2] / "lit" / "passes" / "nc" / "condition-loop.mlir"


@cache
def _program() -> Program:
    return synchronised(SOURCE)


@pytest.mark.parametrize(("first", "count"), [(0.5, 1), (3.0, 2), (1000.0, 10)])
@pytest.mark.parametrize(("order", "dma"), [("forward", "eager"), (3, "on_wait")])
def test_values_and_time(first: float, count: int, order: Order, dma: DmaMode) -> None:
    x = np.full((128, 64), first, np.float32)
    options = Options(order=order, dma_mode=dma, races=dma == "eager")
    result = run(_program(), [x], TRN1, options)
    np.testing.assert_array_equal(result.outputs[0], x * 0.5**count)
    assert result.trips == {0: [count]}
    known = simulate_timing(_program(), TRN1, trips=result.trips)
    assert known.total_ns == simulate_timing(_program(), TRN1, assumed=count).total_ns


def test_an_iteration_takes_a_load_and_a_branch() -> None:
    """Each iteration takes the same time, which includes both."""
    one, two, three = (simulate_timing(_program(), TRN1, assumed=n).total_ns for n in (1, 2, 3))
    assert three - two == two - one
    assert two - one > TRN1.register_load_ns + TRN1.branch_ns
    fast = replace(TRN1, branch_ns=0.0)
    saved = two - simulate_timing(_program(), fast, assumed=2).total_ns
    assert saved == pytest.approx(3 * TRN1.branch_ns, abs=0.1)  # the entry, and two ends


def test_a_loop_without_an_end() -> None:
    x = np.full((128, 64), np.inf, np.float32)
    with at_most_iterations(20), pytest.raises(NeuronError, match="NIR_SIM036.*20 iterations"):
        run(_program(), [x], TRN1)
    with at_most_iterations(10):
        run(_program(), [np.full((128, 64), 1000.0, np.float32)], TRN1)


@pytest.mark.parametrize("phase", ["hlo", "tiled"])
def test_the_interpreter_ends_a_loop_too(phase: str) -> None:
    source = SOURCE.parents[1] / "tile" / "while-condition.hlo"
    text = source.read_text()
    x = np.full((40, 64), np.inf, np.float32)
    with at_most_iterations(20), pytest.raises(NeuronError, match="NIR_SIM036.*20 iterations"):
        list(stages(text, [x], phases=(phase, "tiled")))


def test_encoding() -> None:
    survives_encoding(_program())


def test_older_encodings() -> None:
    """A program without such loops has the same bytes in an older encoding, but for its version."""
    streams = {
        name: {engine: list(_plain(items)) for engine, items in engines.items()}
        for name, engines in _program().streams.items()
    }
    program = replace(_program(), streams=streams)
    encoding = encoding_for(TRN1)
    for engine, data in encoding.encode(program).items():
        assert data[len(MAGIC)] == ENCODING_VERSION
        for version in range(OLDEST_VERSION, ENCODING_VERSION + 1):
            old = data[: len(MAGIC)] + bytes([version]) + data[len(MAGIC) + 1 :]
            decoded = encoding.decode({engine: old}, list(program.streams))
            found = replace(program, streams=decoded)
            assert list(disassemble(found)) == list(disassemble(program, [engine]))
        for version in (OLDEST_VERSION - 1, ENCODING_VERSION + 1):
            other = data[: len(MAGIC)] + bytes([version]) + data[len(MAGIC) + 1 :]
            with pytest.raises(DecodeError, match=f"version {version}, .* versions 2 to 4"):
                encoding.decode({engine: other}, list(program.streams))


def _plain(items: list[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Loop):
            yield Loop(3, list(_plain(item.body)))
        elif not isinstance(item, Instruction) or not _by_counter(item):
            yield item


def _by_counter(item: Instruction) -> bool:
    return any(wait.value.terms for wait in item.waits)


def test_no_control_flow() -> None:
    with pytest.raises(NeuronError, match="NIR_ENC004.*condition of a loop is in a register"):
        flatten(without(_program(), lambda i, _: i.opcode == "register_load"), 1000)


@pytest.mark.parametrize("inside", [False, True])
def test_a_condition_that_is_not_loaded(inside: bool) -> None:
    program = without(
        _program(),
        lambda i, around: (
            i.opcode == "register_load" and i.engine is Engine.ACT and around == inside
        ),
    )
    with pytest.raises(NeuronError, match="NIR_NEFF008.*ACT uses register r., which was never"):
        check_machine(program, TRN1)


def test_too_few_registers() -> None:
    with pytest.raises(NeuronError, match="NIR_ENC005.*3 registers"):
        check_registers(_program(), replace(TRN1, registers=2))


@pytest.mark.parametrize("number", [0, 1])
def test_a_race_without_a_barrier(number: int) -> None:
    """The barrier before a load of the condition orders it after its computation, the one after it
    before that of the next iteration."""
    check_races(_program())
    seen: dict[Engine, int] = {}

    def dropped(i: Instruction, around: bool) -> bool:
        if i.opcode != "barrier" or not around:
            return False
        seen[i.engine] = seen.get(i.engine, 0) + 1
        return seen[i.engine] == number + 1

    with pytest.raises(NeuronError, match="NIR_SIM020"):
        check_races(without(_program(), dropped))

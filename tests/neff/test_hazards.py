"""Programs written by hand that mean nothing: whoever is about to run a NEFF refuses them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    REGISTER,
    AccessPattern,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
    Update,
    Variable,
    Wait,
)
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.neff.check import check_machine
from neuronir.targets.neff.reader import parse_neff
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.races import check_races
from neuronir.targets.simulator.timing import simulate_timing
from tests.neff.test_container import as_bytes
from tests.simulator_functional.build import copy, program, tile, variable

X = variable("x", "input", 0, 128, 64)
Y = variable("y", "output", 32768, 128, 64)


def check(whole: Program) -> None:
    """Write a program, read it again, and check it as neuron-sim does before it runs one."""
    check_machine(parse_neff(as_bytes(whole)).program, get_machine("trn1"))


def refused(whole: Program, text: str) -> None:
    """It is refused, with the reason."""
    with pytest.raises(NeuronError) as caught:
        check(whole)
    assert caught.value.code == "NIR_NEFF008", str(caught.value)
    assert text in str(caught.value), str(caught.value)


def build(
    streams: Mapping[Engine, Sequence[Item]], variables: Sequence[Variable] = (X, Y)
) -> Program:
    """A program of one function."""
    return program(streams, variables)


def transfer(**changes: object) -> Instruction:
    """A load that is right but for the changes."""
    load = copy(Engine.DMA0, tile(0, 64), tile(0, 64, Space.HBM))
    load.updates = (Update(0, 16),)
    return replace(load, **changes)  # type: ignore[arg-type]


def test_what_is_right_passes() -> None:
    check(build({Engine.DMA0: [transfer()]}))


@pytest.mark.parametrize("count", [1 << 17, 1 << 40])
def test_semaphores_beyond_all_machines(count: int) -> None:
    """Already when the file is read, whatever is done with it."""
    whole = replace(build({Engine.DMA0: [transfer()]}), semaphores=count)
    with pytest.raises(NeuronError, match=f"NIR_NEFF008.*{count} semaphores"):
        parse_neff(as_bytes(whole))


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"updates": (Update(0, -16),)}, "adds -16 to semaphore 0"),
        ({"updates": (Update(0, 0),)}, "adds 0 to semaphore 0"),
        ({"updates": (Update(0, 1),)}, "16 equal parts"),
        ({"updates": (Update(0, 16), Update(0, 16))}, "one semaphore twice"),
        ({"updates": (Update(8, 16),)}, "semaphore 8 of 8"),
        ({"waits": (Wait(9, Affine(1)),)}, "semaphore 9 of 8"),
        ({"waits": (Wait(0, Affine(1, ((REGISTER, 1),))),)}, "depends on data"),
        ({"dst": (replace(tile(0, 64), free=((0, 64),)),)}, "overlapping elements"),
        ({"dst": (replace(tile(0, 64), address=Affine(2)),)}, "not aligned"),
        ({"src": (replace(tile(0, 64, Space.HBM), partition_stride=255),)}, "not aligned"),
        ({"src": (replace(tile(0, 64, Space.HBM), partitions=0),)}, "empty access pattern"),
    ],
)
def test_instructions(changes: dict[str, object], text: str) -> None:
    refused(build({Engine.DMA0: [transfer(**changes)]}), text)
    refused(build({Engine.DMA0: [Loop(2, [transfer(**changes)])]}), text)


def test_counters() -> None:
    """2^16 iterations of 2^16, in a loop and through a call; half of that is fine."""
    count = Instruction("memset", Engine.DVE, (tile(0, 4),), (), {"value": 1.0})
    count.updates = (Update(3, 1 << 16),)
    check(build({Engine.DVE: [Loop(1 << 15, [count])]}))
    refused(build({Engine.DVE: [Loop(1 << 16, [count])]}), "semaphore 3 counts up to 4294967296")
    whole = build({Engine.DVE: [Loop(1 << 15, [Call("f", ())]), Call("f", ())]})
    whole.streams["f"] = {Engine.DVE: [count]}
    check(whole)
    whole.streams["main"][Engine.POOL] = [replace(count, engine=Engine.POOL)]
    check(whole)
    whole.streams["f"][Engine.DVE].append(count)
    refused(whole, "semaphore 3 counts up to")


WORD = AccessPattern(Space.HBM, DType.I32, Affine(0), 0, 1, ((1, 1),))


def load(register: int, low: int = 0, high: int = 3) -> Instruction:
    """A register of DVE."""
    bounds: dict[str, int | float] = {"register": register, "low": low, "high": high}
    return Instruction("register_load", Engine.DVE, (), (WORD,), bounds)


def test_registers() -> None:
    use = Instruction(
        "memset", Engine.DVE, (tile(0, 4, terms=((REGISTER + 1, 16),)),), (), {"value": 1.0}
    )
    check(build({Engine.DVE: [load(1), Loop(3, [use])]}))
    check(build({Engine.DVE: [Loop(3, [load(1), use])]}))
    early: list[list[Item]] = [[use], [use, load(1)], [load(0), use], [Loop(0, [load(1)]), use]]
    for items in early:
        refused(build({Engine.DVE: items}), "register r1, which was never loaded")
    refused(build({Engine.POOL: [replace(use, engine=Engine.POOL)], Engine.DVE: [load(1)]}), "r1")
    whole = build({Engine.DVE: [Call("f", ()), use]})
    whole.streams["f"] = {Engine.DVE: [load(1)]}
    check(whole)
    whole.streams["main"][Engine.DVE].reverse()
    refused(whole, "register r1, which was never loaded")
    refused(build({Engine.DVE: [load(-64)]}), "no register -64")
    refused(build({Engine.DVE: [load(0, 3, 2)]}), "bounds of a register are empty")


def test_parameters_are_there() -> None:
    reduce = Instruction("tensor_reduce", Engine.DVE, (tile(0, 1),), (tile(64, 4),), {"op": 1})
    refused(build({Engine.DVE: [reduce]}), "lacks its parameter 'axes'")


def shifted(by: int) -> Variable:
    """The output, nearer to the input."""
    return replace(Y, address=Y.address - by)


@pytest.mark.parametrize(
    "variables, text",
    [
        ((X, shifted(1)), "'x' and 'y' share bytes"),
        ((X, shifted(32768)), "share bytes"),
        ((replace(X, index=-1), Y), "indices of the inputs"),
        ((X, replace(X, name="w", address=1 << 20), Y), "indices of the inputs"),
        ((X, Y, replace(Y, name="z", address=1 << 20)), "indices of the outputs"),
        ((X, replace(Y, index=1)), "indices of the outputs"),
        ((X, replace(Y, strides=(0, 4))), "overlapping elements"),
        ((X, replace(Y, strides=(128, 4))), "overlapping elements"),
        ((X, replace(Y, strides=(256, 2))), "overlapping elements"),
    ],
)
def test_variables(variables: tuple[Variable, ...], text: str) -> None:
    refused(build({}, variables), text)


def test_variables_side_by_side() -> None:
    check(build({}, (X, Y)))
    check(build({}, (X, replace(Y, strides=(4, 512)))))
    check(build({}, (X, Y, variable("empty", "scratch", 100, 0))))
    check(build({}, (replace(X, index=3), Y)))


@pytest.mark.parametrize("functions, loops", [(60, 31), (5, 31), (60, 2)])
def test_loops_and_calls_are_not_nested_without_end(functions: int, loops: int) -> None:
    """Each function calls the next one in so many loops."""

    def nested(item: Item) -> list[Item]:
        for _ in range(loops):
            item = Loop(1, [item])
        return [item]

    item = Instruction("memset", Engine.DVE, (tile(0, 4),), (), {"value": 1.0})
    whole = build({Engine.DVE: nested(Call("f0", ()))})
    for k in range(functions):
        last = k == functions - 1
        whole.streams[f"f{k}"] = {Engine.DVE: nested(item if last else Call(f"f{k + 1}", ()))}
    refused(whole, "nested more than 128 deep")


def test_loops_and_calls_may_be_nested() -> None:
    item: Item = Instruction("memset", Engine.DVE, (tile(0, 4),), (), {"value": 1.0})
    whole = build({Engine.DVE: [Call("f0", ())]})
    for k in range(31):
        inner = item if k == 30 else Call(f"f{k + 1}", ())
        whole.streams[f"f{k}"] = {Engine.DVE: [Loop(2 if k == 0 else 1, [Loop(1, [inner])])]}
    check(whole)
    check_races(whole)
    simulate_timing(whole)
    run(replace(whole, variables=[]), [], get_machine("trn1"))


def test_the_message_names_the_instruction() -> None:
    refused(build({Engine.DMA0: [transfer(updates=(Update(0, 1),))]}), "'dma' of DMA0 ('op.1')")


def test_a_queue_belongs_to_one_engine() -> None:
    mine, other = transfer(updates=()), transfer(updates=(), trigger=Engine.ACT)
    whole = build({Engine.DVE: []})
    whole.streams["main"] |= {Engine.SP: [mine], Engine.ACT: [other]}
    refused(whole, "ACT and SP both start transfers of DMA0; a queue belongs to one engine")

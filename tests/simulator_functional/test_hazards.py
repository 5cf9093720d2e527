"""Hazards written by hand, which no order makes right: the race checker refuses them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
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
from neuronir.targets.simulator import races
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.races import check_races
from tests.simulator_functional.build import copy, program, tile, variable

X = variable("x", "input", 0, 128, 64)
Y = variable("y", "output", 32768, 128, 64)
LOAD = copy(Engine.DMA0, tile(0, 64), tile(0, 64, Space.HBM))
STORE = copy(Engine.DMA1, tile(32768, 64, Space.HBM), tile(0, 64))


def signalled(
    item: Instruction, waits: Sequence[Wait] = (), updates: Sequence[Update] = ()
) -> Instruction:
    """An instruction with these waits and updates."""
    return replace(item, waits=tuple(waits), updates=tuple(updates))


def at_least(semaphore: int, value: int) -> Wait:
    """A wait."""
    return Wait(semaphore, Affine(value))


def refused(
    streams: Mapping[Engine, Sequence[Item]] | Program,
    *texts: str,
    variables: Sequence[Variable] = (X, Y),
) -> None:
    """The race checker names what is wrong."""
    whole = streams if isinstance(streams, Program) else program(streams, variables)
    with pytest.raises(NeuronError) as caught:
        check_races(whole)
    for text in texts:
        assert text in str(caught.value), str(caught.value)


def fine(streams: Mapping[Engine, Sequence[Item]], variables: Sequence[Variable] = (X, Y)) -> None:
    """The race checker has nothing to say."""
    check_races(program(streams, variables))


def fill(ap: AccessPattern, engine: Engine = Engine.DVE) -> Instruction:
    """Fill with a number."""
    return Instruction("memset", engine, (ap,), (), {"value": 1.0})


# ---- semaphores


def test_copy_in_order_is_fine() -> None:
    load = signalled(LOAD, updates=[Update(0, 16)])
    fine({Engine.DMA0: [load], Engine.DMA1: [signalled(STORE, [at_least(0, 16)])]})


@pytest.mark.parametrize("amount", [-16, 0, 1 << 40])
def test_semaphores_only_rise(amount: int) -> None:
    """16 are taken back and given again: whoever waits for 16 may start before that or after it."""
    load = signalled(LOAD, updates=[Update(0, 16)])
    back = signalled(fill(tile(512, 4)), [at_least(0, 16)], [Update(0, amount)])
    again = signalled(fill(tile(640, 4)), updates=[Update(0, 16)])
    text = f"adds {amount} to semaphore 0"
    refused({Engine.DMA0: [load], Engine.DVE: [back, again]}, "NIR_SIM006", text)


@pytest.mark.parametrize("amount", [1, 15, 17])
def test_transfers_add_in_equal_parts(amount: int) -> None:
    load = signalled(LOAD, updates=[Update(0, amount)])
    store = signalled(STORE, [at_least(0, amount)])
    refused({Engine.DMA0: [load], Engine.DMA1: [store]}, "NIR_SIM006", "16 equal parts")


def test_two_updates_of_one_semaphore_prove_nothing_by_halves() -> None:
    """32 parts are on their way, of which 16 may be those of one half of the engines."""
    load = signalled(LOAD, updates=[Update(0, 16), Update(0, 16)])
    store = signalled(STORE, [at_least(0, 16)])
    refused({Engine.DMA0: [load], Engine.DMA1: [store]}, "NIR_SIM006", "one semaphore twice")


def test_waits_do_not_depend_on_data() -> None:
    word = AccessPattern(Space.HBM, DType.I32, Affine(0), 0, 1, ((1, 1),))
    bounds: dict[str, int | float] = {"register": 0, "low": 0, "high": 16}
    read = Instruction("register_load", Engine.DMA1, (), (word,), bounds)
    load = signalled(LOAD, updates=[Update(0, 16)])
    store = signalled(STORE, [Wait(0, Affine(16, ((REGISTER, -1),)))])
    refused({Engine.DMA0: [load], Engine.DMA1: [read, store]}, "NIR_SIM006", "depends on data")


def test_counters_have_32_bits() -> None:
    count = signalled(fill(tile(0, 4)), updates=[Update(0, 1 << 16)])
    refused({Engine.DVE: [Loop(1 << 16, [count])]}, "NIR_SIM006", "32 bits")


@pytest.mark.parametrize("count", [1 << 17, 1 << 40])
def test_no_machine_has_so_many_semaphores(count: int) -> None:
    refused(
        program({Engine.DVE: [fill(tile(0, 4))]}, [], count), "NIR_SIM006", f"{count} semaphores"
    )


# ---- transfers that nobody waits for


def test_transfers_of_one_queue_are_in_no_order() -> None:
    """A queue only starts in order: the second transfer may read before the first has written."""
    back = replace(STORE, engine=Engine.DMA0)
    refused({Engine.DMA0: [LOAD, back]}, "NIR_SIM020", "Data race")
    refused({Engine.DMA0: [LOAD, LOAD]}, "NIR_SIM020", "Data race")
    waited = signalled(LOAD, updates=[Update(0, 16)])
    fine({Engine.DMA0: [waited, signalled(back, [at_least(0, 16)])]})


def test_a_later_read_hides_no_transfer_that_nobody_waits_for() -> None:
    """Both read the word; the wait is for the second one only."""
    word = tile(0, 1, dtype=DType.I32, partitions=1)
    out = replace(tile(32768, 1, Space.HBM, DType.I32), partitions=1)
    first = Instruction("dma", Engine.DMA0, (out,), (word,))
    bounds: dict[str, int | float] = {"register": 0, "low": 0, "high": 7}
    second = Instruction("register_load", Engine.DMA0, (), (word,), bounds, (), (Update(0),))
    ready = signalled(fill(word), updates=[Update(1)])
    again = signalled(fill(word), [at_least(0, 1)])
    streams: dict[Engine, list[Item]] = {
        Engine.DVE: [ready, again],
        Engine.DMA0: [signalled(first, [at_least(1, 1)]), second],
    }
    refused(streams, "NIR_SIM020", "Op1 'dma0 dma(")


# ---- one instruction against itself


@pytest.mark.parametrize("engine", [Engine.DVE, Engine.POOL, Engine.DMA0])
@pytest.mark.parametrize("shift", [-64, -4, 4, 64])
def test_copy_onto_an_overlapping_self(engine: Engine, shift: int) -> None:
    """How far reads are ahead of writes is nobody's promise."""
    item = copy(engine, tile(256 + shift, 64), tile(256, 64))
    refused({engine: [item]}, "NIR_SIM020", "itself")


@pytest.mark.parametrize("engine", [Engine.DVE, Engine.POOL, Engine.DMA0])
def test_copy_beside_and_onto_the_same_place_is_fine(engine: Engine) -> None:
    fine({engine: [copy(engine, tile(512, 64), tile(256, 64))]})
    fine({engine: [copy(engine, tile(256, 64), tile(256, 64))]})
    rows = replace(tile(256, 64), free=((16, 4), (1, 16)))
    fine({engine: [copy(engine, tile(256, 64), rows)]})


def test_copy_onto_itself_in_another_order() -> None:
    turned = replace(tile(0, 64), free=((1, 8), (8, 8)))
    refused({Engine.DVE: [copy(Engine.DVE, tile(0, 64), turned)]}, "NIR_SIM020", "itself")
    backwards = replace(tile(252, 64), free=((-1, 64),))
    refused({Engine.DVE: [copy(Engine.DVE, tile(0, 64), backwards)]}, "NIR_SIM020", "itself")


def test_copy_onto_itself_on_other_partitions() -> None:
    low, high = (tile(0, 4, start=start, partitions=64) for start in (0, 32))
    refused({Engine.DMA0: [copy(Engine.DMA0, high, low)]}, "NIR_SIM020", "itself")


def test_copy_onto_itself_in_one_iteration_only() -> None:
    """The operands move apart; in the first iteration they overlap."""
    moving = tile(128, 64, terms=((0, 256),))
    item = copy(Engine.DVE, moving, tile(0, 64))
    refused({Engine.DVE: [Loop(3, [item])]}, "NIR_SIM020", "itself")
    apart = copy(Engine.DVE, replace(moving, address=moving.address + 128), tile(0, 64))
    fine({Engine.DVE: [Loop(3, [apart])]})


def test_results_of_one_instruction_overlap() -> None:
    item = Instruction(
        "activation",
        Engine.ACT,
        (tile(0, 64), tile(8, 1)),
        (tile(1024, 64), None, None),
        {"func": 0},
    )
    refused({Engine.ACT: [item]}, "NIR_SIM020", "itself")


def test_results_that_other_elements_are_computed_from() -> None:
    """A gather, a transpose and a scalar are read while the results are written."""
    numbers = tile(1024, 64, dtype=DType.I32)
    gather = Instruction("n_gather", Engine.POOL, (tile(0, 64),), (tile(0, 64), numbers), {})
    refused({Engine.POOL: [gather]}, "NIR_SIM020", "itself")
    block = tile(0, 32, partitions=32)
    turn = Instruction("transpose_dve", Engine.DVE, (block,), (block,), {})
    refused({Engine.DVE: [turn]}, "NIR_SIM020", "itself")
    add = Instruction(
        "tensor_scalar",
        Engine.DVE,
        (tile(0, 64),),
        (tile(1024, 64), tile(16, 1), None),
        {"op0": int(AluOp.ADD)},
    )
    refused({Engine.DVE: [add]}, "NIR_SIM020", "itself")


# ---- access patterns


@pytest.mark.parametrize(
    "free",
    [((0, 4),), ((1, 4), (0, 2)), ((3, 4), (1, 4)), ((2, 3), (4, 3)), ((6, 2), (4, 3), (2, 4))],
)
@pytest.mark.parametrize("engine", [Engine.DVE, Engine.DMA0])
def test_elements_of_a_destination_lie_apart(
    engine: Engine, free: tuple[tuple[int, int], ...]
) -> None:
    count = int(np.prod([n for _, n in free]))
    dst = replace(tile(0, 1), free=free)
    refused({engine: [copy(engine, dst, tile(1024, count))]}, "NIR_SIM006", "overlapping elements")


@pytest.mark.parametrize("free", [((2, 4), (3, 2)), ((5, 4), (1, 5)), ((-1, 8),), ((7, 1), (1, 3))])
def test_elements_of_a_destination_that_lie_apart(free: tuple[tuple[int, int], ...]) -> None:
    """2 and 3 reach no place twice, though their ranges overlap."""
    count = int(np.prod([n for _, n in free]))
    dst = replace(tile(64, 1), free=free)
    fine({Engine.DVE: [copy(Engine.DVE, dst, tile(1024, count))]})
    spread = replace(tile(1024, 1), free=((0, count),))
    fine({Engine.DVE: [copy(Engine.DVE, dst, spread)]})


@pytest.mark.parametrize("stride", [0, 128, 252])
def test_rows_of_a_destination_lie_apart(stride: int) -> None:
    store = replace(STORE, dst=(replace(tile(32768, 64, Space.HBM), partition_stride=stride),))
    refused({Engine.DMA1: [store]}, "NIR_SIM006", "overlapping elements")


@pytest.mark.parametrize("space", [Space.SBUF, Space.HBM])
@pytest.mark.parametrize("address", [Affine(2), Affine(0, ((0, 6),)), Affine(4, ((0, 4), (1, 1)))])
def test_addresses_are_aligned(space: Space, address: Affine) -> None:
    source = replace(tile(0, 4, space), address=address)
    item = copy(Engine.DMA0, tile(4096, 4), source)
    refused({Engine.DMA0: [Loop(2, [Loop(2, [item])])]}, "NIR_SIM006", "not aligned")
    narrow = replace(source, dtype=DType.I8, free=((1, 4),))
    other = replace(tile(4096, 4, dtype=DType.I8), address=Affine(4096, ((0, 64), (1, 32))))
    signal = [Update(0, 16)]
    waits = [Wait(0, Affine(0, ((0, 32), (1, 16))))]
    fine(
        {
            Engine.DMA0: [
                Loop(2, [Loop(2, [signalled(copy(Engine.DMA0, other, narrow), waits, signal)])])
            ]
        }
    )


@pytest.mark.parametrize("base, step, wrong", [(2, 1, True), (4, 1, False), (2, 2, False)])
def test_base_addresses_that_functions_are_given_are_aligned(
    base: int, step: int, wrong: bool
) -> None:
    """They count in bytes, so that their values tell."""
    whole = program({Engine.DVE: [Call("f", (Affine(base),))]}, [X])
    whole.streams["f"] = {Engine.DVE: [fill(tile(0, 4, terms=((ARGUMENT, step),)))]}
    if wrong:
        refused(whole, "NIR_SIM006", "not aligned")
    else:
        check_races(whole)


def test_rows_are_aligned() -> None:
    source = replace(tile(0, 4, Space.HBM), partition_stride=18)
    refused({Engine.DMA0: [copy(Engine.DMA0, tile(0, 4), source)]}, "NIR_SIM006", "not aligned")


@pytest.mark.parametrize("free", [((1, 0),), ((1, 4), (4, 0)), ((0, 1 << 50),)])
def test_patterns_have_elements_but_not_too_many(free: tuple[tuple[int, int], ...]) -> None:
    source = replace(tile(0, 1), free=free)
    refused({Engine.DMA0: [copy(Engine.DMA0, tile(64, 1), source)]}, "NIR_SIM006", "access pattern")


@pytest.mark.parametrize("space", [Space.SBUF, Space.HBM])
@pytest.mark.parametrize("step", [1 << 38, -(1 << 38)])
def test_no_memory_reaches_so_far(space: Space, step: int) -> None:
    """And nobody goes through what would lie between the elements."""
    source = replace(tile(0, 4, space), free=((step // 4, 4),))
    refused({Engine.DMA0: [copy(Engine.DMA0, tile(64, 4), source)]}, "NIR_SIM002", "touches bytes")


# ---- registers and tables

WORD = AccessPattern(Space.HBM, DType.I32, Affine(0), 0, 1, ((1, 1),))


@pytest.mark.parametrize("register, low, high", [(-1, 0, 3), (-64, 0, 3), (0, 3, 2)])
def test_registers_are_registers(register: int, low: int, high: int) -> None:
    """Register -64 would be the counter of the outermost loop."""
    bounds: dict[str, int | float] = {"register": register, "low": low, "high": high}
    load = Instruction("register_load", Engine.DVE, (), (WORD,), bounds)
    refused({Engine.DVE: [Loop(2, [load])]}, "NIR_SIM006", "register")


def test_registers_are_loaded_before_they_are_used() -> None:
    moved = tile(0, 4, terms=((REGISTER + 3, 16),))
    refused({Engine.DVE: [fill(moved)]}, "NIR_SIM006", "r3")


def test_calls_hide_no_register() -> None:
    """The callee would be checked for the least value only."""
    bounds: dict[str, int | float] = {"register": 0, "low": 0, "high": 3}
    load = Instruction("register_load", Engine.DVE, (), (WORD,), bounds)
    moved = fill(tile(0, 4, terms=((ARGUMENT, 16),)))
    whole = program({Engine.DVE: [load, Call("f", (Affine(0, ((REGISTER, 1),)),))]}, [X])
    whole.streams["f"] = {Engine.DVE: [moved]}
    refused(whole, "NIR_SIM006", "register")


@pytest.mark.parametrize("rows, stride", [(0, 16), (-1, 16), (4, 6)])
def test_tables_have_rows_of_whole_elements(rows: int, stride: int) -> None:
    row = AccessPattern(Space.HBM, DType.F32, Affine(32768), 0, 1, ((1, 4),))
    scatter = Instruction(
        "dma_scatter",
        Engine.DMA0,
        (row,),
        (tile(0, 4), tile(64, 1, dtype=DType.I32)),
        {"row_stride": stride, "rows": rows},
    )
    refused({Engine.DMA0: [scatter]}, "NIR_SIM006")


def test_parameters_are_there() -> None:
    reduce = Instruction("tensor_reduce", Engine.DVE, (tile(0, 1),), (tile(64, 4),), {"op": 1})
    refused({Engine.DVE: [reduce]}, "NIR_SIM006", "lacks its parameter 'axes'")


# ---- variables


@pytest.mark.parametrize("kind", ["input", "constant"])
@pytest.mark.parametrize("address", [0, 16, 32768 - 512])
def test_inputs_and_constants_are_not_written(kind: str, address: int) -> None:
    """Also where an access only begins or ends in one: reads of them are taken to be constant."""
    first = variable("x", kind, 0, 128, 64)
    first.data = bytes(first.size) if kind == "constant" else None
    dst = replace(tile(address, 1, Space.HBM), partitions=1, free=((1, 256),))
    src = replace(tile(0, 1), partitions=1, free=((1, 256),))
    streams: dict[Engine, list[Item]] = {Engine.DMA0: [copy(Engine.DMA0, dst, src)]}
    refused(streams, "NIR_SIM009", f"kind {kind}", variables=(first, Y))
    ready = signalled(fill(src), updates=[Update(0)])
    item = signalled(copy(Engine.DMA0, dst, src), [at_least(0, 1)])
    inputs = [np.zeros((128, 64), np.float32)] if kind == "input" else []
    with pytest.raises(NeuronError, match=f"NIR_SIM009.*kind {kind}"):
        run(
            program({Engine.DVE: [ready], Engine.DMA0: [item]}, [first, Y]),
            inputs,
            get_machine("trn1"),
        )


def test_a_transfer_does_not_wait_for_what_its_own_engine_computes() -> None:
    """ACT starts it when the instruction before has been issued, not when that is done."""
    write = Instruction("activation", Engine.ACT, (tile(0, 64), None), (tile(512, 64), None, None))
    write.params = {"func": int(Activation.COPY), "scale": 1.0, "bias": 0.0}
    store = replace(STORE, trigger=Engine.ACT)
    ready = signalled(fill(tile(512, 64)), updates=[Update(1)])
    begun = signalled(write, [at_least(1, 1)], [Update(0)])

    def whole(last: Instruction) -> Program:
        return program({Engine.DVE: [ready], Engine.ACT: [begun, last]}, [X, Y])

    check_races(whole(signalled(store, [at_least(0, 1)])))
    with pytest.raises(NeuronError, match="NIR_SIM020.*Data race"):
        check_races(whole(store))


# ---- places


@pytest.mark.parametrize("write", [(0, 64), (56, 4), (60, 1000), (124, 1)])
@pytest.mark.parametrize("read", [(0, 600), (60, 2), (64, 1), (124, 1), (252, 3)])
def test_accesses_of_all_sizes_meet(write: tuple[int, int], read: tuple[int, int]) -> None:
    """Two engines without a semaphore, one of which writes: (first byte, elements) of each."""
    for writer, reader in ((Engine.ACT, Engine.DVE), (Engine.DVE, Engine.ACT)):
        streams: dict[Engine, list[Item]] = {
            writer: [fill(tile(*write), writer)],
            reader: [copy(reader, tile(16384, read[1]), tile(*read))],
        }
        if write[0] < read[0] + 4 * read[1] and read[0] < write[0] + 4 * write[1]:
            refused(streams, "NIR_SIM020")
        else:
            fine(streams)


def test_small_accesses_of_many_places_are_not_compared_with_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """4,000 transfers of 4 bytes to places side by side."""
    count, compared = 4000, 0
    near = races._Places.near

    def counted(places: races._Places, footprint: races._Footprint) -> list[races._Footprint]:
        nonlocal compared
        for shift, cells in places._levels.items():
            numbers = range(footprint.first >> shift, (footprint.last >> shift) + 1)
            compared += sum(len(cells.get(number, ())) for number in numbers)
        return near(places, footprint)

    monkeypatch.setattr(races._Places, "near", counted)
    y = variable("y", "output", 32768, count)
    stores: list[Item] = [
        copy(Engine.DMA1, tile(32768 + 4 * i, 1, Space.HBM, partitions=1), tile(0, 1, partitions=1))
        for i in range(count)
    ]
    fine({Engine.DMA1: stores}, [X, y])
    assert 0 < compared < 40 * count

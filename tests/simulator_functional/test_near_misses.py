"""Checks of the simulator at the edge of what they allow: one element, one byte, one partition."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction, Item, Update, Wait
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.functional import run
from neuronir.targets.simulator.races import check_races
from tests.simulator_functional.build import copy, program, tile, variable

MACHINE = get_machine("trn1")


def fill(ap: AccessPattern, engine: Engine = Engine.DVE, *waits: Wait) -> Instruction:
    """Fill with ones."""
    return Instruction("memset", engine, (ap,), (), {"value": 1.0}, waits)


def code_of(streams: dict[Engine, list[Item]], inputs: Sequence[np.ndarray] = ()) -> str:
    """The code of the error of a run, or nothing."""
    x = variable("x", "input", 0, 128, 4)
    try:
        run(program(streams, [x] if inputs else []), inputs, MACHINE)
    except NeuronError as error:
        return error.code
    return ""


@pytest.mark.parametrize("started", [1, 511, 512])
def test_every_element_must_be_started_before_it_is_added_to(started: int) -> None:
    """The bank has been written before, by DVE."""
    ready = fill(tile(0, 512))
    ready.updates = (Update(0),)

    def product(columns: int, accumulate: int) -> Instruction:
        dst = tile(0, columns, Space.PSUM)
        params: dict[str, int | float] = {"accumulate": accumulate}
        sources = (tile(0, 128), tile(0, columns))
        return Instruction("matmul", Engine.PE, (dst,), sources, params, (Wait(0, Affine(1)),))

    streams: dict[Engine, list[Item]] = {
        Engine.DVE: [fill(tile(0, 512, Space.PSUM)), ready],
        Engine.PE: [product(started, 0), product(512, 1)],
    }
    assert code_of(streams) == ("" if started == 512 else "NIR_SIM010")


@pytest.mark.parametrize("partitions", [1, 127, 128])
def test_every_partition_must_be_written_before_it_is_read(partitions: int) -> None:
    written = copy(Engine.DMA0, tile(0, 4, partitions=partitions), tile(0, 4, Space.HBM))
    written.src = (replace(tile(0, 4, Space.HBM), partitions=partitions),)
    written.updates = (Update(0, 16),)
    read = replace(copy(Engine.DVE, tile(64, 4), tile(0, 4)), waits=(Wait(0, Affine(16)),))
    inputs = [np.zeros((128, 4), np.float32)]
    code = code_of({Engine.DMA0: [written], Engine.DVE: [read]}, inputs)
    assert code == ("" if partitions == 128 else "NIR_SIM001")


@pytest.mark.parametrize("space", [Space.SBUF, Space.PSUM, Space.HBM])
@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_memories_end_at_their_last_byte(space: Space, beyond: int) -> None:
    """Also where the next partition's bytes follow."""
    limits = {
        Space.SBUF: MACHINE.sbuf_partition_bytes,
        Space.PSUM: MACHINE.psum_partition_bytes,
        Space.HBM: 128 * 16,
    }
    place = AccessPattern(space, DType.I8, Affine(limits[space] - 4 + beyond), 0, 1, ((1, 4),), 0)
    inputs = [np.zeros((128, 4), np.float32)]
    if space == Space.HBM:
        item = copy(Engine.DMA0, tile(0, 4, dtype=DType.I8, partitions=1), place)
    else:
        item = fill(place)
    assert code_of({item.engine: [item]}, inputs) == ("NIR_SIM002" if beyond > 0 else "")


@pytest.mark.parametrize("space", [Space.SBUF, Space.HBM])
def test_memories_begin_at_their_first_byte(space: Space) -> None:
    place = AccessPattern(space, DType.I8, Affine(-1), 0, 1, ((1, 4),), 0)
    item = copy(Engine.DMA0, tile(64, 4, dtype=DType.I8, partitions=1), place)
    assert code_of({Engine.DMA0: [item]}, [np.zeros((128, 4), np.float32)]) == "NIR_SIM002"


def races(*items: Instruction) -> bool:
    """Whether the race checker finds something in these streams, taken in order of engines."""
    streams: dict[Engine, list[Item]] = {}
    for item in items:
        streams.setdefault(item.engine, []).append(item)
    out = variable("y", "output", 0, 128, 64)
    try:
        check_races(program(streams, [out]))
    except NeuronError as error:
        assert error.code == "NIR_SIM020", error
        return True
    return False


@pytest.mark.parametrize("first", [0, 1, 31, 32, 33, 63, 64, 65])
@pytest.mark.parametrize("count", [1, 2])
def test_races_on_each_partition(first: int, count: int) -> None:
    """DVE writes partitions 32 to 63, a transfer reads one or two."""
    store = copy(
        Engine.DMA0,
        replace(tile(0, 4, Space.HBM), partitions=count),
        tile(0, 4, start=first, partitions=count),
    )
    touched = first <= 63 and first + count > 32
    assert races(fill(tile(0, 4, start=32, partitions=32)), store) == touched
    load = replace(store, dst=store.src, src=store.dst)
    assert races(fill(tile(0, 4, start=32, partitions=32)), load) == touched


@pytest.mark.parametrize("place", [-4, -3, 0, 60, 64, 252, 253, 256])
def test_races_on_each_byte(place: int) -> None:
    """DVE writes bytes 256 to 511, a transfer reads four of them or beside them."""
    ap = replace(tile(256 + place, 4, dtype=DType.I8), partitions=1)
    out = replace(tile(0, 4, Space.HBM, DType.I8), partitions=1)
    assert races(fill(tile(256, 64)), copy(Engine.DMA0, out, ap)) == (-4 < place < 256)


def test_a_write_of_a_part_hides_no_read_of_the_rest() -> None:
    """ACT reads 64 elements. DVE, which waits for it, writes 16 of them; POOL writes others."""
    params: dict[str, int | float] = {"func": 0}
    read = Instruction(
        "activation", Engine.ACT, (tile(4096, 64), None), (tile(0, 64), None, None), params
    )
    read.updates = (Update(0),)
    part = fill(tile(0, 16), Engine.DVE, Wait(0, Affine(1)))
    part.updates = (Update(1),)
    for place in (0, 128):
        last = fill(tile(place, 16), Engine.POOL)
        assert races(read, part, last)
        after_part = replace(last, waits=(Wait(1, Affine(1)),))
        assert not races(read, part, after_part)

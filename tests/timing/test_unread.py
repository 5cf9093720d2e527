"""Loads of which no instruction reads a part."""

import pytest

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import AccessPattern, Affine, Instruction, Item, Loop
from neuronir.dialects.nc.machine import get_machine
from neuronir.targets.simulator.timing_code import ProgramCode
from neuronir.targets.simulator.unread import unread
from tests.timing.programs import act, dma, hbm, program, sbuf

TRN1 = get_machine("trn1")


def fractions(loads: list[Item], work: list[Item]) -> list[float]:
    """What nothing reads of each load, but of those of which everything is read."""
    return list(unread(ProgramCode(program({Engine.DMA0: loads, Engine.ACT: work}), TRN1)).values())


def row(address: int, free: tuple[tuple[int, int], ...], *terms: tuple[int, int]) -> AccessPattern:
    """An access of elements of 4 bytes on all partitions."""
    return AccessPattern(Space.SBUF, DType.F32, Affine(address, terms), 0, 128, free)


def reading(ap: AccessPattern) -> Instruction:
    return act(ap, sbuf(100_000, ap.elements))


@pytest.mark.parametrize(
    ("free", "unused"),
    [
        (((1, 64),), 0.0),
        (((1, 16),), 0.75),
        (((4, 16),), 0.75),
        (((4, 16), (1, 2)), 0.5),
        (((-1, 16),), 1 - 1 / 64),  # 15 of the 16 are below the load
    ],
)
def test_patterns(free: tuple[tuple[int, int], ...], unused: float) -> None:
    found = fractions([dma(sbuf(4096, 64), hbm(0, 64))], [reading(row(4096, free))])
    assert found == ([pytest.approx(unused)] if unused else [])


def test_what_nothing_reads_at_all() -> None:
    assert fractions([dma(sbuf(0, 64), hbm(0, 64))], []) == [1.0]


def test_loops_read_from_all_their_addresses() -> None:
    load: list[Item] = [dma(sbuf(0, 64), hbm(0, 64))]
    quarter = reading(row(0, ((1, 8),), (0, 32)))
    assert fractions(load, [Loop(4, [quarter])]) == [0.5]
    assert fractions(load, [Loop(8, [quarter])]) == []


def test_loads_in_loops() -> None:
    load = dma(row(0, ((1, 16),), (0, 64)), hbm(0, 16))
    assert fractions([Loop(4, [load])], [reading(row(0, ((1, 32),)))]) == [0.5]


def test_stores_and_sums_read_too() -> None:
    load: list[Item] = [dma(sbuf(0, 64), hbm(0, 64))]
    assert fractions([*load, dma(hbm(1 << 20, 64), sbuf(0, 64))], []) == []


def test_transfers_that_store_or_copy_are_no_loads() -> None:
    assert fractions([dma(hbm(0, 64), sbuf(0, 64))], []) == []
    assert fractions([dma(sbuf(4096, 64), sbuf(0, 64))], []) == []


def test_many_runs_count_as_one() -> None:
    """More runs than are told apart: everything between the first and the last counts as read."""
    sparse = reading(row(0, ((2, 32),), (0, 4)))
    load: list[Item] = [dma(sbuf(0, 4096), hbm(0, 4096))]
    assert fractions(load, [Loop(1 << 12, [sparse])]) == []

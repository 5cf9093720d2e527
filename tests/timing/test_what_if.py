"""Times with other numbers of the machine, and with the chip's other cores at work."""

from dataclasses import replace

import pytest

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Item, Program
from neuronir.dialects.nc.machine import Machine, get_machine, with_cores_active, with_numbers
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing
from neuronir.targets.trn1.machine import TRN1
from tests.timing.programs import add, dma, hbm, program, sbuf


def loads(count: int = 40) -> Program:
    """Loads of 128 rows of 4 KiB each."""
    return program({Engine.DMA0: [dma(sbuf(0, 1024), hbm(0, 1024)) for _ in range(count)]})


def time_ns(p: Program, machine: Machine) -> float:
    return simulate_timing(p, machine).total_ns


def test_transfers_take_longer_while_the_other_core_is_active() -> None:
    alone = cost(dma(sbuf(0, 1024), hbm(0, 1024)), TRN1)
    beside = cost(dma(sbuf(0, 1024), hbm(0, 1024)), with_cores_active(TRN1, 2))
    assert beside.descriptor_ns == pytest.approx(TRN1.dma_contention * alone.descriptor_ns)
    work = 40 * 8 * alone.descriptor_ns
    longer = time_ns(loads(), with_cores_active(TRN1, 2)) - time_ns(loads(), TRN1)
    assert longer == pytest.approx((TRN1.dma_contention - 1) * work, rel=0.01)
    report = build_report(simulate_timing(loads(), with_cores_active(TRN1, 2)))
    assert report["roofline_us"] <= report["total_time_us"]


def test_some_of_the_cores_slow_a_core_in_part() -> None:
    four = replace(get_machine("inf1"), dma_contention=1.3)
    rates = [with_cores_active(four, n).dma_engine_gbps for n in (1, 2, 3, 4)]
    assert rates == pytest.approx([four.dma_engine_gbps / f for f in (1, 1.1, 1.2, 1.3)])


@pytest.mark.parametrize("cores", [0, 3, -1])
def test_a_chip_has_only_so_many_cores(cores: int) -> None:
    with pytest.raises(ValueError, match=f"has 2 cores: {cores} can't be active"):
        with_cores_active(TRN1, cores)


def test_rows_that_meet_in_one_bank_take_longer_where_that_is_switched_on() -> None:
    mib = 1 << 20
    on = with_numbers(TRN1, {"hbm_conflict_pitch_bytes": mib, "hbm_conflict_factor": 3})
    rows = {
        pitch: dma(sbuf(0, 512), replace(hbm(0, 512), partition_stride=pitch))
        for pitch in (mib, 2 * mib, mib - 2048)
    }
    for pitch, transfer in rows.items():
        slower = cost(transfer, on).descriptor_ns / cost(transfer, TRN1).descriptor_ns
        assert slower == pytest.approx(3 if pitch % mib == 0 else 1)


def test_fetching_spaces_instructions_out_where_that_is_switched_on() -> None:
    def chain(machine: Machine) -> float:
        small: list[Item] = [add(sbuf(0, 8), sbuf(64, 8), sbuf(128, 8)) for _ in range(100)]
        return time_ns(program({Engine.DVE: small}), machine)

    slow = with_numbers(TRN1, {"instruction_fetch_ns": 500})
    assert chain(slow) == pytest.approx(100 * 500, rel=0.01)
    assert chain(TRN1) < 100 * 100


def test_changed_numbers_are_assumed_and_leave_the_machine_alone() -> None:
    changed = with_numbers(TRN1, {"dma_engine_gbps": 23, "dma_trigger_ns": 0})
    assert (changed.dma_engine_gbps, TRN1.dma_engine_gbps) == (23.0, 17.0)
    assert changed.provenance["dma_engine_gbps"].startswith("assumed:")
    assert time_ns(loads(), changed) < time_ns(loads(), TRN1)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"speed": 3}, "'speed' is not a parameter of the machine trn1"),
        ({"name": 3}, "'name' is not a parameter"),
        ({"dtypes": 3}, "'dtypes' is not a parameter"),
        ({"pe_rows": 2.5}, "'pe_rows' of the machine trn1 must be an integer"),
    ],
)
def test_only_numbers_can_be_changed(changes: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        with_numbers(TRN1, changes)

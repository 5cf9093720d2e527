"""The critical path: each moment of a run belongs to the op that it waited for."""

import pytest

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Instruction, Item, Source
from neuronir.targets.simulator.critical import critical_path
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import binary
from tests.timing.programs import act, add, after, dma, hbm, program, raising, sbuf


def _path(streams: dict[Engine, list[Item]], semaphores: int = 0) -> tuple[list[float], float]:
    """The times on the path of the instructions, numbered in the order of the streams."""
    every = [i for items in streams.values() for i in items if isinstance(i, Instruction)]
    for number, instruction in enumerate(every):
        instruction.source = number
    made = program(streams, semaphores)
    made.sources = [Source(f"op{number}") for number in range(len(every))]
    result = simulate_timing(made, record=True)
    path = critical_path(result)
    assert path is not None
    assert sum(path.values()) == pytest.approx(result.total_ns)
    return [path.get(number, 0.0) for number in range(len(every))], result.total_ns


def test_what_nobody_waits_for_is_not_on_it() -> None:
    long = act(sbuf(0, 2048), sbuf(8192, 2048))
    short = add(sbuf(20000, 8), sbuf(24000, 8), sbuf(28000, 8))
    times, total = _path({Engine.ACT: [long], Engine.DVE: [short]})
    assert times == [total, 0.0]


def test_a_chain_over_engines_is_on_it() -> None:
    load = raising(dma(sbuf(0, 2048), hbm(0, 2048)), 0, 16)
    first = raising(after(act(sbuf(0, 2048), sbuf(8192, 2048)), (0, 16)), 1)
    other = act(sbuf(40000, 8), sbuf(44000, 8))
    last = after(add(sbuf(8192, 2048), sbuf(8192, 2048), sbuf(20000, 2048)), (1, 1))
    times, _ = _path({Engine.DMA0: [load], Engine.ACT: [first, other], Engine.DVE: [last]}, 2)
    assert times[0] > 0 and times[1] > 0 and times[3] > 0
    assert times[2] == 0


def test_a_transfer_behind_another_of_its_queue_waits_for_it() -> None:
    loads = [dma(sbuf(8192 * i, 2048), hbm(1 << (22 + i), 2048)) for i in range(3)]
    times, total = _path({Engine.DMA0: list(loads)})
    assert min(times) > total / 5


@pytest.mark.parametrize("name", ["mlp", "hf_bert_tiny", "flash_attn_scan", "hf_resnet_tiny"])
def test_its_times_add_up_to_the_run(name: str) -> None:
    result = simulate_timing(binary(name), record=True)
    path = critical_path(result)
    assert path is not None
    assert all(time >= 0 for time in path.values())
    assert sum(path.values()) == pytest.approx(result.total_ns, rel=1e-12)
    rows = build_report(result)["ops"]
    assert sum(row["path_us"] for row in rows) == pytest.approx(result.total_ns / 1e3)


def test_a_run_without_a_recording_has_none() -> None:
    result = simulate_timing(binary("flash_attn_scan"))
    assert critical_path(result) is None
    assert all(row["path_us"] is None for row in build_report(result)["ops"])

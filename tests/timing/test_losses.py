"""Idle times and losses of hand-built programs."""

import pytest

from neuronir.dialects.nc.enums import Activation, DType, Engine
from neuronir.dialects.nc.instruction import Instruction, Item, Loop, Program, Source, Variable
from neuronir.dialects.nc.machine import get_machine
from neuronir.targets.simulator.idle import Cause, IdleLog, Wait
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.report_rows import Report
from neuronir.targets.simulator.summary import summary_text
from neuronir.targets.simulator.timing import simulate_timing
from neuronir.targets.simulator.waits import kind_of
from tests.timing.programs import act, after, dma, hbm, matmul, program, psum, raising, sbuf
from tests.timing.test_timing import pipeline

TRN1 = get_machine("trn1")
SOURCES = [Source("dot.1", opcode="dot"), Source("exp.2", opcode="exponential")]


def losses(streams: dict[Engine, list[Item]]) -> tuple[Report, dict[str, Report]]:
    """The report of a program, and its losses by what happened."""
    p: Program = program(streams, 8)
    p.sources = SOURCES
    report = build_report(simulate_timing(p))
    return report, {row["what"]: row for row in report["losses"]}


def test_an_engine_that_waits_for_a_load_says_so() -> None:
    load: list[Item] = [raising(dma(sbuf(0, 64), hbm(0, 64)), 0, 16)]
    products: list[Item] = [after(matmul(), (0, 16)), *(matmul() for _ in range(99))]
    report, found = losses({Engine.DMA0: load, Engine.PE: products})
    loss = found["tensor waits for its first operands, transfers of dot"]
    assert loss["us"] == pytest.approx(
        (TRN1.dma_fixed_ns + 8 * TRN1.dma_queue_descriptor_ns + TRN1.semaphore_latency_ns) / 1e3,
        abs=0.01,
    )
    assert loss["worst_op"] == "dot.1"
    assert report["ops"][0]["idle_us"] == pytest.approx(loss["us"])
    assert report["ops"][0]["bound"] == "tensor"


def test_fp32_and_transposes_are_losses() -> None:
    transpose = Instruction("transpose", Engine.PE, (psum(4096, 128),), (sbuf(0, 128),))
    items: list[Item] = [*(matmul(dtype=DType.F32) for _ in range(10)), transpose]
    _, found = losses({Engine.PE: items})
    single, half = matmul(dtype=DType.F32), matmul()
    one = build_report(simulate_timing(program({Engine.PE: [half]})))["resource_us"]["tensor"]
    all_ = build_report(simulate_timing(program({Engine.PE: [single]})))["resource_us"]["tensor"]
    assert found["tensor computes products in fp32"]["us"] == pytest.approx(10 * (all_ - one))
    assert found["tensor transposes operands"]["us"] > 0
    assert "matmult" in found["tensor computes products in fp32"]["advice"]


def test_transfers_that_wait_for_room_say_for_whom() -> None:
    """The second load takes the place of the first, which a slow activation still reads."""
    first = raising(dma(sbuf(0, 4096), hbm(0, 4096)), 0, 16)
    slow = raising(after(act(sbuf(0, 4096), sbuf(32768, 4096), Activation.EXP), (0, 16)), 1)
    slow.source = 1
    second = after(dma(sbuf(0, 4096), hbm(1 << 22, 4096)), (1, 1))
    report, found = losses({Engine.DMA0: [first, second], Engine.ACT: [slow]})
    assert report["busiest_resource"] == "dma"
    loss = found["transfers of dot wait until scalar is done with exponential"]
    assert loss["us"] > 4096 / 1.4e3


def test_short_rows_are_a_loss() -> None:
    _, found = losses({Engine.DMA0: [dma(sbuf(0, 16), hbm(0, 16)) for _ in range(50)]})
    loss = found["dma moves rows that are too short for its rate"]
    assert loss["us"] == pytest.approx(50 * 8 * (99 - 64 / 17) / 1e3, rel=1e-3)


def test_one_queue_of_short_rows_leaves_engines_idle() -> None:
    _, found = losses({Engine.DMA0: [dma(sbuf(0, 64), hbm(0, 64)) for _ in range(50)]})
    loss = found["transfers of dot leave DMA engines idle while they move"]
    lost = 50 * 8 * (TRN1.dma_queue_descriptor_ns - TRN1.dma_descriptor_ns)
    assert loss["us"] == pytest.approx(lost / 1e3, rel=1e-3)


def test_table_loads_are_a_loss() -> None:
    funcs = [Activation.EXP, Activation.GELU] * 20
    items: list[Item] = [act(sbuf(0, 64), sbuf(1024 * i, 64), f) for i, f in enumerate(funcs, 1)]
    _, found = losses({Engine.ACT: items})
    loss = found["scalar loads activation function sets for dot"]
    assert loss["us"] == pytest.approx(40 * TRN1.act_table_load_ns / 1e3, rel=0.01)


def test_idle_time_and_load_make_up_the_run() -> None:
    load = raising(dma(sbuf(0, 64), hbm(0, 64)), 0, 16)
    items: list[Item] = [after(matmul(), (0, 16)), *(matmul() for _ in range(9))]
    result = simulate_timing(program({Engine.DMA0: [load], Engine.PE: items}, 1))
    tensor = next(s for s in result.streams if s.engine == Engine.PE)
    idle = sum(ns for w, ns in result.idle.sums().items() if w.stream == tensor.index)
    assert idle + tensor.active == pytest.approx(tensor.finish)


def test_extrapolated_idle_times_equal_walked_ones() -> None:
    walked = simulate_timing(program(pipeline(200)), extrapolate=False).idle.sums()
    result = simulate_timing(program(pipeline(200)))
    assert result.walked < sum(s.executed for s in result.streams)
    jumped = result.idle.sums()
    assert jumped.keys() == walked.keys()
    for wait, ns in walked.items():
        assert jumped[wait] == pytest.approx(ns), wait


def test_log_repeats_what_a_loop_does() -> None:
    log = IdleLog()
    a, b = Wait(0, 0, Cause.SEMAPHORE, 1), Wait(0, 1, Cause.TABLE, -1)
    log.add(a, 1.0)
    log.add(b, 2.0)
    log.add(b, 3.0)
    log.repeat(1, 3, 10)
    assert log.sums() == {a: 1.0, b: 55.0}


def test_what_is_read_again_is_said() -> None:
    load = dma(sbuf(0, 2048), hbm(0, 2048))
    load.source = 1
    p = program({Engine.DMA0: [Loop(4, [load])]})
    p.sources = [Source("other"), Source("weights", opcode="dot")]
    p.variables = [Variable("w", "constant", 128 * 2048 * 4, 0)]
    report = build_report(simulate_timing(p))
    assert report["bytes_by_kind"]["constant"]["read_times"] == pytest.approx(4.0)
    loss = next(row for row in report["losses"] if "4.0 x" in row["what"])
    assert loss["what"].startswith("dma reads constants") and loss["worst_op"] == "weights"
    # Three of four times, at the full rate.
    assert loss["us"] == pytest.approx(0.75 * report["roofline_dma_us"], rel=0.01)
    assert "4.0 x" in summary_text(report)
    row = report["ops"][0]
    assert (row["transfers"], row["descriptors"]) == (4, 4 * 128)
    assert row["bytes_per_descriptor"] == 2048 * 4


def test_a_wait_for_a_transfer_of_short_rows_is_blamed_on_the_transfer() -> None:
    mask = raising(dma(sbuf(0, 1, dtype=DType.U8), hbm(0, 1, dtype=DType.U8)), 0, 16)
    mask.source = 1
    product = after(matmul(), (0, 16))
    product.source = 2
    rest = [matmul() for _ in range(100)]
    p = program({Engine.DMA0: [mask], Engine.PE: [product, *rest]}, 1)
    p.sources = [Source("x"), Source("mask", opcode="select"), Source("d", opcode="dot")]
    report = build_report(simulate_timing(p))
    assert report["busiest_resource"] == "tensor"
    loss = next(row for row in report["losses"] if "waits in dot" in row["what"])
    assert loss["worst_op"] == "mask"
    assert "transfers of select in pieces of less than 64 bytes" in loss["what"]
    assert next(row for row in report["ops"] if row["name"] == "mask")["loss"] == loss["what"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("dot.12", "dot"), ("add7", "add"), ("gemm.mlir:21:7", "gemm.mlir:21:7"), ("x", "x")],
)
def test_kinds_of_ops_without_an_opcode(name: str, kind: str) -> None:
    assert kind_of([Source(name)], 0) == kind

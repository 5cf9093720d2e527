"""The timing model on hand-built programs, against closed forms."""

import pytest

from neuronir.dialects.nc.cost import cost
from neuronir.dialects.nc.enums import Activation, DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    AccessPattern,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
    Update,
    Wait,
)
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.timing import TimingResult, simulate_timing
from tests.timing.programs import act, add, after, dma, hbm, matmul, program, psum, raising, sbuf

TRN1 = get_machine("trn1")


def run(
    streams: dict[Engine, list[Item]], *, record: bool = False, extrapolate: bool = True
) -> TimingResult:
    """Time a program of one function."""
    return simulate_timing(program(streams), record=record, extrapolate=extrapolate)


def test_matmul_stream() -> None:
    one = cost(matmul(), TRN1)
    result = run({Engine.PE: [matmul() for _ in range(100)]})
    expected = 99 * one.issue_ns + one.latency_ns
    assert result.total_ns == pytest.approx(expected, rel=1e-5)


def test_independent_small_activations_start_every_64_cycles() -> None:
    items: list[Item] = [act(sbuf(0, 1), sbuf(4096 + 4 * i, 1)) for i in range(101)]
    recording = run({Engine.ACT: items}, record=True).recording
    assert recording is not None
    cycles = (recording.starts[100] - recording.starts[0]) * TRN1.act_ghz / 100
    assert 63.99 <= cycles <= 66


def test_dependent_small_activations_start_every_264_cycles() -> None:
    items: list[Item] = [act(sbuf(4 * i, 1), sbuf(4 * i + 4, 1)) for i in range(101)]
    recording = run({Engine.ACT: items}, record=True).recording
    assert recording is not None
    cycles = (recording.starts[100] - recording.starts[0]) * TRN1.act_ghz / 100
    assert cycles == pytest.approx(264, abs=0.1)


def test_long_rows_stream_at_the_sustained_rate() -> None:
    items: list[Item] = [dma(sbuf(0, 2048), hbm(0, 2048)) for _ in range(200)]
    result = run({Engine.DMA0: items})
    moved = 200 * 128 * 8192
    assert result.total_ns == pytest.approx(moved / 272 + TRN1.dma_fixed_ns, rel=1e-3)


def test_queues_share_the_engines() -> None:
    streams: dict[Engine, list[Item]] = {
        Engine(Engine.DMA0 + q): [dma(sbuf(0, 2048), hbm(0, 2048), q) for _ in range(50)]
        for q in range(4)
    }
    result = run(streams)
    assert result.total_ns == pytest.approx(200 * 128 * 8192 / 272 + TRN1.dma_fixed_ns, rel=1e-3)


def test_a_short_transfer_does_not_queue_behind_another_queue() -> None:
    big: list[Item] = [dma(sbuf(0, 2048), hbm(0, 2048)) for _ in range(50)]
    small = dma(sbuf(0, 64), hbm(0, 64), 1)
    result = run({Engine.DMA0: big, Engine.DMA1: [small]}, record=True)
    recording = result.recording
    assert recording is not None
    alone = cost(small, TRN1).latency_ns
    latency = next(
        recording.results[i] - recording.starts[i]
        for i in range(len(recording.ops))
        if result.code.ops[recording.ops[i]].instruction is small
    )
    assert alone < latency < 2 * alone


def test_two_streams_of_short_rows_overlap() -> None:
    rows: list[Item] = [dma(sbuf(0, 64), hbm(0, 64), queue) for queue in (0, 0, 1, 1)]
    alone = run({Engine.DMA0: [*rows[:2]]}).total_ns - TRN1.dma_fixed_ns
    both = run({Engine.DMA0: [*rows[:2]], Engine.DMA1: [*rows[2:]]}).total_ns - TRN1.dma_fixed_ns
    assert alone == pytest.approx(2 * 8 * TRN1.dma_queue_descriptor_ns, abs=1)
    assert both == pytest.approx(4 * 8 * TRN1.dma_descriptor_ns, abs=1)


def test_one_row_uses_one_engine() -> None:
    row = dma(sbuf(0, 8192, 1), hbm(0, 8192, 1))
    result = run({Engine.DMA0: [row]})
    assert result.total_ns == pytest.approx(TRN1.dma_fixed_ns + 32768 / 17, rel=1e-3)


def test_semaphore_orders_engines() -> None:
    load = raising(dma(sbuf(0, 512), hbm(0, 512)), 0, 16)
    use = after(act(sbuf(0, 512), sbuf(4096, 512)), (0, 16))
    result = run({Engine.DMA0: [load], Engine.ACT: [use]})
    expected = cost(load, TRN1).latency_ns + TRN1.semaphore_latency_ns + cost(use, TRN1).latency_ns
    assert result.total_ns == pytest.approx(expected, rel=1e-4)


def test_port_conflict_stalls_the_later_one() -> None:
    evict: list[Item] = [act(psum(0, 512), sbuf(0, 512)) for _ in range(20)]
    other: list[Item] = [add(psum(2048, 512), sbuf(8192, 512), sbuf(16384, 512)) for _ in range(20)]
    alone = max(run({Engine.ACT: evict}).total_ns, run({Engine.DVE: other}).total_ns)
    both = run({Engine.ACT: evict, Engine.DVE: other})
    assert both.port_stall_ns > 0
    held = 20 * (512 / TRN1.act_ghz + 512 / TRN1.dve_ghz)
    assert both.total_ns > max(alone, held)
    assert both.total_ns < 1.2 * held


def test_activation_tables_load_once_per_change() -> None:
    functions = [Activation.EXP, Activation.EXP, Activation.COPY, Activation.LOG, Activation.GELU]
    items: list[Item] = [act(sbuf(0, 512), sbuf(8192, 512), f) for f in functions]
    result = run({Engine.ACT: items})
    assert result.table_loads == 2
    plain = run({Engine.ACT: [act(sbuf(0, 512), sbuf(8192, 512)) for _ in functions]})
    assert result.total_ns - plain.total_ns == pytest.approx(2 * 1283, abs=0.1)


def test_barrier() -> None:
    slow: list[Item] = [
        act(sbuf(0, 4096), sbuf(0, 4096)),
        Instruction("barrier", Engine.ACT, (), ()),
    ]
    quick: list[Item] = [Instruction("barrier", Engine.PE, (), ()), matmul()]
    result = run({Engine.ACT: slow, Engine.PE: quick})
    assert result.barriers == 1
    assert result.total_ns > 4096 / TRN1.act_ghz + cost(matmul(), TRN1).latency_ns


def test_deadlock_is_an_error() -> None:
    a = raising(after(act(sbuf(0, 8), sbuf(0, 8)), (1, 1)), 0)
    b = raising(after(matmul(), (0, 1)), 1)
    with pytest.raises(NeuronError, match=r"NIR_SIM004.*semaphore 1 >= 1") as error:
        run({Engine.ACT: [a], Engine.PE: [b]})
    assert "of 'op'" in str(error.value)


def pipeline(trips: int, queue_rows: int = 1024) -> dict[Engine, list[Item]]:
    """A loop of load, matmul and eviction through two slots, with affine waits."""
    load, mm, evict, store = 0, 1, 2, 3

    def loop(*body: Item) -> list[Item]:
        return [Loop(trips, list(body))]

    def wait(semaphore: int, const: int, step: int) -> Wait:
        return Wait(semaphore, Affine(const, ((0, step),)))

    loads: list[Item] = []
    mms: list[Item] = []
    evicts: list[Item] = []
    stores: list[Item] = []
    for slot in range(2):
        d = dma(sbuf(slot * 16384, queue_rows), hbm(0, queue_rows))
        d.waits = (wait(mm, slot - 1, 2),)
        d.updates = (Update(load + 4 * slot, 16),)
        loads.append(d)
        m = matmul()
        m.waits = (wait(load + 4 * slot, 16, 16), wait(evict, slot - 1, 2))
        m.updates = (Update(mm),)
        mms.append(m)
        e = act(psum(slot * 2048, 512), sbuf(65536 + slot * 4096, 512))
        e.waits = (wait(mm, slot + 1, 2), wait(store + 4 * slot, 0, 16))
        e.updates = (Update(evict),)
        evicts.append(e)
        s = dma(hbm(1 << 20, 512), sbuf(65536 + slot * 4096, 512), 1)
        s.waits = (wait(evict, slot + 1, 2),)
        s.updates = (Update(store + 4 * slot, 16),)
        stores.append(s)
    return {
        Engine.DMA0: loop(*loads),
        Engine.PE: loop(*mms),
        Engine.ACT: loop(*evicts),
        Engine.DMA1: loop(*stores),
    }


@pytest.mark.parametrize("rows", [16, 256, 1024, 2000])
def test_extrapolated_loops_equal_walked_ones(rows: int) -> None:
    walked = run(pipeline(300, rows), extrapolate=False)
    jumped = run(pipeline(300, rows))
    assert jumped.total_ns == walked.total_ns
    assert jumped.walked < walked.walked / 3
    for a, b in zip(walked.streams, jumped.streams, strict=True):
        assert (a.executed, a.active, a.port_stall) == (b.executed, b.active, b.port_stall)


def test_streams_that_wait_for_the_end_of_a_loop() -> None:
    streams = pipeline(500)
    streams[Engine.DVE] = [
        after(add(sbuf(0, 8), sbuf(0, 8), sbuf(0, 8)), (2, 700)),
        after(Instruction("barrier", Engine.DVE, (), ()), (2, 1000)),
    ]
    walked = run(streams, extrapolate=False)
    jumped = run(streams)
    assert jumped.total_ns == walked.total_ns
    assert [s.finish for s in jumped.streams] == [s.finish for s in walked.streams]
    assert jumped.walked < walked.walked / 3


def test_loops_of_calls_with_semaphore_bases() -> None:
    body = act(sbuf(0, 256), sbuf(8192, 256))
    body.waits = (Wait(0, Affine(16, ((ARGUMENT, 1),))),)
    body.updates = (Update(1),)
    load = dma(sbuf(0, 256), hbm(0, 256))
    load.waits = (Wait(1, Affine(-1, ((0, 1),))),)
    load.updates = (Update(0, 16),)
    streams: dict[str, dict[Engine, list[Item]]] = {
        "main": {
            Engine.ACT: [Loop(400, [Call("layer", (Affine(0, ((0, 16),)),))])],
            Engine.SP: [Loop(400, [load])],
        },
        "layer": {Engine.ACT: [body]},
    }
    p = Program("trn1", "main", streams, [], [], {}, 2)
    walked, jumped = simulate_timing(p, extrapolate=False), simulate_timing(p)
    assert walked.total_ns == jumped.total_ns
    assert jumped.walked < 200
    assert walked.walked == 800


def test_nested_loops() -> None:
    inner: list[Item] = [Loop(50, [matmul(64), Loop(10, [matmul(128)])])]
    p: dict[Engine, list[Item]] = {Engine.PE: [Loop(100, inner)]}
    jumped = run(p)
    assert jumped.streams[0].executed == 100 * 50 * 11
    assert jumped.total_ns == run(p, extrapolate=False).total_ns
    assert jumped.walked < 2000


def test_empty_loops_cost_nothing() -> None:
    assert run({Engine.PE: [Loop(10**9, [Loop(10**9, [])])]}).total_ns == 0


def test_long_loops_are_not_walked() -> None:
    assert run(pipeline(10**7)).walked < 10**4


def test_fp32_and_bf16_loads_move_their_bytes() -> None:
    half = run(
        {Engine.DMA0: [dma(sbuf(0, 4096, dtype=DType.BF16), hbm(0, 4096, dtype=DType.BF16))]}
    )
    single = run({Engine.DMA0: [dma(sbuf(0, 4096), hbm(0, 4096))]})
    fixed = TRN1.dma_fixed_ns
    assert single.total_ns - fixed == pytest.approx(2 * (half.total_ns - fixed), rel=1e-3)


def test_gathers_keep_pool_busy() -> None:
    row = AccessPattern(Space.HBM, DType.F32, Affine(0), 0, 1, ((1, 768),), 0)
    index = sbuf(0, 1, dtype=DType.I32)
    params: dict[str, int | float] = {"row_stride": 3072, "rows": 9}
    gather = Instruction("dma_gather", Engine.DMA1, (sbuf(64, 768),), (row, index), params)
    iota = Instruction("iota", Engine.POOL, (sbuf(8192, 64),), (), {"base": 0})
    alone = run({Engine.POOL: [iota]}).total_ns
    recording = run({Engine.POOL: [iota, iota], Engine.DMA1: [gather]}, record=True).recording
    assert recording is not None
    last = max(recording.ends[i] for i in range(3) if recording.streams[i] == 0)
    assert last >= 128 * TRN1.dma_software_descriptor_ns + alone


def test_a_barrier_that_not_all_reach_is_a_deadlock() -> None:
    def barrier(engine: Engine) -> Instruction:
        return Instruction("barrier", engine, (), ())

    streams: dict[Engine, list[Item]] = {
        Engine.PE: [barrier(Engine.PE), barrier(Engine.PE)],
        Engine.ACT: [barrier(Engine.ACT)],
    }
    with pytest.raises(NeuronError, match="barrier that not all engines reach"):
        run(streams)


def test_functions_that_call_themselves_are_an_error() -> None:
    p = program({Engine.PE: [Call("main", ())]})
    with pytest.raises(NeuronError, match=r"NIR_SIM011.*main -> main"):
        simulate_timing(p)


def test_unknown_functions_are_an_error() -> None:
    with pytest.raises(NeuronError, match=r"NIR_SIM011.*'layer'"):
        simulate_timing(program({Engine.PE: [Call("layer", ())]}))


def test_inf1_moves_bytes_at_its_own_rate() -> None:
    p = program({Engine.DMA0: [dma(sbuf(0, 2048), hbm(0, 2048)) for _ in range(20)]})
    p.machine = "inf1"
    assert simulate_timing(p).total_ns == pytest.approx(20 * 128 * 8192 / 12 + 2000, rel=0.02)

"""Laws of the timing model, on generated programs."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from neuronir.dialects.nc.enums import Activation, Engine
from neuronir.dialects.nc.instruction import (
    Affine,
    Instruction,
    Item,
    Loop,
    Update,
    Wait,
)
from neuronir.dialects.nc.machine import get_machine
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import TimingResult, simulate_timing
from tests.timing.programs import act, add, dma, hbm, matmul, program, psum, sbuf

TRN1 = get_machine("trn1")
Stage = tuple[str, int]

_stages = st.lists(
    st.tuples(
        st.sampled_from(["load", "store", "matmul", "act", "exp", "add", "iota"]),
        st.sampled_from([1, 16, 64, 256, 512]),
    ),
    min_size=1,
    max_size=6,
)


def instruction(stage: Stage, place: int) -> Instruction:
    """One stage of a chain."""
    kind, n = stage
    at = 1024 * place
    if kind == "load":
        return dma(sbuf(at, n), hbm(0, n), place % 3)
    if kind == "store":
        return dma(hbm(1 << 20, n), sbuf(at, n), 3 + place % 3)
    if kind == "matmul":
        return matmul(n)
    if kind in ("act", "exp"):
        func = Activation.EXP if kind == "exp" else Activation.SILU
        return act(psum(0, n) if place % 2 else sbuf(at, n), sbuf(at + 512, n), func)
    if kind == "add":
        return add(psum(0, n) if place % 2 else sbuf(at, n), sbuf(0, n), sbuf(at, n))
    return Instruction("iota", Engine.POOL, (sbuf(at, n),), (), {"base": 0})


def chain(stages: list[Stage], trips: int, depth: int) -> dict[Engine, list[Item]]:
    """A loop of stages, each waiting for the one before; the first for the round `depth` before.

    Stage i raises semaphore i once a round (a transfer by 16).
    """
    items = [instruction(stage, i) for i, stage in enumerate(stages)]
    amount = [16 if i.engine.is_dma else 1 for i in items]
    bodies: dict[Engine, list[Item]] = {}
    for i, item in enumerate(items):
        item.updates = (Update(i, amount[i]),)
        a = amount[i - 1]
        if i:
            item.waits = (Wait(i - 1, Affine(a, ((0, a),))),)
        else:
            item.waits = (Wait(len(items) - 1, Affine(a * (1 - depth), ((0, a),))),)
        bodies.setdefault(item.stream, []).append(item)
    return {engine: [Loop(trips, body)] for engine, body in bodies.items()}


def check_laws(result: TimingResult) -> None:
    """Utilisation, roofline and conservation of bytes (build_report checks the roofline too)."""
    report = build_report(result)
    total = report["total_time_us"]
    assert total >= report["roofline_us"] * 0.999
    for name in ("tensor", "vector", "scalar", "gpsimd"):
        assert report[f"{name}_engine_active_time_percent"] <= 100.1
    assert report["dma_active_time_percent"] <= 100.1
    assert report["dma_bytes"] <= TRN1.dma_gbps * total * 1e3 * 1.001
    moved = report["hbm_read_bytes"] + report["hbm_write_bytes"]
    assert moved <= TRN1.hbm_gbps * total * 1e3 * 1.001
    assert moved == sum(k["read"] + k["written"] for k in report["bytes_by_kind"].values())
    assert report["instruction_count"] == sum(s.executed for s in result.streams)


@settings(max_examples=60, deadline=None)
@given(_stages, st.integers(1, 60), st.integers(1, 3))
def test_laws_and_extrapolation(stages: list[Stage], trips: int, depth: int) -> None:
    p = program(chain(stages, trips, depth))
    walked = simulate_timing(p, extrapolate=False)
    check_laws(walked)
    jumped = simulate_timing(p)
    assert jumped.total_ns == walked.total_ns
    for a, b in zip(walked.streams, jumped.streams, strict=True):
        assert (a.executed, a.active, a.finish, a.table_loads) == (
            b.executed,
            b.active,
            b.finish,
            b.table_loads,
        )
        assert a.port_stall == b.port_stall


@settings(max_examples=40, deadline=None)
@given(_stages, st.integers(1, 8), st.data())
def test_one_more_instruction_is_never_faster(
    stages: list[Stage], trips: int, data: st.DataObject
) -> None:
    longer = copy.copy(stages)
    extra = data.draw(st.sampled_from([("load", 64), ("matmul", 64), ("iota", 16)]))
    longer.append(extra)
    before = simulate_timing(program(chain(stages, trips, 1)))
    after = simulate_timing(program(chain(longer, trips, 1)))
    assert after.total_ns >= before.total_ns


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4096), st.integers(1, 128), st.integers(0, 5)), max_size=30)
)
def test_transfers_conserve_bytes(shapes: list[tuple[int, int, int]]) -> None:
    streams: dict[Engine, list[Item]] = {}
    for n, rows, queue in shapes:
        streams.setdefault(Engine(Engine.DMA0 + queue), []).append(
            dma(sbuf(0, n, rows), hbm(0, n, rows), queue)
        )
    result = simulate_timing(program(streams))
    check_laws(result)
    assert build_report(result)["hbm_read_bytes"] == sum(4 * n * rows for n, rows, _ in shapes)
    if shapes:
        slowest = max(
            -(-rows // 16) * max(TRN1.dma_descriptor_ns, 4 * n / 17) for n, rows, _ in shapes
        )
        assert result.total_ns >= slowest + TRN1.dma_fixed_ns - 1

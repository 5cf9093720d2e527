"""Reports, summaries and traces of hand-built programs."""

import io
import json
from pathlib import Path

import pytest

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    Affine,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
    Source,
    Variable,
)
from neuronir.targets.simulator.report import build_report, check_roofline
from neuronir.targets.simulator.report_fields import (
    FIELDS,
    GROUP_FIELDS,
    LOOP_FIELDS,
    LOSS_FIELDS,
    OP_FIELDS,
    fields_markdown,
)
from neuronir.targets.simulator.summary import print_summary, summary_text
from neuronir.targets.simulator.timing import simulate_timing
from neuronir.targets.simulator.trace import trace_events, write_trace
from tests.timing.programs import act, after, dma, hbm, matmul, program, psum, raising, sbuf
from tests.timing.test_timing import pipeline


def small() -> Program:
    """Load, multiply, evict, store; a spilled tile; two sources."""
    load = raising(dma(sbuf(0, 1024), hbm(0, 1024)), 0, 16)
    mm = raising(after(matmul(), (0, 16)), 1)
    transpose = Instruction("transpose", Engine.PE, (psum(4096, 128),), (sbuf(0, 128),))
    evict = raising(after(act(psum(0, 512), sbuf(65536, 512)), (1, 1)), 2)
    store = after(dma(hbm(1 << 21, 512), sbuf(65536, 512), 1), (2, 1))
    save = dma(hbm(1 << 22, 64), sbuf(0, 64), 2)
    evict.source = 1
    streams: dict[Engine, list[Item]] = {
        Engine.DMA0: [load],
        Engine.PE: [mm, transpose],
        Engine.ACT: [evict],
        Engine.DMA1: [store],
        Engine.DMA2: [save],
    }
    p = program(streams, 3)
    p.sources = [Source("dot.1", "jit/dot", "model.py", 3, "dot", 7), Source("add.2", opcode="add")]
    p.variables = [
        Variable("x", "input", 1 << 21, 0),
        Variable("y", "output", 1 << 21, 1 << 21),
        Variable("s", "spill", 1 << 21, 1 << 22),
    ]
    return p


def test_every_key_is_listed() -> None:
    report = build_report(simulate_timing(small()))
    assert list(report) == [f.name for f in FIELDS] or set(report) == {f.name for f in FIELDS}
    for row in report["ops"]:
        assert set(row) == {f.name for f in OP_FIELDS}
    for row in report["groups"]:
        assert set(row) == {f.name for f in GROUP_FIELDS}
    assert 0 < len(report["losses"]) <= 5
    for row in report["losses"]:
        assert set(row) == {f.name for f in LOSS_FIELDS}
    loops = build_report(simulate_timing(program(pipeline(20))))["loops"]
    for row in loops:
        assert set(row) == {f.name for f in LOOP_FIELDS}
    json.dumps(report)


def test_documentation_lists_every_key() -> None:
    page = Path(__file__).parents[2] / "docs" / "report.md"
    assert fields_markdown() in page.read_text()


def test_bytes_by_kind() -> None:
    report = build_report(simulate_timing(small()))
    kinds = {
        kind: {key: row[key] for key in ("read", "written")}
        for kind, row in report["bytes_by_kind"].items()
    }
    assert kinds == {
        "input": {"read": 128 * 4096, "written": 0},
        "output": {"read": 0, "written": 128 * 2048},
        "spill": {"read": 0, "written": 128 * 256},
    }
    assert report["spill_save_bytes"] == 128 * 256
    assert report["hbm_read_bytes"] == 128 * 4096
    assert report["dma_transfer_count"] == 3


def test_d12_host_transfers_are_visible() -> None:
    """Row D12 of docs/features.md: each run copies inputs to the device and outputs back."""
    made = small()
    made.variables += [
        Variable("z", "input", 512, 3 << 21),
        Variable("c", "constant", 4096, 4 << 21),
    ]
    report = build_report(simulate_timing(made))
    assert report["host_input_bytes"] == (1 << 21) + 512
    assert report["host_output_bytes"] == 1 << 21


def test_attribution() -> None:
    report = build_report(simulate_timing(small()))
    rows = {row["name"]: row for row in report["ops"]}
    assert rows["dot.1"]["flops"] == report["matmul_flops"] == 2 * 128 * 128 * 512
    assert rows["dot.1"]["transpose_flops"] == 2 * 128**3
    assert rows["dot.1"]["source"] == "model.py:3"
    assert rows["add.2"]["scalar_us"] > 0
    assert rows["add.2"]["tensor_us"] == 0
    assert sum(row["share_percent"] for row in report["ops"]) == pytest.approx(100)


def test_loops_are_put_together_over_engines() -> None:
    loops = build_report(simulate_timing(program(pipeline(20))))["loops"]
    assert len(loops) == 1
    assert loops[0]["trip_counts"] == [20]
    assert {"tensor", "scalar", "dma", "psum_port"} <= set(loops[0]["round_us"])
    assert loops[0]["busiest_resource"] == "dma"


def test_calls_go_to_the_variables_of_their_arguments() -> None:
    load = dma(sbuf(0, 256), hbm(0, 256))
    pattern = load.src[0]
    assert pattern is not None
    address = Affine(0, ((ARGUMENT, 1),))
    moved = type(pattern)(
        pattern.space, pattern.dtype, address, 0, 128, pattern.free, pattern.partition_stride
    )
    load.src = (moved,)
    call = Loop(4, [Call("layer", (Affine(0, ((0, 1 << 20),)),))])
    p = program({Engine.DMA0: [call]})
    p.streams["layer"] = {Engine.SP: [load]}
    p.variables = [
        Variable("a", "input", 1 << 20, 0),
        Variable("w", "constant", 3 << 20, 1 << 20),
    ]
    kinds = build_report(simulate_timing(p))["bytes_by_kind"]
    assert kinds["input"]["read"] == 128 * 1024
    assert kinds["constant"]["read"] == 3 * 128 * 1024


def test_bound() -> None:
    busy = build_report(simulate_timing(program({Engine.PE: [matmul() for _ in range(50)]})))
    assert busy["bound_by"] == "tensor"
    assert busy["mfu_estimated_percent"] == pytest.approx(100 * 512 / 595, rel=0.01)
    idle = build_report(simulate_timing(small()))
    assert idle["bound_by"] == "latency"


def test_roofline_check() -> None:
    with pytest.raises(AssertionError, match="roofline"):
        check_roofline(2000.0, 1000.0)


def test_empty_program() -> None:
    report = build_report(simulate_timing(program({Engine.PE: []})))
    assert report["total_time_us"] == 0
    assert "0.00 us" in summary_text(report)


def test_summary_fits_a_screen() -> None:
    text = summary_text(build_report(simulate_timing(small())))
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "MFU" in lines[0]
    assert "dot.1 (dot)" in text
    plain = io.StringIO()
    print_summary(build_report(simulate_timing(small())), plain)
    assert plain.getvalue() == text


def test_summary_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    print_summary(build_report(simulate_timing(small())), out)
    assert "dot.1" in out.getvalue()


def test_trace() -> None:
    result = simulate_timing(small(), record=True)
    out = io.StringIO()
    write_trace(result, out)
    events = json.loads(out.getvalue())["traceEvents"]
    tracks = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    engines = {"tensor (PE)", "vector (DVE)", "scalar (ACT)", "gpsimd (POOL)", "sync (SP)"}
    assert tracks == {*engines, "queue dma0", "queue dma1", "queue dma2"}
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) == 9
    assert sum(e["cat"] == "trigger" for e in slices) == 3
    assert {e["name"] for e in slices} == {"dot.1", "add.2"}
    assert "func=copy" in next(e for e in slices if e["cat"] == "activation")["args"]["operands"]
    starts = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
    ends = {e["id"]: e["ts"] for e in events if e["ph"] == "f"}
    assert len(starts) == 3
    assert all(starts[i] <= ends[i] for i in starts)
    counters = {e["name"] for e in events if e["ph"] == "C"}
    assert counters == {"SBUF bytes per partition", "PSUM bytes per partition", "HBM GB/s"}


def test_slices_of_a_track_do_not_overlap() -> None:
    result = simulate_timing(program(pipeline(12)), record=True)
    last: dict[int, float] = {}
    slices = [e for e in trace_events(result) if e["ph"] == "X"]
    for e in sorted(slices, key=lambda e: e["ts"]):
        assert e["ts"] >= last.get(e["tid"], 0.0) - 1e-9
        last[e["tid"]] = e["ts"] + e["dur"]


def test_traffic_counter_conserves_bytes() -> None:
    result = simulate_timing(program(pipeline(12)), record=True)
    events = [e for e in trace_events(result) if e["name"] == "HBM GB/s"]
    width = events[1]["ts"] * 1e3
    moved = sum(e["args"]["read"] for e in events) * width
    report = build_report(result)
    assert moved == pytest.approx(report["hbm_read_bytes"], rel=1e-3)


def test_a_trace_needs_a_recording() -> None:
    with pytest.raises(ValueError, match="record=True"):
        list(trace_events(simulate_timing(small())))

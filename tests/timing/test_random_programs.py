"""Laws of the timing model on random programs: nothing beats the roofline, nothing is lost.

What a program must take at least is computed here from its shapes and the documented rates, not
from the costs that the model uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from neuronir.dialects.nc.enums import Activation, DType, Engine
from neuronir.dialects.nc.instruction import Affine, Instruction, Item, Update, Wait
from neuronir.dialects.nc.machine import get_machine
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.report_rows import Report
from neuronir.targets.simulator.timing import TimingResult, simulate_timing
from tests.timing.programs import act, add, dma, hbm, matmul, program, psum, sbuf

TRN1 = get_machine("trn1")
CLOCKS = {Engine.PE: 2.8, Engine.ACT: 1.4, Engine.DVE: 1.12, Engine.POOL: 1.4}
KINDS = ("load", "store", "matmul", "fp32", "act", "exp", "add", "add_psum", "iota")


@dataclass(frozen=True)
class Step:
    """An instruction: its kind, size and place, and which earlier ones it waits for."""

    kind: str
    n: int
    rows: int
    queue: int
    after: frozenset[int]


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """Any order of kinds, each waiting for up to three of the steps before."""
    count = draw(st.integers(1, 24))
    return [
        Step(
            draw(st.sampled_from(KINDS)),
            draw(st.sampled_from([1, 2, 64, 200, 512])),
            draw(st.sampled_from([1, 7, 64, 128])),
            draw(st.integers(0, 3)),
            frozenset(draw(st.lists(st.integers(0, i - 1), max_size=3))) if i else frozenset(),
        )
        for i in range(count)
    ]


def instruction(step: Step, place: int) -> Instruction:
    """The instruction of a step."""
    at, n, rows = 2048 * place, step.n, step.rows
    match step.kind:
        case "load":
            return dma(sbuf(at, n, rows), hbm(1 << 20, n, rows), step.queue)
        case "store":
            return dma(hbm(1 << 24, n, rows), sbuf(at, n, rows), 4 + step.queue)
        case "matmul":
            return matmul(n, k=rows)
        case "fp32":
            return matmul(n, k=rows, dtype=DType.F32)
        case "act" | "exp":
            func = Activation.EXP if step.kind == "exp" else Activation.GELU
            return act(sbuf(at, n, rows), psum(0, n, rows), func)
        case "add" | "add_psum":
            other = psum(0, n, rows) if step.kind == "add_psum" else sbuf(0, n, rows)
            return add(other, sbuf(at, n, rows), sbuf(at, n, rows))
        case _:
            return Instruction("iota", Engine.POOL, (sbuf(at, n, rows),), (), {"base": 0})


def timed(steps: Sequence[Step]) -> tuple[TimingResult, Report]:
    """Simulate; step i raises semaphore i."""
    streams: dict[Engine, list[Item]] = {}
    amounts = []
    for i, step in enumerate(steps):
        item = instruction(step, i)
        amounts.append(16 if item.engine.is_dma else 1)
        item.updates = (Update(i, amounts[i]),)
        item.waits = tuple(Wait(j, Affine(amounts[j])) for j in sorted(step.after))
        streams.setdefault(item.stream, []).append(item)
    result = simulate_timing(program(streams, len(steps)))
    return result, build_report(result)


def work(steps: Sequence[Step]) -> tuple[dict[Engine, float], int, int, int]:
    """The least ns of each engine, and FLOPs and bytes read and written in all."""
    least = dict.fromkeys(CLOCKS, 0.0)
    flops = read = written = 0
    for step in steps:
        size = 4 * step.n * step.rows
        match step.kind:
            case "load":
                read += size
            case "store":
                written += size
            case "matmul" | "fp32":
                passes = 4 if step.kind == "fp32" else 1
                least[Engine.PE] += passes * max(64, step.n) / 2.8
                flops += 2 * step.rows * 128 * step.n
            case "act" | "exp":
                least[Engine.ACT] += max(64, step.n) / 1.4
            case "add" | "add_psum":
                cycles = step.n if step.kind == "add_psum" else 2 * step.n
                least[Engine.DVE] += max(64, cycles) / 1.12
            case _:
                least[Engine.POOL] += (150 + step.n) / 1.4
    return least, flops, read, written


@settings(max_examples=150)
@given(programs())
def test_nothing_beats_the_roofline_and_nothing_is_lost(steps: list[Step]) -> None:
    result, report = timed(steps)
    least, flops, read, written = work(steps)
    total = result.total_ns
    assert total >= max(least.values()) - 1
    assert total >= flops / TRN1.peak_flops_bf16 * 1e9
    assert total >= (read + written) / 272 - 1
    assert report["matmul_flops"] == flops
    assert report["hbm_read_bytes"] == read
    assert report["hbm_write_bytes"] == written
    assert report["instruction_count"] == len(steps)
    assert max(report["mfu_estimated_percent"], report["mbu_estimated_percent"]) <= 100
    for name, time in report["resource_us"].items():
        assert time * 1e3 <= total + 1, name
    for key in ("matmul_flops", "hbm_read_bytes", "hbm_write_bytes"):
        column = {"matmul_flops": "flops"}.get(key, key)
        assert sum(row[column] for row in report["ops"]) == report[key]


@settings(max_examples=100)
@given(programs())
def test_times_follow_the_order_that_semaphores_ask_for(steps: list[Step]) -> None:
    """The longest chain of waits takes its instructions one after the other."""
    result, _ = timed(steps)
    longest: list[float] = []
    for step in steps:
        least, _, read, written = work([step])
        alone = max(max(least.values()), (read + written) / 272)
        longest.append(alone + max((longest[j] for j in step.after), default=0.0))
    assert result.total_ns >= max(longest) - 1


@settings(max_examples=100)
@given(programs(), st.sampled_from(KINDS), st.sampled_from([1, 64, 512]))
def test_a_program_grows_with_what_is_appended(steps: list[Step], kind: str, n: int) -> None:
    last = Step(kind, n, 128, 0, frozenset(range(len(steps))))
    (before, old), (after, new) = timed(steps), timed([*steps, last])
    assert after.total_ns > before.total_ns
    assert new["roofline_us"] >= old["roofline_us"]
    for name, time in old["resource_us"].items():
        assert new["resource_us"][name] >= time - 1e-6, name

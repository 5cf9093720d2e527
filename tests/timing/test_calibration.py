"""The timing model against published measurements of the hardware."""

from pathlib import Path

import pytest

from benchmarks.calibration.measure import Row, compiled, simulate, summary
from benchmarks.calibration.published import KERNELS, Published
from benchmarks.calibration.vector_add import vector_add
from neuronir.targets.simulator.timing import simulate_timing

# Where the vendor's compiler chose an order that was not published and leaves engines idle.
_LOOSE = {"AO-rope"}
# Seconds to compile: thousands of instructions without a loop.
_LARGE = {"NKI-mm-3", "AO-rmsnorm_matmul", "AO-swiglu", "AO-transpose_matmul"}
_LARGE |= {"AO-bmm", "AO-bmm_softmax"}
_QUICK = [k for k in KERNELS if k.name not in _LARGE]
# Whose scheduled times follow the order of transfers, of computation, and their queues.
_GUARDS = ("NKI-mm-2", "NKI-mamba1-512x256", "AO-silu", "AC-4_attention-10")


def check(row: Row) -> None:
    """Within 15 % of the published time."""
    if row.kernel.name not in _LOOSE:
        assert abs(row.error) <= 0.15, f"{row.kernel.name}: {row.simulated_us} us"


@pytest.mark.parametrize("kernel", _QUICK, ids=[k.name for k in _QUICK])
@pytest.mark.thin(2)
def test_latency_is_within_15_percent(kernel: Published) -> None:
    check(simulate(kernel))


@pytest.mark.parametrize("name", _GUARDS)
def test_the_page_states_scheduled_times(name: str) -> None:
    """Of a few kernels: a change of the generated code must not wait for the slow tests."""
    row = simulate(next(k for k in KERNELS if k.name == name), "virtual")
    assert row.simulated_us == pytest.approx(times_in(3)[name], rel=0.01)


@pytest.mark.slow
def test_all_kernels_agree_with_what_was_published() -> None:
    for column, phase in ((3, "virtual"), (5, "ordered")):
        rows = [simulate(kernel, phase) for kernel in KERNELS]
        found = summary(rows)
        assert found.mape <= 8
        assert found.median <= 5
        assert found.spearman >= 0.97
        documented = times_in(column)
        for row in rows:
            if phase == "ordered":
                check(row)
            assert row.simulated_us == pytest.approx(documented[row.kernel.name], rel=0.01)


def times_in(column: int) -> dict[str, float]:
    """The simulated times of a column of docs/accuracy.md."""
    page = (Path(__file__).parents[2] / "docs" / "accuracy.md").read_text()
    cells = [[c.strip() for c in line.split("|")] for line in page.splitlines()]
    names = {k.name for k in KERNELS}
    return {c[1]: float(c[column].replace(",", "")) for c in cells if len(c) > 4 and c[1] in names}


@pytest.mark.parametrize("name", ["CS-vadd-fd2", "AO-silu", "NKI-mamba2", "AC-4_attention"])
def test_extrapolated_kernels_equal_walked_ones(name: str) -> None:
    program = compiled(next(k for k in KERNELS if k.name.startswith(name)))
    jumped = simulate_timing(program)
    assert jumped.walked < sum(s.executed for s in jumped.streams)
    assert jumped.total_ns == simulate_timing(program, extrapolate=False).total_ns


@pytest.mark.parametrize(
    ("name", "vector_us"),
    [("AO-adamw", 1800.0), ("AO-silu", 985.0), ("AO-rope", 3104.0), ("NKI-mamba2", 1604.0)],
)
def test_vector_engine_time_is_within_15_percent(name: str, vector_us: float) -> None:
    kernel = next(k for k in KERNELS if k.name.startswith(name))
    busy = simulate(kernel).report["resource_us"]["vector"]
    assert busy == pytest.approx(vector_us, rel=0.15)


def test_kernels_move_the_bytes_that_were_counted() -> None:
    identity = 128 * 128 * 4  # loaded for transposes, which the nc dialect's have no use for
    counted = {
        "AO-adamw": (358_612_992, 89_653_248),
        "AO-silu": (117_440_512, 117_440_512),
        "AO-matmul": (9_059_762_176 - identity, 201_326_592),
        "AO-add_rmsnorm_matmul": (42_012_672 - identity, 33_554_432),
    }
    for name, (read, written) in counted.items():
        report = simulate(next(k for k in KERNELS if k.name == name)).report
        assert (report["hbm_read_bytes"], report["hbm_write_bytes"]) == (read, written)


@pytest.mark.parametrize("phase", ["ordered", "virtual"])
def test_small_tiles_come_out_of_one_rule(phase: str) -> None:
    """A round of one element was measured at 1.07 us and one of 128 elements takes as long; one of
    256 elements takes a third of that. All three have one form."""

    def round_us(rows: int, columns: int, rounds: int) -> float:
        kernel = Published("", 1.0, lambda: vector_add(rounds, rows, columns), "")
        twice = Published("", 1.0, lambda: vector_add(2 * rounds, rows, columns), "")
        return (simulate(twice, phase).simulated_us - simulate(kernel, phase).simulated_us) / rounds

    one, rows, tile = round_us(1, 1, 800), round_us(128, 1, 800), round_us(128, 2, 800)
    assert one == pytest.approx(1.07, rel=0.05)
    assert rows == pytest.approx(one, rel=0.02)
    assert tile == pytest.approx(0.34, rel=0.1)

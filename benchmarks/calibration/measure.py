"""Compile and time the kernels, and how far the times are from the published ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.calibration.published import Published
from neuronir.dialects.nc.instruction import Program
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.report_rows import Report
from neuronir.targets.simulator.timing import simulate_timing


@dataclass(frozen=True)
class Row:
    """A kernel, its simulated time as it was published, and the report of the run."""

    kernel: Published
    simulated_us: float
    report: Report

    @property
    def error(self) -> float:
        """Relative, positive where the simulation is slower."""
        return self.simulated_us / self.kernel.latency_us - 1


@dataclass(frozen=True)
class Summary:
    """Mean absolute percentage error, median absolute error in percent, Spearman's rank."""

    mape: float
    median: float
    spearman: float


def compiled(kernel: Published, phase: str = "ordered") -> Program:
    """The binary of a kernel, from its text in the `ordered` or the `virtual` phase."""
    text = kernel.make().text(phase)
    options = CompileOptions(compile_from=phase)
    program = compile_text(text, "trn1", options, name=f"{kernel.name}.mlir", kind="mlir").program
    assert program is not None
    return program


def simulate(kernel: Published, phase: str = "ordered") -> Row:
    """Compile a kernel and time it.

    The start-up and tear-down of a run on hardware are added, where the published time has them.
    """
    report = build_report(simulate_timing(compiled(kernel, phase)))
    total = float(report["total_time_us"])
    if kernel.instructions:
        return Row(kernel, total / kernel.instructions, report)
    return Row(kernel, total + float(report["launch_overhead_us"]), report)


def summary(rows: Sequence[Row]) -> Summary:
    """Errors and rank correlation over all rows."""
    errors = [100 * abs(row.error) for row in rows]
    published = _ranks([row.kernel.latency_us for row in rows])
    simulated = _ranks([row.simulated_us for row in rows])
    n = len(rows)
    distance = sum((a - b) ** 2 for a, b in zip(published, simulated, strict=True))
    spearman = 1 - 6 * distance / (n * (n * n - 1)) if n > 1 else 1.0
    return Summary(fmean(errors), median(errors), spearman)


def _ranks(values: Sequence[float]) -> list[int]:
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0] * len(values)
    for rank, i in enumerate(order):
        ranks[i] = rank
    return ranks

"""`python -m benchmarks.calibration.sensitivity`: which kernels determine which number.

Prints by how many percent each kernel's simulated time changes where a number is 20 % larger or
smaller; and, where a number is fitted again without one kernel or without one publisher's, what
that does to the error of what was left out.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from benchmarks.calibration.measure import compiled
from benchmarks.calibration.published import KERNELS, Published
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.targets.simulator.timing import simulate_timing

NUMBERS = (
    "matmul_overhead_cycles",
    "pe_latency_cycles",
    "act_overhead_cycles",
    "act_latency_cycles",
    "act_table_load_ns",
    "dve_overhead_cycles",
    "dve_latency_cycles",
    "reciprocal_cycles_per_element",
    "strided_access_factor",
    "dma_fixed_ns",
    "dma_trigger_ns",
    "dma_small_bytes",
    "dma_descriptor_ns",
    "dma_queue_descriptor_ns",
    "dma_burst_bytes",
    "semaphore_latency_ns",
    "program_overhead_ns",
)
"""What is fitted or assumed, or may be read in more than one way, of the numbers that cost time."""

FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2)
_LEAST = 0.05
"""Percent below which a change is not shown."""

Times = Mapping[float, Sequence[float]]
"""By factor of one number the times (us) of all kernels."""


@dataclass(frozen=True)
class Refit:
    """A number that was fitted again without some kernels: by how many points their mean absolute
    error changed."""

    number: str
    left_out: str
    factor: float
    change: float


def time_us(kernel: Published, program: Program, machine: Machine) -> float:
    """The simulated time in us, as it was published."""
    total = simulate_timing(program, machine).total_ns
    if kernel.instructions:
        return total / 1e3 / kernel.instructions
    return (total + machine.program_overhead_ns) / 1e3


def changed(machine: Machine, number: str, factor: float) -> Machine:
    """The machine with one number `factor` times as large."""
    value = getattr(machine, number) * factor
    whole = isinstance(getattr(machine, number), int)
    return replace(machine, **{number: round(value) if whole else value})


def all_times(programs: Sequence[Program], machine: Machine, number: str) -> Times:
    """The times of all kernels by factor of a number."""
    return {
        factor: [
            time_us(kernel, program, changed(machine, number, factor))
            for kernel, program in zip(KERNELS, programs, strict=True)
        ]
        for factor in FACTORS
    }


def refits(number: str, times: Times) -> list[Refit]:
    """The number fitted again without each kernel, and without each publisher's: it moves where
    that brings the mean error of the rest down by 0.1 points."""
    groups = {k.name: {i} for i, k in enumerate(KERNELS)}
    for i, kernel in enumerate(KERNELS):
        groups.setdefault(f"{kernel.name.split('-')[0]}-*", set()).add(i)
    everything = set(range(len(KERNELS)))
    found = []
    for name, out in groups.items():
        rest = everything - out
        factor = min(FACTORS, key=lambda f: (round(_error(times[f], rest), 1), abs(f - 1)))
        change = _error(times[factor], out) - _error(times[1.0], out)
        found.append(Refit(number, name, factor, change))
    return found


def _error(times: Sequence[float], kernels: set[int]) -> float:
    """The mean absolute error of some kernels in percent."""
    return fmean(100 * abs(times[i] / KERNELS[i].latency_us - 1) for i in sorted(kernels))


def _row(number: str, times: Times) -> str:
    """The kernels that a number moves, most first, and by how much."""
    changes = []
    for i, kernel in enumerate(KERNELS):
        less, large = (100 * (times[f][i] / times[1.0][i] - 1) for f in (0.8, 1.2))
        if max(abs(less), abs(large)) >= _LEAST:
            changes.append((max(abs(less), abs(large)), f"{kernel.name} {less:+.1f} {large:+.1f}"))
    changes.sort(key=lambda change: (-change[0], change[1]))
    said = ", ".join(text for _, text in changes[:6]) or "none of them"
    rest = f", {len(changes) - 6} others" if len(changes) > 6 else ""
    return f"| `{number}` | {said}{rest} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables."""
    wanted = tuple(argv if argv is not None else sys.argv[1:]) or NUMBERS
    machine = get_machine("trn1")
    programs = [compiled(kernel) for kernel in KERNELS]
    print("| number | kernels whose time moves, in % at -20 % and +20 % |\n|---|---|")
    every: list[Refit] = []
    for number in wanted:
        times = all_times(programs, machine, number)
        print(_row(number, times), flush=True)
        every += refits(number, times)
    for what, some in (
        ("one kernel", [r for r in every if not r.left_out.endswith("*")]),
        ("one publisher's kernels", [r for r in every if r.left_out.endswith("*")]),
    ):
        moved = [r for r in some if r.factor != 1.0]
        print(
            f"\nEach number fitted again without {what}, within 20 %: {len(moved)} of {len(some)} "
            f"fits move it; the error of what is left out changes by {_median(some):.1f} points in "
            f"the median, {_median(moved):.1f} where the number moves"
        )
        for r in sorted(moved, key=lambda r: -abs(r.change))[:5]:
            print(
                f"- `{r.number}` times {r.factor} without {r.left_out}: {r.change:+.1f} points for "
                "what is left out"
            )
    return 0


def _median(fits: Sequence[Refit]) -> float:
    return median(abs(r.change) for r in fits) if fits else 0.0


if __name__ == "__main__":
    sys.exit(main())

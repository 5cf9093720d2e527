"""Report the time of each pass, and the statistics of passes, on stderr."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

CHECKS = ("Verifier", "(verify)", "(verify nc)")
"""Steps in which the compiler checks its own results."""
_RULE = "===" + "-" * 73 + "==="


@dataclass
class Timer:
    """Time of the steps of a run, nested: on the wall, and of the processor in this thread."""

    name: str = "Total"
    seconds: float = 0.0
    processor: float = 0.0
    children: list["Timer"] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator["Timer"]:
        """Measure a nested step while the context is active."""
        inner = Timer(name)
        self.children.append(inner)
        start, used = time.perf_counter(), time.thread_time()
        try:
            yield inner
        finally:
            inner.seconds = time.perf_counter() - start
            inner.processor = time.thread_time() - used

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Timer"]]:
        """Return this step and all nested ones, in execution order."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


def checks_of(total: Timer) -> list[Timer]:
    """Return the steps of a run that check its results."""
    return [timer for _, timer in total.walk() if timer.name in CHECKS]


def timing_report(total: Timer, display: str) -> str:
    """Return the time report: `tree` in execution order, `list` summed by name, longest first.

    The share of the compiler's checks of its own results is stated apart.
    """
    whole = sum(child.seconds for child in total.children)
    checks = sum(timer.seconds for timer in checks_of(total))
    rows: list[tuple[str, float]]
    if display == "tree":
        rows = [(f"{'  ' * (d - 1)}{t.name}", t.seconds) for d, t in total.walk() if d]
    else:
        sums: dict[str, float] = {}
        for depth, timer in total.walk():
            if depth:
                own = timer.seconds - sum(child.seconds for child in timer.children)
                sums[timer.name] = sums.get(timer.name, 0.0) + own
        rows = sorted(sums.items(), key=lambda row: -row[1])
    rows.append(("Total", whole))
    lines = [
        _RULE,
        f"{'... Execution time report ...':^79}".rstrip(),
        _RULE,
        f"  Total Execution Time: {whole:.4f} seconds",
        f"  Checks: {checks:.4f} seconds ({_percent(checks, whole):.1f}%)",
        "",
        "  ----Wall Time----  ----Name----",
    ]
    for name, seconds in rows:
        lines.append(f"  {seconds:8.4f} ({_percent(seconds, whole):5.1f}%)  {name}")
    return "\n".join(lines)


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0


def statistics_report(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return the statistics, pass by pass."""
    lines = [_RULE, f"{'... Pass statistics report ...':^79}".rstrip(), _RULE]
    for name, values in counts.items():
        lines.append(name)
        width = max((len(str(n)) for n in values.values()), default=0)
        lines.extend(f"  (S) {n:{width}} {key}" for key, n in values.items())
    return "\n".join(lines)

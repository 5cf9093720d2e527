"""The figures of a sweep as one self-contained HTML file."""

from collections.abc import Sequence

from neuronir.targets.simulator.page import figures, tables
from neuronir.targets.simulator.page.frame import PLAIN, Section, cards, figure_place, framed
from neuronir.targets.simulator.report_rows import Report

_FIGURES = (
    ("latency_us", "latency, us", "latency"),
    ("throughput", "inferences per second on one core", "throughput"),
)


def sweep_page(model: str, points: Sequence[Report], varied: Sequence[str]) -> str:
    """Return the page of the points of a sweep.

    Points are given by the names of their figures; `varied` are the axes of the grid. Raises
    NIR_SIM040 if Bokeh is not installed.
    """
    figures.require_bokeh()
    good = [dict(point, name=_name(point, varied)) for point in points if not point["error"]]
    series = [axis for axis in varied if axis != "batch"]
    lines = {_name(point, series): [] for point in good}  # type: dict[str, list[Report]]
    for point in good:
        lines[_name(point, series)].append(point)
    items = [
        figures.sweep_figure(key, label, lines, f"{target}-figure", "batch" in varied)
        for key, label, target in _FIGURES
    ]
    sections = [
        Section("summary", "Summary", _headline(good, len(points))),
        Section("latency", "Latency", figure_place("latency")),
        Section("throughput", "Throughput", figure_place("throughput")),
        Section("points", "Points", _table(good, varied)),
        Section("failed", "Failed points", _failed([p for p in points if p["error"]], varied)),
    ]
    return framed(f"Sweep of {model}", sections, PLAIN, figures.script_text(), items)


def _name(point: Report, axes: Sequence[str]) -> str:
    """Return the values of a point on some axes, as text."""
    return ", ".join(f"{axis.replace('_', '-')} {point[axis]}" for axis in axes) or "model"


def _headline(good: Sequence[Report], count: int) -> str:
    pairs = [("points measured", f"{len(good)} of {count}")]
    if good:
        fast = min(good, key=lambda p: p["latency_us"])
        much = max(good, key=lambda p: p["throughput"])
        pairs.append((f"lowest latency: {fast['name']}", f"{fast['latency_us']:,.2f} us"))
        pairs.append((f"highest throughput: {much['name']}", f"{much['throughput']:,.0f} / s"))
    return cards(pairs)


def _axis(name: str) -> tables.Column:
    number = name == "batch"
    return tables.Column(name.replace("_", "-"), "axis", lambda p: p[name], None, number)


def _figure(key: str, head: str, title: str, form: str) -> tables.Column:
    return tables.Column(head, title, lambda p: p[key], lambda p: form.format(p[key]))


def _table(good: Sequence[Report], varied: Sequence[str]) -> str:
    columns = [
        *map(_axis, varied),
        _figure("latency_us", "latency, us", "of one run on one core", "{:,.2f}"),
        _figure("throughput", "inferences/s", "on one core", "{:,.1f}"),
        _figure("roofline_percent", "roofline, %", "of the lower bound on the time", "{:.1f}"),
        tables.Column("bound by", "busiest resource", lambda p: p["bound_by"], None, False),
        _figure("neff_bytes", "binary, bytes", "size of the file", "{:,}"),
        _figure("compile_s", "compile, s", "wall time; short if from the cache", "{:.2f}"),
    ]
    return tables.table("points", "All points that were measured", columns, good, True)


def _failed(failed: Sequence[Report], varied: Sequence[str]) -> str:
    if not failed:
        return "<p>No point failed.</p>"
    why = tables.Column("error", "of the compile", lambda p: p["error"], None, False)
    return tables.table("failures", "Points that failed", [*map(_axis, varied), why], failed)

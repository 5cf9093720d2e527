"""A comparison of two compiles as one self-contained HTML file."""

from html import escape

from neuronir.targets.simulator.diff_text import (
    resources_text,
    signed,
    unit_text,
    verdict,
)
from neuronir.targets.simulator.page import figures, tables
from neuronir.targets.simulator.page.frame import (
    FILTER,
    PLAIN,
    Section,
    cards,
    figure_place,
    framed,
)
from neuronir.targets.simulator.report_rows import TIMES, Report
from neuronir.targets.simulator.summary import time_text

_BARS = 25


def diff_page(found: Report, names: tuple[str, str]) -> str:
    """Return the page for the result of `compare_reports`; `names` are those of the two files.

    Raises NIR_SIM040 if Bokeh is not installed.
    """
    figures.require_bokeh()
    every = sorted(
        [*found["ops"], *found["only_a"], *found["only_b"]], key=lambda r: -abs(r["change_us"])
    )
    shown = [row for row in every if row["change_us"]][:_BARS]
    item = figures.changes_figure(
        [row["name"] or "-" for row in shown], [row["change_us"] for row in shown]
    )
    unmatched = _ops("only-a", f"Only in a ({names[0]})", found["only_a"])
    unmatched += _ops("only-b", f"Only in b ({names[1]})", found["only_b"])
    ops = _ops("ops", "Source ops that both have, the largest change first", found["ops"])
    summary = f"{_headline(found, names)}\n<p>{escape(_note(found))}</p>\n{_resources(found)}"
    sections = [
        Section("summary", "Summary", summary),
        Section("changes", "Largest changes", figure_place("changes"), link="Changes"),
        Section("ops", "Source ops", f"{FILTER}\n{ops}"),
        Section("unmatched", "In one compile only", unmatched),
        Section("figures", "Figures", _figures(found)),
    ]
    title = f"{names[0]} and {names[1]}"
    return framed(title, sections, PLAIN, figures.script_text(), [item])


def _headline(found: Report, names: tuple[str, str]) -> str:
    total = found["total_time_us"]
    pairs = [
        (f"a: {names[0]}, bound by {found['bound_by'][0]}", time_text(total[0])),
        (f"b: {names[1]}, bound by {found['bound_by'][1]}", time_text(total[1])),
        ("b against a", verdict(total)),
    ]
    return cards(pairs)


def _note(found: Report) -> str:
    text = (
        "The time of an op is its time on the critical path of the run: the changes add up to that "
        "of the total."
    )
    if found["matched_by"] == "order":
        text += " The two models differ: ops were matched by kind, in program order."
    return text


def _change(key: str, head: str, title: str) -> tables.Column:
    def shown(row: Report) -> str:
        change = row[key][2] if isinstance(row[key], list) else row[key]
        if abs(change) < 0.005:
            return "–"
        return f'<span class="{"worse" if change > 0 else "better"}">{signed(change)}</span>'

    def value(row: Report) -> float:
        return float(row[key][2] if isinstance(row[key], list) else row[key])

    return tables.Column(head, title, value, shown)


def _ops(name: str, caption: str, rows: list[Report]) -> str:
    def named(row: Report) -> str:
        places = [row["framework_op"], row["source"]]
        place = " · ".join(escape(text) for text in places if text)
        return f'{escape(unit_text(row))}<div class="sub">{place}</div>'

    def summed(row: Report) -> float:
        return float(row["hbm_read_bytes"][2] + row["hbm_write_bytes"][2])

    def moved(row: Report) -> str:
        return escape(resources_text(row).rpartition("HBM ")[2]) if summed(row) else "–"

    columns = [
        tables.Column("op", "and what one compile fused with it", unit_text, named, False),
        _change("change_us", "change, us", "on the critical path"),
        tables.time_column("a, us", "on the critical path of a", "a_us"),
        tables.time_column("b, us", "on the critical path of b", "b_us"),
        *(_change(f"{resource}_us", resource, f"change on {resource}, us") for resource in TIMES),
        tables.Column("HBM", "change of bytes read and written", summed, moved),
    ]
    return tables.table(name, caption, columns, rows, True)


def _resources(found: Report) -> str:
    rows = [
        {"name": name, "a_us": values[0], "b_us": values[1], "change_us": values[2]}
        for name, values in found["resource_us"].items()
    ]
    columns = [
        tables.Column("resource", "engine, dma or port", lambda r: r["name"], None, False),
        tables.time_column("a, us", "load", "a_us"),
        tables.time_column("b, us", "load", "b_us"),
        _change("change_us", "change, us", "of the load"),
    ]
    return tables.table("resources", "Load of each resource", columns, rows)


def _figures(found: Report) -> str:
    rows = [{"name": label, "values": values} for label, values in found["figures"].items()]
    rows += [
        {"name": f"{kind} bytes {key}", "values": values}
        for kind, row in found["bytes_by_kind"].items()
        for key, values in row.items()
    ]
    columns = [tables.Column("figure", "of the report", lambda r: r["name"], None, False)]
    for at, head in enumerate(("a", "b", "change")):
        columns.append(_value(at, head))
    return tables.table("figures", "Figures of both", columns, rows)


def _value(at: int, head: str) -> tables.Column:
    return tables.Column(
        head, "", lambda r: float(r["values"][at]), lambda r: f"{r['values'][at]:,.0f}"
    )

"""One self-contained HTML file of a run: figures, tables, and the data of the timeline."""

from html import escape
from typing import Any

from neuronir.targets.simulator.page import figures, tables
from neuronir.targets.simulator.page.frame import (
    FILTER,
    Section,
    asset,
    cards,
    figure_place,
    framed,
)
from neuronir.targets.simulator.page.memory import memory_data
from neuronir.targets.simulator.page.timeline import timeline_data
from neuronir.targets.simulator.report_fields import FIELDS
from neuronir.targets.simulator.report_rows import Report
from neuronir.targets.simulator.summary import figure_texts, headline_texts, size_text
from neuronir.targets.simulator.timing import TimingResult


def report_page(result: TimingResult, report: Report) -> str:
    """Return the page of a run made with `record=True`, and of its report.

    Raises NIR_SIM040 if Bokeh is not installed.
    """
    figures.require_bokeh()
    timeline, memory = timeline_data(result), memory_data(result)
    names = [row["name"] for row in report["ops"]]
    colors = dict.fromkeys(names, figures.OTHERS) | dict(zip(names, figures.PALETTE, strict=False))
    sizes = {space: part["size"] for space, part in memory.items()}
    items = [
        figures.time_figures(timeline["tracks"], sizes, report["total_time_us"]),
        figures.roofline_figure(report, colors),
    ]
    sources = [
        [s.name, s.opcode, s.framework, f"{s.file}:{s.line}" if s.file else ""]
        for s in result.program.sources
    ]
    data = {
        "sources": sources,
        "colors": colors,
        "others": figures.OTHERS,
        "timeline": timeline,
        "memory": {
            space: {"lives": part["lives"], "levels": part["levels"]}
            for space, part in memory.items()
        },
    }
    title = f"{result.program.metadata.get('module', 'program')} on {report['machine']}"
    memories = "".join(_held(space, part, result) for space, part in memory.items())
    loops = tables.loop_table(report) if report["loops"] else "<p>There are no loops.</p>"
    note = asset("timeline.html").substitute(note=_timeline_note(timeline))
    roofline = f"<p>{_roofline_note(report)}</p>\n{figure_place('roofline')}"
    ops = f"{FILTER}\n{tables.op_table(report, colors)}"
    sections = [
        Section("summary", "Summary", _summary(report)),
        Section("losses", "Losses", _losses(report)),
        Section("timeline", "Timeline and memory", note, link="Timeline"),
        Section("memory", "Memory at its peak", memories, link="Memory"),
        Section("roofline", "Roofline", roofline),
        Section("ops", "Source ops", ops),
        Section("modules", "Modules", _modules(report)),
        Section("groups", "Groups", tables.group_table(report)),
        Section("loops", "Loops", loops),
        Section("all", "All figures", _all(report)),
    ]
    scripts = ("unpack.js", "view.js", "tables.js", "paint.js", "figures.js", "report.js")
    return framed(title, sections, scripts, figures.script_text(), items, data)


def _summary(report: Report) -> str:
    return (
        f'{_headline(report)}\n<div class="two"><div>\n{_engines(report)}\n</div><div>\n'
        f"{_definitions(figure_texts(report))}\n{_bytes(report)}\n</div></div>"
    )


def _headline(report: Report) -> str:
    head = cards(headline_texts(report))
    row = report["cause"]
    if row is None:
        return head
    words = f"Mostly, {row['percent']:.0f} %: {row['what']} ({row['worst_op'] or '-'}). "
    return f'{head}<p id="cause">{escape(words)}<em>{escape(row["advice"])}.</em></p>'


def _definitions(pairs: list[tuple[str, str]]) -> str:
    inner = "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in pairs)
    return f"<dl>{inner}</dl>"


def _engines(report: Report) -> str:
    rows = [{"name": name, "us": time} for name, time in report["resource_us"].items()]
    total = report["total_time_us"] or 1.0
    columns = [
        tables.Column("resource", "engine, dma or port", lambda r: r["name"], None, False),
        tables.Column("load, us", "of the run", lambda r: r["us"], lambda r: tables.us(r["us"])),
        tables.Column(
            "% of the run",
            "load of the total time",
            lambda r: r["us"],
            lambda r: (
                f'<meter max="100" value="{min(100.0, 100 * r["us"] / total):.2f}"></meter> '
                f"{100 * r['us'] / total:.1f}"
            ),
        ),
    ]
    return tables.table("resources", "Load of each resource", columns, rows)


def _bytes(report: Report) -> str:
    rows = [{"name": kind, **row} for kind, row in report["bytes_by_kind"].items()]
    columns = [
        tables.Column("kind", "kind of variable", lambda r: r["name"], None, False),
        tables.size_column("read", "bytes of HBM", "read"),
        tables.size_column("written", "bytes of HBM", "written"),
        tables.Column("times read", "on average", lambda r: r["read_times"], _times_read),
    ]
    return tables.table("bytes", "Bytes of HBM by kind of variable", columns, rows)


def _times_read(row: Report) -> str:
    return f"{row['read_times']:.1f} x" if row["read"] else "–"


def _losses(report: Report) -> str:
    columns = [
        tables.Column("% of the run", "of the total time", lambda r: r["percent"], _percent),
        tables.time_column("us", "of the busiest resource", "us"),
        tables.Column("what happened", "the loss, or the work", lambda r: r["what"], None, False),
        tables.Column("what would help", "advice", lambda r: r["advice"], None, False),
        tables.Column("ops", "ops that have part in it", lambda r: r["ops"]),
        tables.Column("most in", "the op with most of it", lambda r: r["worst_op"], _link, False),
    ]
    busiest = report["busiest_resource"]
    losses = f"The largest losses of {busiest}, the busiest resource"
    work = f"What {busiest} did at its full rate"
    return tables.table("losses", losses, columns, report["losses"]) + tables.table(
        "work", work, columns, report["work"]
    )


def _percent(row: Report) -> str:
    return f"{row['percent']:.1f}"


def _link(row: Report) -> str:
    name = escape(row["worst_op"])
    return f'<button type="button" class="op" data-op="{name}">{name}</button>' if name else "-"


def _timeline_note(timeline: dict[str, Any]) -> str:
    text = f"{timeline['executed']:,} instructions."
    if timeline["quantum"]:
        width = timeline["quantum"] / timeline["units"]
        text += (
            f" Instructions of one op that begin within {width:,.0f} ns of each other on one track "
            "are one slice: there are too many to show each."
        )
    return escape(text)


def _held(space: str, part: dict[str, Any], result: TimingResult) -> str:
    """Return the table of the values in a memory at its peak."""
    time, most = part["peak"]
    sources = result.program.sources
    rows = [
        {
            "name": sources[r.source].name if r.source < len(sources) else "",
            "low": r.low,
            "bytes": r.high - r.low,
            "partitions": r.partitions,
            "begin": r.begin / 1e3,
            "end": r.end / 1e3,
        }
        for r in part["held"]
    ]
    columns = [
        tables.Column("written by", "source op", lambda r: r["name"], None, False),
        tables.Column("at byte", "of a partition", lambda r: r["low"], lambda r: f"{r['low']:,}"),
        tables.Column("bytes", "of a partition", lambda r: r["bytes"], lambda r: f"{r['bytes']:,}"),
        tables.Column("partitions", "that its first write reached", lambda r: r["partitions"]),
        tables.Column("from, us", "first write", lambda r: r["begin"], lambda r: _at(r["begin"])),
        tables.Column("to, us", "last access", lambda r: r["end"], lambda r: _at(r["end"])),
    ]
    caption = (
        f"{space} at its peak: {size_text(most)} of {size_text(part['size'])} a partition, "
        f"at {time / 1e3:,.2f} us"
    )
    return tables.table(f"held-{space}", caption, columns, rows)


def _at(value: float) -> str:
    return f"{value:,.2f}"


def _roofline_note(report: Report) -> str:
    rows = figures.roofline_rows(report)
    text = f"{len(rows)} of {len(report['ops'])} ops execute matmuls and are points"
    inside = sum(not row["flops_per_hbm_byte"] for row in rows)
    if inside:
        text += f", {inside} of them triangles at the right edge because they move no bytes of HBM"
    return (
        f"{text}. The rate of an op is its executed FLOP over the time of what it keeps busy "
        f"longest, without waits. The peak is {report['peak_bf16_tflops']:.1f} TFLOP/s in bf16."
    )


def _modules(report: Report) -> str:
    if not report["modules"]:
        return "<p>The program has no module paths in its metadata.</p>"
    return tables.module_table(report)


def _all(report: Report) -> str:
    """Return a table of all numeric figures of the report, with units and meanings."""
    rows = [
        {"name": f.name, "value": report[f.name], "unit": f.unit, "meaning": f.meaning}
        for f in FIELDS
        if isinstance(report[f.name], int | float)
    ]
    columns = [
        tables.Column("figure", "key of report.json", lambda r: r["name"], None, False),
        tables.Column("value", "", lambda r: r["value"], lambda r: f"{r['value']:,.6g}"),
        tables.Column("unit", "", lambda r: r["unit"], None, False),
        tables.Column("meaning", "", lambda r: r["meaning"], None, False),
    ]
    assumed = ", ".join(report["assumed_numbers"])
    note = f"<p>Numbers of the machine that are assumptions: {escape(assumed) or 'none'}.</p>"
    return tables.table("figures", "All figures of the report", columns, rows) + note

"""HTML tables of a page: a caption, heads that sort, rows of text and numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from neuronir.targets.simulator.report_rows import TIMES, Report
from neuronir.targets.simulator.summary import size_text

Value = str | float | int | None


@dataclass(frozen=True)
class Column:
    """A column: its head, what the head stands for, the value of a row (by which rows are sorted)
    and how it is shown (HTML; by default the escaped value)."""

    head: str
    title: str
    value: Callable[[Report], Value]
    shown: Callable[[Report], str] | None = None
    number: bool = True

    def head_cell(self) -> str:
        """Return the head cell: a button that sorts."""
        kind = ' class="n"' if self.number else ""
        return (
            f'<th scope="col"{kind} aria-sort="none"><button type="button" '
            f'title="{escape(self.title)}">{escape(self.head)}</button></th>'
        )

    def cell(self, row: Report) -> str:
        """Return the cell of a row."""
        value = self.value(row)
        text = self.shown(row) if self.shown else escape(str(value))
        if not self.number:
            return f"<td>{text}</td>"
        key = -1.0 if value is None else float(value)
        return f'<td class="n" data-v="{key:.6g}">{text}</td>'


def table(
    name: str, caption: str, columns: Sequence[Column], rows: Iterable[Report], tall: bool = False
) -> str:
    """Return a table in a scrolling box, whose rows can be sorted by mouse or keyboard."""
    heads = "".join(column.head_cell() for column in columns)
    body = "".join(
        f'<tr data-op="{escape(str(row.get("name", "")))}">'
        + "".join(column.cell(row) for column in columns)
        + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="scroll{" tall" if tall else ""}" role="region" tabindex="0" '
        f'aria-labelledby="{name}-caption">\n'
        f'<table id="{name}"><caption id="{name}-caption">{escape(caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def op_table(report: Report, colors: dict[str, str]) -> str:
    """Return the table of source ops."""
    where = "Shows the op in the timeline"

    def named(row: Report) -> str:
        name = escape(row["name"] or "-")
        places = [row["opcode"], row["framework_op"], row["source"]]
        place = " · ".join(escape(text) for text in places if text)
        return (
            f'<span class="swatch" style="background:{colors[row["name"]]}"></span>'
            f'<button type="button" class="op" title="{where}">{name}</button>'
            f'<div class="sub">{place}</div>'
        )

    def advised(row: Report) -> str:
        if not row["advice"]:
            return ""
        return f"{escape(row['loss'])} ({us(row['loss_us'])} us): <em>{escape(row['advice'])}</em>"

    columns = [
        Column("op", "the HLO instruction", lambda r: r["name"], named, False),
        *_figures(report),
        Column("advice", "its largest loss, and what helps", lambda r: r["loss"], advised, False),
    ]
    return table("ops", "Source ops, the largest share first", columns, report["ops"], True)


def module_table(report: Report) -> str:
    """Return the table of module paths."""

    def named(row: Report) -> str:
        *around, last = row["name"].split("/")
        lead = escape("/".join(around) + "/") if around else ""
        return f'<span class="sub">{lead}</span>{escape(last)}'

    columns = [
        Column("module", "path of the framework's modules", lambda r: r["name"], named, False),
        Column("ops", "rows of the table of ops below it", lambda r: r["ops"]),
        *_figures(report),
    ]
    caption = "Module paths, each with all that is below it"
    return table("modules", caption, columns, report["modules"], True)


def group_table(report: Report) -> str:
    """Return the table of ops that were lowered together."""

    def named(row: Report) -> str:
        rest = ", ".join(escape(name) for name in row["ops"][1:])
        return f'{escape(row["name"] or "-")}<div class="sub">{rest}</div>'

    columns = [
        Column("group", "the op, and what was lowered with it", lambda r: r["name"], named, False),
        *_figures(report),
    ]
    return table("groups", "Groups of ops that were lowered as one", columns, report["groups"])


def loop_table(report: Report) -> str:
    """Return the table of innermost loops."""

    def rounds(row: Report) -> str:
        parts = [f"{escape(name)} {us(time)}" for name, time in row["round_us"].items() if time]
        return ", ".join(parts)

    columns = [
        Column(
            "trip counts",
            "outermost first",
            lambda r: float(r["trip_counts"][-1]),
            lambda r: " × ".join(map(str, r["trip_counts"])),
        ),
        Column("busiest", "what bounds an iteration", lambda r: r["busiest_resource"], None, False),
        Column("load of an iteration, us", "by resource", rounds, rounds, False),
        Column("ops", "in it", lambda r: ", ".join(r["ops"]), None, False),
    ]
    return table("loops", "Innermost loops", columns, report["loops"])


def _figures(report: Report) -> list[Column]:
    """Return the numeric columns of ops, groups and modules."""
    busiest = report["busiest_resource"]

    def share(row: Report) -> str:
        width = min(100.0, row["share_percent"])
        return f'<meter max="100" value="{width:.2f}"></meter> {row["share_percent"]:.1f}'

    columns = [
        Column("share %", f"of the load of {busiest}", lambda r: r["share_percent"], share),
        time_column("path", "time on the critical path of the run, us", "path_us"),
        Column("bound", "what it keeps busy longest", lambda r: r["bound"], None, False),
        time_column("idle", f"for which {busiest} stood still before it", "idle_us"),
        *(time_column(name, f"time on {name}, us", f"{name}_us") for name in TIMES),
        size_column("read", "bytes of HBM read", "hbm_read_bytes"),
        size_column("written", "bytes of HBM written", "hbm_write_bytes"),
        Column("triggers", "executed transfers", lambda r: r["transfers"], _transfers),
        Column("B/desc.", "bytes of a descriptor on average", _piece, _pieces),
        Column("GFLOP", "executed by matmuls", lambda r: r["flops"], _gflop),
    ]
    return columns


def _transfers(row: Report) -> str:
    return f"{row['transfers']:,}" if row["transfers"] else "–"


def _piece(row: Report) -> float | None:
    found: float | None = row["bytes_per_descriptor"]
    return found


def _pieces(row: Report) -> str:
    return f"{row['bytes_per_descriptor']:,.0f}" if row["bytes_per_descriptor"] else "–"


def _gflop(row: Report) -> str:
    return f"{row['flops'] / 1e9:,.3f}" if row["flops"] else "–"


def time_column(head: str, title: str, key: str) -> Column:
    """Return a column of times in us."""
    return Column(head, title, lambda r: r[key], lambda r: us(r[key]))


def size_column(head: str, title: str, key: str) -> Column:
    """Return a column of bytes."""
    return Column(head, title, lambda r: r[key], lambda r: size_text(r[key]) if r[key] else "–")


def us(value: float) -> str:
    """Return a time in us, `–` for none."""
    return f"{value:,.2f}" if value else "–"

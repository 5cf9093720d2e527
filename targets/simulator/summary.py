"""Format the one-screen summary of a report."""

from textwrap import wrap
from typing import TextIO

from neuronir.targets.simulator.report_rows import Report

_TOP = 5
_WIDTH = 100
_BAR = 30

_ENGINES = (
    ("tensor", "tensor_engine_active_time_percent"),
    ("vector", "vector_engine_active_time_percent"),
    ("scalar", "scalar_engine_active_time_percent"),
    ("gpsimd", "gpsimd_engine_active_time_percent"),
    ("sync", "sync_engine_active_time_percent"),
    ("dma", "dma_active_time_percent"),
)


def print_summary(report: Report, file: TextIO) -> None:
    """Write the summary: with rich tables to a terminal, else as plain text."""
    if file.isatty():
        _rich(report, file)
    else:
        file.write(summary_text(report))


def summary_text(report: Report) -> str:
    """Return the summary as plain text."""
    lines = [_headline(report), _bound(report), *_cause(report), ""]
    for name, key in _ENGINES:
        percent = float(report[key])
        bar = "#" * round(min(percent, 100.0) / 100 * _BAR)
        lines.append(f"  {name:<7} {percent:5.1f} %  {bar}".rstrip())
    lines += ["", *(f"  {name:<12} {value}" for name, value in figure_texts(report))]
    rows = _bytes(report)
    if rows:
        lines += ["", f"  HBM bytes {'read':>20}  {'written':>12}"]
        lines += [f"  {kind:<9} {read:>20}  {written:>12}" for kind, read, written in rows]
    parts = [*report["losses"], *report["work"][:1]]
    lines += _parts(f"largest losses of {report['busiest_resource']}, and its work", parts)
    ops = report["ops"][:_TOP]
    if ops:
        lines += ["", f"  top ops by share of {report['busiest_resource']}"]
        for row in ops:
            name = _name(row)
            lines.append(f"  {row['share_percent']:5.1f} %  {_times(row):<48} {name}")
    return "\n".join(lines) + "\n"


def _cause(report: Report) -> list[str]:
    """Return the largest part of the time; the advice is in the sections below."""
    row = report["cause"]
    return [f"mostly {_words(row)[0]}: {row['percent']:.0f} %"] if row else []


def _parts(title: str, rows: list[Report]) -> list[str]:
    """Return a section of parts of the time of the busiest resource, with advice."""
    if not rows:
        return []
    lines = ["", f"  {title}"]
    for row in rows:
        lead = f"  {row['percent']:5.1f} %  {time_text(row['us']):>10}  "
        rest = " " * len(lead)
        for text in _words(row):
            lines += wrap(text, _WIDTH, initial_indent=lead, subsequent_indent=rest)
            lead = rest
    return lines


def _headline(report: Report) -> str:
    return (
        f"{report['machine']}: {time_text(report['total_time_us'])}   "
        f"roofline {time_text(report['roofline_us'])} ({report['roofline_percent']:.0f} %)   "
        f"MFU {report['mfu_estimated_percent']:.1f} %   "
        f"MBU {report['mbu_estimated_percent']:.1f} %"
    )


def headline_texts(report: Report) -> list[tuple[str, str]]:
    """Return the figures of the first line as (label, value)."""
    load = report["resource_us"][report["busiest_resource"]]
    return [
        ("total time", time_text(report["total_time_us"])),
        ("roofline", f"{time_text(report['roofline_us'])} ({report['roofline_percent']:.0f} %)"),
        ("bound by", report["bound_by"]),
        ("busiest resource", f"{report['busiest_resource']} ({time_text(load)})"),
        ("MFU", f"{report['mfu_estimated_percent']:.1f} %"),
        ("MBU", f"{report['mbu_estimated_percent']:.1f} %"),
    ]


def _bound(report: Report) -> str:
    busiest = report["busiest_resource"]
    load = report["resource_us"][busiest]
    if report["bound_by"] == "latency":
        idle = "bound by latency: no resource is half busy"
        return f"{idle}; the busiest is {busiest} ({time_text(load)})"
    return f"bound by {report['bound_by']} ({time_text(load)} busy)"


def figure_texts(report: Report) -> list[tuple[str, str]]:
    """Return the further figures as (label, text)."""
    return [
        (
            "rooflines",
            f"compute {time_text(report['roofline_compute_us'])}, bytes "
            f"{time_text(report['roofline_dma_us'])} by DMA, "
            f"{time_text(report['roofline_hbm_us'])} with compute at HBM's peak",
        ),
        (
            "instructions",
            f"{report['instruction_count']:,} "
            f"({report['walked_instruction_count']:,} walked, the rest repeat)",
        ),
        (
            "transfers",
            f"{report['dma_transfer_count']:,} of {size_text(report['average_dma_size'])} on "
            f"average, {size_text(report['average_descriptor_size'])} a descriptor; triggers "
            f"{time_text(report['dma_trigger_us'])}",
        ),
        (
            "spill",
            f"{size_text(report['spill_save_bytes'])} saved, "
            f"{size_text(report['spill_reload_bytes'])} reloaded",
        ),
        (
            "stalls",
            f"ports {time_text(report['port_stall_us'])}, activation tables "
            f"{time_text(report['act_table_load_us'])} ({report['act_table_load_count']})",
        ),
    ]


def _bytes(report: Report) -> list[tuple[str, str, str]]:
    return [
        (kind, size_text(row["read"]) + _again(row["read_times"]), size_text(row["written"]))
        for kind, row in report["bytes_by_kind"].items()
    ]


def _again(times: float) -> str:
    """Return how many times data is read, if more than once."""
    return f" ({times:.1f} x)" if times >= 1.05 else ""


def _words(row: Report) -> tuple[str, str]:
    """Return the problem, with the number of ops, and the remedy."""
    count = "" if row["ops"] == 1 else f"{row['ops']:,} ops, most in "
    return f"{row['what']} ({count}{row['worst_op'] or '-'})", f"{row['advice']}"


def _name(row: Report) -> str:
    opcode = f" ({row['opcode']})" if row["opcode"] else ""
    return f"{row['name'] or '-'}{opcode}"


def _times(row: Report) -> str:
    names = ("tensor", "vector", "scalar", "gpsimd", "sync", "dma")
    return "  ".join(f"{n} {time_text(row[f'{n}_us'])}" for n in names if row[f"{n}_us"])


def time_text(value: float) -> str:
    """Format a time in us."""
    return f"{value / 1000:,.3f} ms" if value >= 1000 else f"{value:.2f} us"


def size_text(value: float) -> str:
    """Format bytes."""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.2f} GiB"


def _rich(report: Report, file: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(file=file)
    console.print(f"[bold]{_headline(report)}[/bold]", highlight=False)
    console.print(_bound(report), highlight=False)
    for line in _cause(report):
        console.print(line, highlight=False, markup=False)
    engines = Table(box=None, show_header=False)
    for name, key in _ENGINES:
        percent = float(report[key])
        bar = "━" * round(min(percent, 100.0) / 100 * _BAR)
        style = "bold green" if name == report["busiest_resource"] else "cyan"
        engines.add_row(name, f"{percent:.1f} %", f"[{style}]{bar}[/{style}]")
    console.print(engines)
    figures = Table(box=None, show_header=False)
    for label, value in figure_texts(report):
        figures.add_row(label, value)
    console.print(figures)
    if report["bytes_by_kind"]:
        sizes = Table("HBM bytes", "read", "written", box=None)
        for kind, read, written in _bytes(report):
            sizes.add_row(kind, read, written)
        console.print(sizes)
    rows = [*report["losses"], *report["work"][:1]]
    if rows:
        title = f"loss or work of {report['busiest_resource']}"
        parts = Table(title, "time", "what and why", box=None)
        for row in rows:
            words = "\n".join(_words(row)).replace("[", r"\[")
            parts.add_row(f"{row['percent']:.1f} %", time_text(row["us"]), words)
        console.print(parts)
    if report["ops"]:
        ops = Table(f"share of {report['busiest_resource']}", "op", "time", box=None)
        for row in report["ops"][:_TOP]:
            ops.add_row(
                f"{row['share_percent']:.1f} %", _name(row).replace("[", r"\["), _times(row)
            )
        console.print(ops)

"""Draw the figures of a page with Bokeh.

The timeline and the memory maps are empty, because the script fills the part in view; the roofline
plot is complete. Times are in us.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.report_rows import Report

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure

_KIB = 1024
PALETTE = (
    "#4477cc",
    "#e8a020",
    "#e0605a",
    "#55b5a6",
    "#3f9e50",
    "#e57fae",
    "#9a6fd8",
    "#8cb4ec",
    "#a27a5c",
)
"""The colors of series and of the ops with the largest shares, in order."""
OTHERS = "#9498a0"
"""The color of all other ops."""
SLOWER, FASTER = PALETTE[2], PALETTE[4]


def require_bokeh() -> None:
    """Raise NIR_SIM040 if Bokeh is not installed."""
    try:
        import bokeh  # noqa: F401
    except ImportError:
        raise NeuronError(
            "NIR_SIM040",
            "an HTML report needs Bokeh, which is not installed",
            help="pip install 'neuronir[report]'",
        ) from None


def script_text() -> str:
    """BokehJS, without widgets and tables."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def time_figures(tracks: Sequence[str], sizes: dict[str, int], total_us: float) -> dict[str, Any]:
    """Return the timeline above a map for each memory, with a shared range of time, as a JSON
    item.
    """
    from bokeh.layouts import column
    from bokeh.models import FactorRange, Range1d

    shared = Range1d(0, total_us, bounds=(0, total_us), name="time")
    timeline = _time_figure(
        "timeline", shared, FactorRange(*reversed(tracks)), 19 * len(tracks) + 40
    )
    _boxes(timeline, "slices", [("op", "@name"), ("", "@what"), ("", "@when")], tracks=True)
    figures = [timeline]
    for space, size in sizes.items():
        rows = Range1d(0, size / _KIB, name=f"{space}-rows")
        part = _time_figure(space, shared, rows, 170 if space == "SBUF" else 130)
        part.yaxis.ticker.desired_num_ticks = 4
        part.yaxis.axis_label = f"{space}, KiB"
        _boxes(part, f"{space}-lives", [("written by", "@name"), ("", "@what"), ("", "@when")])
        _line(part, f"{space}-levels")
        figures.append(part)
    figures[-1].xaxis.axis_label = "time, us"
    return _item(column(figures, sizing_mode="stretch_width"), "time-figures")


def _time_figure(name: str, x_range: Any, y_range: Any, height: int) -> "Figure":
    from bokeh.models import BoxZoomTool, WheelZoomTool
    from bokeh.plotting import figure

    fig = figure(
        name=name,
        x_range=x_range,
        y_range=y_range,
        height=height,
        min_border_left=120,
        min_border_right=16,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
    )
    drag = BoxZoomTool(dimensions="width")
    # The wheel alone scrolls the page.
    wheel = WheelZoomTool(dimensions="width", modifiers={"ctrl": True})
    fig.add_tools(drag, wheel)
    fig.toolbar.active_drag = drag
    fig.toolbar.active_scroll = wheel
    fig.xaxis.formatter = _ticks()
    fig.ygrid.grid_line_color = None
    return fig


def _ticks() -> Any:
    from bokeh.models import NumeralTickFormatter

    return NumeralTickFormatter(format="0,0.[000]")


def _boxes(fig: "Figure", name: str, tips: list[tuple[str, str]], tracks: bool = False) -> None:
    """Add boxes whose columns the script fills."""
    from bokeh.models import ColumnDataSource, HoverTool, TapTool

    keys = ["left", "right", "color", "alpha", "name", "what", "when", "index"]
    keys += ["y"] if tracks else ["bottom", "top"]
    source = ColumnDataSource(name=name, data={key: [] for key in keys})
    style = {"fill_color": "color", "fill_alpha": "alpha", "line_color": None}
    if tracks:
        drawn = fig.hbar(y="y", left="left", right="right", height=0.84, source=source, **style)
    else:
        drawn = fig.quad(
            left="left", right="right", bottom="bottom", top="top", source=source, **style
        )
    drawn.selection_glyph = drawn.nonselection_glyph = drawn.glyph
    fig.add_tools(HoverTool(renderers=[drawn], tooltips=tips), TapTool(renderers=[drawn]))


def _line(fig: "Figure", name: str) -> None:
    from bokeh.models import ColumnDataSource

    source = ColumnDataSource(name=name, data={"x": [], "y": []})
    fig.step(x="x", y="y", mode="after", source=source, line_width=1.5, name=f"{name}-line")


def roofline_figure(report: Report, colors: dict[str, str]) -> dict[str, Any]:
    """Return the roofline plot: each op with matmuls is a point below the peak and the
    bandwidths.

    An op that moves no bytes of HBM is a triangle at the right edge.
    """
    from bokeh.models import Legend
    from bokeh.plotting import figure

    rows = roofline_rows(report)
    peak = report["peak_bf16_tflops"]
    xs = [row["flops_per_hbm_byte"] for row in rows if row["flops_per_hbm_byte"]]
    ys = [row["attained_tflops"] for row in rows]
    ridge = 1e3 * peak / report["dma_sustained_gbps"]
    x_range = (min([*xs, ridge / 10]) / 2, max([*xs, ridge * 10]) * 4)
    y_range = (min([*ys, peak / 100]) / 2, peak * 2)
    fig = figure(
        name="roofline",
        x_axis_type="log",
        y_axis_type="log",
        x_range=x_range,
        y_range=y_range,
        height=420,
        min_border_left=70,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        x_axis_label="executed FLOP per byte of HBM",
        y_axis_label="TFLOP/s",
    )
    lines = []
    for label, key, dash in (
        ("HBM's peak", "hbm_peak_gbps", "dashed"),
        ("all DMA engines", "dma_sustained_gbps", "solid"),
    ):
        at = 1e3 * peak / report[key]
        x = [x_range[0], at, x_range[1]]
        y = [x_range[0] * report[key] / 1e3, peak, peak]
        line = fig.line(x, y, line_dash=dash, line_width=2, name=f"roof-{key}")
        lines.append((f"{label}, {report[key]:.0f} GB/s", [line]))
    _points(fig, rows, colors, x_range[1] / 1.5)
    legend = Legend(items=lines, orientation="horizontal", spacing=24, border_line_alpha=0)
    fig.add_layout(legend, "above")
    return _item(fig, "roofline-figure")


def _points(fig: "Figure", rows: list[Report], colors: dict[str, str], edge: float) -> None:
    """Add the points of a roofline plot; those without HBM bytes are at `edge`."""
    from bokeh.models import ColumnDataSource, HoverTool, TapTool

    ratios = [row["flops_per_hbm_byte"] for row in rows]
    source = ColumnDataSource(
        name="points",
        data={
            "x": [ratio or edge for ratio in ratios],
            "y": [row["attained_tflops"] for row in rows],
            "ratio": [f"{r:,.1f} FLOP/byte" if r else "no bytes of HBM" for r in ratios],
            "marker": ["circle" if ratio else "triangle" for ratio in ratios],
            "name": [row["name"] for row in rows],
            "bound": [row["bound"] for row in rows],
            "share": [row["share_percent"] for row in rows],
            "size": [8 + 2 * row["share_percent"] ** 0.5 for row in rows],
            "color": [colors[row["name"]] for row in rows],
        },
    )
    dots = fig.scatter(
        "x",
        "y",
        size="size",
        marker="marker",
        fill_color="color",
        line_color="color",
        fill_alpha=0.6,
        source=source,
        name="dots",
    )
    dots.selection_glyph = dots.nonselection_glyph = dots.glyph
    tips = [("op", "@name"), ("bound by", "@bound"), ("share", "@share{0.0} %")]
    tips += [("intensity", "@ratio"), ("TFLOP/s", "@y{0.000}")]
    fig.add_tools(HoverTool(renderers=[dots], tooltips=tips), TapTool(renderers=[dots]))


def changes_figure(names: Sequence[str], changes: Sequence[float]) -> dict[str, Any]:
    """Return a bar for each op: by how many us it became slower (right) or faster (left)."""
    from bokeh.models import ColumnDataSource, FactorRange, HoverTool
    from bokeh.plotting import figure

    # Bokeh needs distinct labels: further ops of the same name get trailing spaces.
    labels: list[str] = []
    for name in names:
        while name in labels:
            name += " "
        labels.append(name)
    fig = figure(
        name="changes",
        y_range=FactorRange(*reversed(labels)),
        height=20 * len(labels) + 60,
        min_border_left=220,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        x_axis_label="change, us: left is faster, right is slower",
    )
    colors = [SLOWER if change > 0 else FASTER for change in changes]
    data = {"y": labels, "x": list(changes), "color": colors}
    source = ColumnDataSource(name="bars", data=data)
    bars = fig.hbar(
        y="y", right="x", left=0, height=0.75, fill_color="color", line_color=None, source=source
    )
    fig.add_tools(HoverTool(renderers=[bars], tooltips=[("op", "@y"), ("us", "@x{+0,0.00}")]))
    fig.xaxis.formatter = _ticks()
    fig.ygrid.grid_line_color = None
    return _item(fig, "changes-figure")


_DASHES = ("solid", "dashed", "dotted", "dotdash")


def sweep_figure(
    key: str, label: str, lines: Mapping[str, Sequence[Report]], target: str, by_batch: bool
) -> dict[str, Any]:
    """Return a figure of a sweep: for each series a line over the batch sizes, or a bar.

    `lines` are the points of each series, `key` the figure of a point that is drawn.
    """
    from bokeh.models import FactorRange
    from bokeh.plotting import figure

    style = {"name": key, "sizing_mode": "stretch_width", "toolbar_location": None, "tools": ""}
    if not by_batch:
        names = list(lines)
        fig = figure(
            y_range=FactorRange(*reversed(names)),
            height=26 * len(names) + 70,
            min_border_left=220,
            x_axis_label=label,
            **style,
        )
        _bars(fig, key, label, lines)
        return _item(fig, target)
    batches = sorted({point["batch"] for points in lines.values() for point in points})
    fig = figure(
        x_range=FactorRange(*map(str, batches)),
        height=380,
        min_border_left=90,
        x_axis_label="batch",
        y_axis_label=label,
        **style,
    )
    fig.y_range.start = 0
    _series(fig, key, label, lines)
    return _item(fig, target)


def _bars(fig: "Figure", key: str, label: str, lines: Mapping[str, Sequence[Report]]) -> None:
    from bokeh.models import ColumnDataSource, HoverTool

    values = [points[0][key] for points in lines.values()]
    source = ColumnDataSource(name=f"{key}-bars", data={"y": list(lines), "x": values})
    bars = fig.hbar(
        y="y", right="x", left=0, height=0.7, fill_color=PALETTE[0], line_color=None, source=source
    )
    fig.x_range.start = 0
    fig.add_tools(HoverTool(renderers=[bars], tooltips=[("", "@y"), (label, "@x{0,0.00}")]))
    fig.xaxis.formatter = _ticks()
    fig.ygrid.grid_line_color = None


def _series(fig: "Figure", key: str, label: str, lines: Mapping[str, Sequence[Report]]) -> None:
    from bokeh.models import ColumnDataSource, HoverTool, Legend

    shown = []
    for number, (name, found) in enumerate(lines.items()):
        points = sorted(found, key=lambda point: point["batch"])
        data = {
            "x": [str(point["batch"]) for point in points],
            "y": [point[key] for point in points],
            "name": [name] * len(points),
        }
        source = ColumnDataSource(name=f"{key}-{number}", data=data)
        color = PALETTE[number % len(PALETTE)]
        dash = _DASHES[number // len(PALETTE) % len(_DASHES)]
        line = fig.line("x", "y", source=source, line_color=color, line_width=2, line_dash=dash)
        dots = fig.scatter("x", "y", source=source, size=8, color=color)
        tips = [("", "@name"), ("batch", "@x"), (label, "@y{0,0.00}")]
        fig.add_tools(HoverTool(renderers=[dots], tooltips=tips))
        shown.append((name, [line, dots]))
    fig.yaxis.formatter = _ticks()
    if len(shown) > 1:
        columns = 2 if max(len(name) for name, _ in shown) < 40 else 1
        legend = Legend(items=shown, ncols=columns, location="left", border_line_alpha=0)
        fig.add_layout(legend, "above")
        fig.height += 24 * -(-len(shown) // columns)


def roofline_rows(report: Report) -> list[Report]:
    """Return the ops in the roofline plot: those that execute matmuls."""
    return [row for row in report["ops"] if row["flops"]]


def _item(model: Any, target: str) -> dict[str, Any]:
    """Return a figure as BokehJS takes it, for the element `target`.

    Models are numbered in the order in which they come: Bokeh counts all that a process ever made.
    """
    from bokeh.embed import json_item

    names: dict[str, str] = {}

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: identifier(v) if key == "id" else renamed(v) for key, v in value.items()}
        if isinstance(value, list):
            return [renamed(v) for v in value]
        return value

    def identifier(value: Any) -> Any:
        if isinstance(value, str) and re.fullmatch(r"p\d+", value):
            return names.setdefault(value, f"{target}-{len(names)}")
        return renamed(value)

    item = dict(json_item(model, target))
    item["doc"] = renamed(item["doc"])
    item["root_id"] = identifier(item["root_id"])
    return item

"""neuron-sim sweep: latency and throughput of a model over a grid of batches and options."""

import csv
import io
import itertools
import json
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from neuronir.cli.cc_pool import RETRIES, Progress, pool_of
from neuronir.cli.cc_request import Request, absolute, compile_one
from neuronir.cli.neuron_sim_sweep_args import BATCH
from neuronir.cli.program import OK, USER_ERROR, UsageError
from neuronir.dialects.support.output import atomic_write, check_outputs, write_stdout
from neuronir.many.jobs import Job, Outcome

_NONE = "-"


@dataclass(frozen=True)
class Point:
    """One point of the grid."""

    target: str
    batch: int
    auto_cast: str
    auto_cast_type: str
    optlevel: str

    def text(self, varied: Sequence[str]) -> str:
        """Return the values that differ between points."""
        shown = [f"{name.replace('_', '-')} {getattr(self, name)}" for name in varied]
        return ", ".join(shown) or "model"


@dataclass(frozen=True)
class Measured:
    """A point: `latency_us` of one run on one core, `throughput` in inferences a second, the
    percentage of the roofline, the size of the binary (bytes), and the time of its compile (s). If
    the point failed, `error` has the message, and the figures are missing.
    """

    target: str
    batch: int
    auto_cast: str
    auto_cast_type: str
    optlevel: str
    latency_us: float | None = None
    throughput: float | None = None
    bound_by: str | None = None
    roofline_percent: float | None = None
    neff_bytes: int | None = None
    compile_s: float | None = None
    cached: bool | None = None
    error: str | None = None


def sweep(args: Namespace) -> int:
    """Compile and time every point; return 1 if one of them fails."""
    check_outputs(args.csv, args.report, args.html)  # before the long run
    if args.html is not None:
        from neuronir.targets.simulator.page.figures import require_bokeh

        require_bokeh()
    points = list(_points(args))
    varied = _varied(points)
    requests = [_request(args, point) for point in points]
    jobs = [
        Job(point.text(varied), (point, request), point.batch)
        for point, request in zip(points, requests, strict=True)
    ]
    retries = RETRIES if args.retries is None else args.retries
    with pool_of(args, len(jobs)) as pool, Progress(len(jobs), _described).shown() as progress:
        outcomes = pool.run(jobs, measure, retries=retries, listener=progress)
    rows = [_row(outcome) for outcome in outcomes]
    _write(args, rows, varied)
    lines = "".join(f"{line}\n" for line in best(rows, varied))
    write_stdout(f"\n{table_text(rows, varied)}\n{lines}")
    return OK if all(row.error is None for row in rows) else USER_ERROR


def _points(args: Namespace) -> Iterator[Point]:
    """Yield the points of the grid, in the order of the options' values."""
    batches = _values(args.batch, "--batch")
    if not all(batch.isdecimal() and int(batch) > 0 for batch in batches):
        raise UsageError(f"--batch: '{args.batch}' is not a list of sizes")
    if len(batches) > 1 and not any(BATCH in text for text in (args.model, *args.input_shape)):
        raise UsageError(
            f"--batch: write {BATCH} for the batch size in MODEL or in --input-shape, such as "
            f"--input-shape x={BATCH}x128"
        )
    grid = itertools.product(
        _values(args.target, "--target"),
        batches,
        _values(args.auto_cast, "--auto-cast"),
        _values(args.auto_cast_type, "--auto-cast-type"),
        _values(args.optlevel, "--optlevel"),
    )
    seen = set()
    for target, batch, cast, cast_type, level in grid:
        # Without a cast its type has no meaning: one point is enough.
        point = Point(target, int(batch), cast, _NONE if cast == "none" else cast_type, level)
        if point not in seen:
            seen.add(point)
            yield point


def _varied(points: Sequence[Point]) -> list[str]:
    """Return the axes with more than one value; a type without effect does not count."""
    values = {f.name: {getattr(point, f.name) for point in points} - {_NONE} for f in fields(Point)}
    return [name for name, found in values.items() if len(found) > 1]


def _values(text: str, option: str) -> list[str]:
    found = [value.strip() for value in text.split(",")]
    if not all(found):
        raise UsageError(f"{option}: '{text}' has an empty value")
    return list(dict.fromkeys(found))


def _request(args: Namespace, point: Point) -> Request:
    """Return the compile of a point as a command line of neuronx-cc; raises UsageError for invalid
    values.
    """
    from neuronir.cli.neuronx_cc_args import build_parser, check

    model = str(Path(args.model.replace(BATCH, str(point.batch))).absolute())
    words = ["compile", model, "--framework", args.framework or _framework(model)]
    words += ["--target", point.target, "--auto-cast", point.auto_cast, "-O", point.optlevel]
    if point.auto_cast_type != _NONE:
        words += ["--auto-cast-type", point.auto_cast_type]
    for shape in args.input_shape:
        words += ["--input-shape", shape.replace(BATCH, str(point.batch))]
    for option in ("weights", "cache_dir", "io_config", "signature"):
        value = getattr(args, option)
        if value is not None:
            words.append(f"--{option.replace('_', '-')}={value}")
    if args.no_cache:
        words.append("--no-cache")
    found = build_parser().parse_args(words)
    check(found)
    return Request("neuronx-cc", absolute(vars(found)))


def _framework(model: str) -> str:
    """Return the format of a model, which follows from its name."""
    from neuronir.frontends.models import FRONTENDS, kind_of_file

    kind = kind_of_file(model)
    return "XLA" if kind is None else FRONTENDS[kind].framework


def measure(payload: tuple[Point, Request]) -> Measured:
    """Compile a point and simulate its timing, in a worker."""
    from neuronir.targets.neff.reader import load_neff
    from neuronir.targets.registry import get_target
    from neuronir.targets.simulator.report import build_report
    from neuronir.targets.simulator.timing import simulate_timing

    point, request = payload
    with tempfile.TemporaryDirectory(prefix="neuronir-") as folder:
        output = Path(folder) / "point.neff"
        answer = compile_one(
            Request(request.program, {**request.given, "output": str(output)}, request.compiler)
        )
        if answer.status != OK:
            lines = [line for line in answer.text.splitlines() if "error:" in line]
            why = lines[0].partition("error: ")[2] if lines else f"status {answer.status}"
            return Measured(**asdict(point), error=why)
        program = load_neff(str(output)).program
        size = output.stat().st_size
    report = build_report(simulate_timing(program, get_target(program.machine).machine))
    time_us = report["total_time_us"]
    return Measured(
        **asdict(point),
        latency_us=round(time_us, 3),
        throughput=round(point.batch * 1e6 / time_us, 1) if time_us else None,
        bound_by=report["bound_by"],
        roofline_percent=round(report["roofline_percent"], 1),
        neff_bytes=size,
        compile_s=round(answer.seconds, 3),
        cached=answer.cached,
    )


def _described(outcome: Outcome) -> str:
    row: Measured = outcome.value
    if row.error is not None:
        return f"failed: {row.error}"
    how = "from the cache" if row.cached else f"compiled in {row.compile_s:.2f} s"
    return f"{row.latency_us:,.2f} us ({how})"


def _row(outcome: Outcome) -> Measured:
    if outcome.lost is None:
        row: Measured = outcome.value
        return row
    return Measured(**asdict(outcome.job.payload[0]), error=outcome.lost)


def _write(args: Namespace, rows: Sequence[Measured], varied: Sequence[str]) -> None:
    """Write the requested files."""
    records: list[dict[str, Any]] = [asdict(row) for row in rows]
    name = Path(args.model).name
    if args.csv is not None:
        text = io.StringIO()
        writer = csv.DictWriter(text, [f.name for f in fields(Measured)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        atomic_write(args.csv, text.getvalue())
    if args.report is not None:
        whole = {"model": name, "points": records}
        atomic_write(args.report, json.dumps(whole, indent=1) + "\n")
    if args.html is not None:
        from neuronir.targets.simulator.page.sweep_page import sweep_page

        atomic_write(args.html, sweep_page(name, records, varied))


_COLUMNS = (
    ("latency_us", "latency us", "{:,.2f}"),
    ("throughput", "inferences/s", "{:,.1f}"),
    ("roofline_percent", "roofline %", "{:.1f}"),
    ("bound_by", "bound by", "{}"),
    ("compile_s", "compile s", "{:.2f}"),
)


def table_text(rows: Sequence[Measured], varied: Sequence[str]) -> str:
    """Format the grid as a table: the varied options, and the figures or the error of each
    point.
    """
    heads = [name.replace("_", "-") for name in varied] + [head for _, head, _ in _COLUMNS]
    lines = [heads]
    for row in rows:
        line = [str(getattr(row, name)) for name in varied]
        if row.error is None:
            values = [(getattr(row, name), form) for name, _, form in _COLUMNS]
            line += ["-" if value is None else form.format(value) for value, form in values]
        lines.append(line)
    count = len(heads)
    wide = [max(len(line[at]) for line in lines if at < len(line)) for at in range(count)]
    texts = ["  ".join(cell.rjust(wide[at]) for at, cell in enumerate(line)) for line in lines]
    for at, row in enumerate(rows, 1):
        if row.error is not None:
            texts[at] += f"  failed: {row.error}"
    return "".join(f"{text.rstrip()}\n" for text in texts)


def best(rows: Sequence[Measured], varied: Sequence[str]) -> Iterator[str]:
    """Yield lines that name the point with the lowest latency and the one with the highest
    throughput.
    """
    good = [row for row in rows if row.latency_us is not None and row.throughput is not None]
    if not good or not varied:
        return

    def named(row: Measured) -> str:
        return Point(*(getattr(row, f.name) for f in fields(Point))).text(varied)

    fast = min(good, key=lambda row: row.latency_us or 0.0)
    yield f"lowest latency: {fast.latency_us:,.2f} us ({named(fast)})"
    much = max(good, key=lambda row: row.throughput or 0.0)
    yield f"highest throughput: {much.throughput:,.1f} inferences/s on one core ({named(much)})"

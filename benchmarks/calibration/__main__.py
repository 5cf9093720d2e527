"""`python -m benchmarks.calibration [NAMES ...]`: simulated against published times, in Markdown.

Each kernel has two times: as it is written (engines, queues and order chosen by hand), and as
@nc-order schedules the same instructions. `--emit DIR` writes the kernels' programs instead, for
neuronx-cc with `--compile-from`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.calibration.measure import Row, simulate, summary
from benchmarks.calibration.published import KERNELS

_HEAD = (
    "| kernel | published us | scheduled us | error % | as written us | error % | bound by |\n"
    "|---|---|---|---|---|---|---|"
)


def line(scheduled: Row, written: Row) -> str:
    """One line of the table; what bounds it is that of the scheduled form."""
    kernel = scheduled.kernel
    digits = 4 if kernel.latency_us < 1 else 1
    cells = [kernel.name, f"{kernel.latency_us:,g}"]
    for row in (scheduled, written):
        cells += [f"{row.simulated_us:,.{digits}f}", f"{100 * row.error:+.1f}"]
    return f"| {' | '.join(cells)} | {scheduled.report['bound_by']} |"


def said(form: str, rows: Sequence[Row]) -> str:
    """The errors of one form in words."""
    found = summary(rows)
    return (
        f"{form}: mean absolute error {found.mape:.1f} %, median {found.median:.1f} %, Spearman "
        f"rank {found.spearman:.3f}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or write the programs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration",
        description="Simulated times of published kernels against those measured on hardware.",
    )
    parser.add_argument("names", nargs="*", help="parts of names of kernels; default all")
    parser.add_argument("--emit", type=Path, metavar="DIR", help="write the programs there instead")
    parser.add_argument("--virtual", action="store_true", help="those without engines and order")
    args = parser.parse_args(argv)
    chosen = [k for k in KERNELS if not args.names or any(n in k.name for n in args.names)]
    if not chosen:
        parser.error(f"no kernel is named so; there are {', '.join(k.name for k in KERNELS)}")
    if args.emit:
        args.emit.mkdir(parents=True, exist_ok=True)
        for kernel in chosen:
            text = kernel.make().text("virtual" if args.virtual else "ordered")
            (args.emit / f"{kernel.name}.mlir").write_text(text)
        return 0
    print(_HEAD)
    scheduled, written = [], []
    for kernel in chosen:
        scheduled.append(simulate(kernel, "virtual"))
        written.append(simulate(kernel))
        print(line(scheduled[-1], written[-1]), flush=True)
    print(
        f"\n{len(chosen)} kernels. {said('Scheduled', scheduled)}. {said('As written', written)}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks.calibration [NAMES ...]`: simulated against published times, in Markdown.

`--virtual` leaves engines, queues and order to nc-order. `--emit DIR` writes the kernels' programs
instead, for neuronx-cc with `--compile-from`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.calibration.measure import Row, simulate, summary
from benchmarks.calibration.published import KERNELS


def line(row: Row) -> str:
    """One line of the table."""
    kernel = row.kernel
    digits = 4 if kernel.latency_us < 1 else 1
    cells = (
        kernel.name,
        f"{kernel.latency_us:,g}",
        f"{row.simulated_us:,.{digits}f}",
        f"{100 * row.error:+.1f}",
        row.report["bound_by"],
    )
    return f"| {' | '.join(cells)} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or write the programs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration",
        description="Simulated times of published kernels against those measured on hardware.",
    )
    parser.add_argument("names", nargs="*", help="parts of names of kernels; default all")
    parser.add_argument("--virtual", action="store_true", help="let nc-order schedule the kernels")
    parser.add_argument("--emit", type=Path, metavar="DIR", help="write the programs there instead")
    args = parser.parse_args(argv)
    phase = "virtual" if args.virtual else "ordered"
    chosen = [k for k in KERNELS if not args.names or any(n in k.name for n in args.names)]
    if not chosen:
        parser.error(f"no kernel is named so; there are {', '.join(k.name for k in KERNELS)}")
    if args.emit:
        args.emit.mkdir(parents=True, exist_ok=True)
        for kernel in chosen:
            (args.emit / f"{kernel.name}.mlir").write_text(kernel.make().text(phase))
        return 0
    print("| kernel | published us | simulated us | error % | bound by |\n|---|---|---|---|---|")
    rows = []
    for kernel in chosen:
        rows.append(simulate(kernel, phase))
        print(line(rows[-1]), flush=True)
    found = summary(rows)
    print(
        f"\n{len(rows)} kernels: mean absolute error {found.mape:.1f} %, median {found.median:.1f} "
        f"%, Spearman rank {found.spearman:.3f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

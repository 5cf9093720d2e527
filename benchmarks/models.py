"""Measure whole models: `python -m benchmarks.models [--cast none] [--weights] [NAMES ...]`.

One process for each model, so that memory is that of one compile and a failure does not end the
sweep. The table is Markdown, ready for docs/benchmarks.md.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.corpus import FOLDERS, Model, models
from benchmarks.measure import Measurement

_HEAD = (
    "model",
    "compile s",
    "GiB",
    "nc ops",
    "us",
    "% of roofline",
    "% of least",
    "bound by",
    "HBM MB",
    "x least",
    "spill MB",
    "barriers",
    "run s",
    "error/scale",
    "matches",
)


def measured(model: Model, options: Sequence[str], timeout: float) -> Measurement | str:
    """One model in a process of its own, or what went wrong in a line."""
    command = [sys.executable, "-m", "benchmarks.measure", str(model.path), *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"not done in {timeout:g} s"
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else f"ended by signal {-done.returncode}"
    return Measurement(**json.loads(done.stdout.splitlines()[-1]))


def cells(m: Measurement) -> list[str]:
    """One row of the table."""
    matches = {True: "yes", False: "NO", None: "-"}[m.matches]
    return [
        m.name,
        f"{m.compile_s:.1f}",
        f"{m.compile_rss_gib:.2f}",
        str(m.nc_ops),
        f"{m.total_us:.1f}",
        f"{m.roofline_percent:.0f}",
        f"{m.least_percent:.0f}",
        m.bound_by,
        f"{m.hbm_bytes / 1e6:.2f}",
        f"{m.bytes_ratio:.2f}",
        f"{m.spill_bytes / 1e6:.2f}",
        str(m.barriers),
        f"{m.run_s:.1f}",
        f"{m.max_rel:.1e}",
        matches,
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a model fails or differs."""
    parser = argparse.ArgumentParser(description="Measure whole models.")
    parser.add_argument("names", nargs="*", help="models; default all of core and odd")
    parser.add_argument("--cast", choices=("none", "matmult", "all"), default="matmult")
    parser.add_argument("--weights", action="store_true", help="bind the weights as constants")
    parser.add_argument("--no-check", action="store_true", help="time alone, no numbers")
    parser.add_argument("--bench", action="store_true", help="hlo/bench too, against interpreter")
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="for each model")
    args = parser.parse_args(argv)
    folders = FOLDERS if args.bench or args.names else FOLDERS[:2]
    try:
        chosen = models(folders, args.names)
    except ValueError as error:
        parser.error(str(error))
    options = ["--cast", args.cast]
    options += ["--weights"] * args.weights + ["--no-check"] * args.no_check
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}", flush=True)
    problems: list[str] = []
    for model in chosen:
        found = measured(model, options, args.timeout)
        if isinstance(found, str):
            problems.append(f"{model.name}: {found}")
            row = [model.name, *["-"] * (len(_HEAD) - 2), "NO"]
        else:
            row = cells(found)
            if found.problem:
                problems.append(f"{model.name}: {found.problem}")
        print(f"| {' | '.join(row)} |", flush=True)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Time compiles: `python -m benchmarks.compile_time [NAMES ...]`.

Without names: BERT of 1, 2, 4, 12 and 24 layers, weights bound, so that growth is visible, and
then the models that have a budget. Each is compiled cold, in a process of its own. The table is
Markdown.
"""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.corpus import FOLDERS, models
from benchmarks.measure import Measurement
from benchmarks.models import measured

LAYERS = ("bert_1layer", "bert_2layer", "bert_4layer", "hf_bert_base", "bert_24layer")
BUDGETS = {
    "gemm_2048_bf16": 1.5,
    "mlp": 1.5,
    "hf_bert_base": 15.0,
    "hf_resnet50": 15.0,
    "hf_gpt2_small": 15.0,
    "hf_gpt2_tiny_train_adamw": 20.0,
}
"""Seconds that a cold compile may take on two cores."""

PHASES = ("parsed", "hlo", "virtual", "ordered", "allocated", "synchronised", "binary")
_HEAD = ("model", "hlo ops", "nc ops", *PHASES, "all s", "budget s", "nc ops/s", "GiB")


def cells(m: Measurement) -> list[str]:
    """One row: seconds by phase, and of the whole compile without the start of Python."""
    budget = BUDGETS.get(m.name)
    return [
        m.name,
        str(m.hlo_ops),
        str(m.nc_ops),
        *(f"{m.phases_s.get(phase, 0.0):.2f}" for phase in PHASES),
        f"{m.compile_s:.2f}",
        "-" if budget is None else f"{budget:g}",
        f"{m.nc_ops / m.compile_s:.0f}",
        f"{m.compile_rss_gib:.2f}",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a compile fails or misses its budget."""
    parser = argparse.ArgumentParser(description="Time compiles, phase by phase.")
    parser.add_argument("names", nargs="*", help="models of the corpus")
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="for each model")
    args = parser.parse_args(argv)
    names = args.names or list(dict.fromkeys([*LAYERS, *BUDGETS]))
    try:
        known = {model.name: model for model in models(FOLDERS, names)}
    except ValueError as error:
        parser.error(str(error))
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}", flush=True)
    problems = []
    for name in names:
        found = measured(known[name], ["--weights", "--no-check"], args.timeout)
        if isinstance(found, str):
            problems.append(f"{name}: {found}")
            continue
        print(f"| {' | '.join(cells(found))} |", flush=True)
        if found.compile_s > BUDGETS.get(name, float("inf")):
            problems.append(f"{name}: {found.compile_s:.1f} s, {BUDGETS[name]:g} s are allowed")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

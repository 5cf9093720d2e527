"""Time compiles: `python -m benchmarks.compile_time [NAMES ...]`.

Without names: BERT of 1, 2, 4, 12 and 24 layers, weights bound, so that growth is visible, and
then the models that have a budget. Each is compiled cold, in a process of its own. The table is
Markdown; *cpu s* is the processor time of the compile, which other programs disturb less and by
which the budgets are judged, *+GiB* its memory beyond what was there before, the weights among it.
What twice the layers cost is judged by two single compiles. `--pairs N` compiles both N times in
all, prints the median, which a change of the machine's speed disturbs less, and judges each pair.
`--optlevel 1 2 3` compares levels.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from statistics import median

from benchmarks.corpus import FOLDERS, Model, models
from benchmarks.measure import Measurement
from benchmarks.models import measured

LAYERS = ("bert_1layer", "bert_2layer", "bert_4layer", "hf_bert_base", "bert_24layer")
BUDGETS = {
    "gemm_2048_bf16": 1.5,
    "gemm_4096x8192x8192_bf16": 1.5,
    "mlp": 1.5,
    "hf_bert_base": 15.0,
    "hf_resnet50": 15.0,
    "hf_gpt2_small": 15.0,
    "hf_gpt2_tiny_train_adamw": 20.0,
}
"""Seconds that a cold compile may take on two cores."""

PHASES = (
    *("parsed", "hlo", "virtual", "ordered", "allocated", "synchronised", "binary"),
    "container",  # its bytes are made and hashed, and not stored
)
_HEAD = (
    *("model", "level", "hlo ops", "nc ops", *PHASES, "all s", "cpu s", "budget s"),
    *("nc ops/s", "+GiB", "simulated us"),
)
_EXTRA_GIB = 2.0  # what a compile may take beyond the weights
_GROWTH = ("hf_bert_base", "bert_24layer", 0.40, 0.05)
"""Twelve and twenty-four layers, and the growth that is allowed of seconds and of nc ops."""


def cells(m: Measurement, level: int) -> list[str]:
    """One row: seconds by phase, and of the whole compile without the start of Python."""
    budget = BUDGETS.get(m.name)
    return [
        m.name,
        str(level),
        str(m.hlo_ops),
        str(m.nc_ops),
        *(f"{m.phases_s.get(phase, 0.0):.2f}" for phase in PHASES),
        f"{m.compile_s:.2f}",
        f"{m.compile_cpu_s:.2f}",
        "-" if budget is None else f"{budget:g}",
        f"{m.nc_ops / m.compile_s:.0f}",
        f"{m.compile_extra_gib:.2f}",
        f"{m.total_us:.1f}",
    ]


def compiled(model: Model, level: int, timeout: float) -> Measurement | str:
    """One cold compile, or what went wrong in a line."""
    return measured(model, ["--weights", "--no-check", f"--optlevel={level}"], timeout)


def growth(pairs: Sequence[tuple[Measurement, Measurement]]) -> list[str]:
    """What twice the layers cost, printed: the median of pairs, and their processor time one by
    one; and what of a single pair is more than is allowed."""
    few, many, *allowed = _GROWTH
    found = {
        "seconds": [b.compile_s / a.compile_s - 1 for a, b in pairs],
        "processor seconds": [b.compile_cpu_s / a.compile_cpu_s - 1 for a, b in pairs],
        "nc ops": [b.nc_ops / a.nc_ops - 1 for a, b in pairs],
    }
    text = ", ".join(f"{median(values):+.0%} {what}" for what, values in found.items())
    print(f"\nFrom {few} to {many}, median of pairs: {text}")
    single = " ".join(f"{value:+.1%}" for value in found["processor seconds"])
    print(f"Processor seconds, pair by pair: {single}", flush=True)
    checked = ("processor seconds", "nc ops")
    return [
        f"{what} grow by {value:.1%}, {limit:.0%} are allowed"
        for what, limit in zip(checked, allowed, strict=True)
        for value in found[what]
        if value > limit
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a compile fails or misses its budget."""
    parser = argparse.ArgumentParser(description="Time compiles, phase by phase.")
    parser.add_argument("names", nargs="*", help="models of the corpus")
    parser.add_argument("--optlevel", type=int, nargs="+", choices=(1, 2, 3), default=[2])
    parser.add_argument("--pairs", type=int, default=1, metavar="N", help="to judge growth by")
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="for each model")
    args = parser.parse_args(argv)
    names = args.names or list(dict.fromkeys([*LAYERS, *BUDGETS]))
    try:
        known = {model.name: model for model in models(FOLDERS, names)}
    except ValueError as error:
        parser.error(str(error))
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}", flush=True)
    problems: list[str] = []
    results: dict[str, Measurement] = {}
    for name, level in product(names, args.optlevel):
        found = compiled(known[name], level, args.timeout)
        if isinstance(found, str):
            problems.append(f"{name}: {found}")
            continue
        print(f"| {' | '.join(cells(found, level))} |", flush=True)
        results[name] = found
        if found.compile_cpu_s > BUDGETS.get(name, float("inf")):
            problems.append(f"{name}: {found.compile_cpu_s:.1f} s, {BUDGETS[name]:g} s are allowed")
        if found.compile_extra_gib > _EXTRA_GIB:
            problems.append(f"{name}: {found.compile_extra_gib:.1f} GiB beyond the weights")
    few, many, *_ = _GROWTH
    if few in results and many in results:
        pairs = [(results[few], results[many])]
        for _ in range(args.pairs - 1):
            both = [compiled(known[name], args.optlevel[-1], args.timeout) for name in (few, many)]
            problems += [f"growth: {found}" for found in both if isinstance(found, str)]
            whole = [found for found in both if isinstance(found, Measurement)]
            if len(whole) == 2:
                pairs.append((whole[0], whole[1]))
        problems += growth(pairs)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""How near the code comes to the limits: `python -m benchmarks.code_quality [NAMES ...]`.

Each workload is compiled for trn1 with weights bound at the default precision, and timed. *limit*
is the least time of the workload on the machine: the weights' stream or the FLOPs of the tensor
engine, or, where none is given, the bytes and FLOPs that the model needs (floor.py). The table is
Markdown.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.corpus import FOLDERS, models
from benchmarks.measure import Measurement
from benchmarks.models import measured


@dataclass(frozen=True)
class Workload:
    """What is wanted of a model: times in us; the limit is the model's own floor where it is None.

    `must` and `aim` are times, or shares of the limit where they are at most 1. Of a kernel nothing
    is bound: all its arguments are data.
    """

    model: str
    must: float
    aim: float
    limit_us: float | None = None
    kernel: bool = False

    def reached_us(self, wanted: float, limit: float) -> float:
        """The time in us that `must` or `aim` means."""
        return limit / wanted if wanted <= 1 else wanted


WORKLOADS = (
    Workload("gemm_4096x8192x8192_bf16", 7000.0, 6400.0, 5990.0, kernel=True),
    Workload("gemm_2048_bf16", 0.77, 0.90, 187.0, kernel=True),
    Workload("hf_bert_base", 700.0, 660.0, 633.0),
    Workload("bert_base_b8", 3000.0, 2600.0, 2030.0),
    Workload("hf_resnet50", 300.0, 245.0, 216.0),
    Workload("resnet50_b4", 850.0, 680.0, 500.0),
    Workload("hf_vit_b16", 0.75, 0.88, 636.0),
    Workload("hf_gpt2_small", 0.75, 0.88, 1000.0),
    Workload("attention_s4096_d128_bf16", 330.0, 250.0, 211.0, kernel=True),
    Workload("softmax_4096x4096", 0.60, 0.85, kernel=True),
    Workload("layernorm_4096x1024", 0.60, 0.85, kernel=True),
    Workload("rmsnorm_4096x1024", 0.60, 0.85, kernel=True),
    Workload("gelu_4096x4096", 0.60, 0.85, kernel=True),
    Workload("adamw_10944x2048", 0.60, 0.85, kernel=True),
    Workload("swiglu_4096x3072x1024", 0.60, 0.85, kernel=True),
)

_LOADS = ("tensor", "vector", "scalar", "gpsimd", "dma", "psum_port", "sbuf_port")
_HEAD = (
    ("workload", "limit us", "reached us", "% of limit", "must us", "aim us", "bound by")
    + ("spill MB", "transposes % of PE", "weight row B")
    + tuple(f"{name} %" for name in _LOADS)
)


def cells(work: Workload, m: Measurement) -> list[str]:
    """One row of the table; loads are in % of the run."""
    limit = work.limit_us or m.least_us
    return [
        m.name,
        f"{limit:.0f}",
        f"{m.total_us:.0f}",
        f"{100 * limit / m.total_us:.0f}",
        f"{work.reached_us(work.must, limit):.0f}",
        f"{work.reached_us(work.aim, limit):.0f}",
        m.bound_by,
        f"{m.spill_bytes / 1e6:.1f}",
        f"{m.transpose_percent:.1f}",
        f"{m.weight_row_bytes:.0f}" if m.weight_row_bytes else "-",
        *(f"{100 * m.load_us.get(name, 0.0) / m.total_us:.0f}" for name in _LOADS),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a workload misses what it must reach."""
    parser = argparse.ArgumentParser(description="Compare simulated times with their limits.")
    parser.add_argument("names", nargs="*", help="some of the workloads")
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="for each")
    args = parser.parse_args(argv)
    chosen = [w for w in WORKLOADS if not args.names or w.model in args.names]
    known = {model.name: model for model in models(FOLDERS, [w.model for w in chosen])}
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}", flush=True)
    problems = []
    for work in chosen:
        options = ["--no-check"] if work.kernel else ["--no-check", "--weights"]
        found = measured(known[work.model], options, args.timeout)
        if isinstance(found, str):
            problems.append(f"{work.model}: {found}")
            continue
        print(f"| {' | '.join(cells(work, found))} |", flush=True)
        must = work.reached_us(work.must, work.limit_us or found.least_us)
        if found.total_us > must:
            problems.append(f"{work.model}: {found.total_us:.0f} us, {must:.0f} us must be reached")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

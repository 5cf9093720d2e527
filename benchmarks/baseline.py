"""Simulated times of a fast subset: `python -m benchmarks.baseline [--update]`.

Simulated times are deterministic, so they are counts: a change that makes a program of the subset
slower by more than 2 % fails the tests, unless it stores the new times with `--update` and its
commit says why.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpus import Model, models
from neuronir.driver import CompileOptions, compile_file
from neuronir.targets.simulator.timing import simulate_timing

STORED = Path(__file__).parent / "baseline.json"
TARGET = "trn1"
TOLERANCE = 0.02

SUBSET = (
    "mlp",
    "lenet",
    "hf_bert_tiny",
    "hf_resnet_tiny",
    "lstm_scan",
    "batchnorm_train",
    "embed_scatter_grad",
    "flash_attn_scan",
    "xent_grad",
    "bert_1layer",
    "conv3x3_256_56",
    "gemm_1024_f32",
    "layernorm_4096x1024",
    "softmax_4096x4096",
)
"""Models that compile in about a second each; weights are bound."""


def simulated_ns(model: Model) -> float:
    """The simulated time of a model at default options, weights bound."""
    options = CompileOptions(weights=model.weights(model.args()))
    program = compile_file(str(model.path), TARGET, options).program
    assert program is not None
    return simulate_timing(program).total_ns


def stored() -> dict[str, float]:
    """The times in ns that were stored, by model."""
    times: dict[str, float] = json.loads(STORED.read_text())
    return times


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each model; 1 where one became slower and nothing is updated."""
    parser = argparse.ArgumentParser(description="Compare simulated times with the stored ones.")
    parser.add_argument("--update", action="store_true", help="store the times of now")
    args = parser.parse_args(argv)
    before = stored() if STORED.exists() else {}
    now: dict[str, float] = {}
    slower = False
    for model in models(names=SUBSET):
        now[model.name] = simulated_ns(model)
        was = before.get(model.name, now[model.name])
        change = now[model.name] / was - 1
        slower |= change > TOLERANCE
        print(
            f"{model.name:24} {was / 1e3:9.1f} us -> {now[model.name] / 1e3:9.1f} us {change:+.1%}"
        )
    if args.update:
        STORED.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n")
    return int(slower and not args.update)


if __name__ == "__main__":
    sys.exit(main())

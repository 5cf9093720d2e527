"""Measure how much of a compile checks its own results: `python -m benchmarks.checks [NAMES]`.

A name is a program of the corpus. `name:inf1` compiles it for another target, and `name:weights`
with bound weights. The table is Markdown. Shares are of the processor time of the thread that
compiles.
"""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.corpus import Model
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.timer import checks_of
from tests.corpus import CORPUS

PROGRAMS = (
    "hf_bert_tiny",
    "hf_bert_base:weights",
    "hf_resnet50:weights",
    "hf_llama_tiny",
    "hf_distilbert",
    "vgg_block_224x224x64",
    "lstm_scan",
    "decode_step_1024_kv1024_v32000",
    "lenet:inf1",
    "lenet",
)
_HEAD = ("program", "seconds", "checks, %", "IR, %", "nc, %")


def model_of(name: str) -> Model:
    """Return a program of the corpus; raises ValueError if there is none."""
    found = [p for p in sorted(CORPUS.rglob(f"{name}.hlo")) if p.parent.name != "optimised"]
    if not found:
        raise ValueError(f"there is no program {name} in the corpus")
    return Model(found[0])


def row(given: str) -> list[str]:
    """Compile a program, and return its row of the table."""
    name, *options = given.split(":")
    model = model_of(name)
    target = next((option for option in options if option != "weights"), "trn1")
    weights = model.weights(model.args()) if "weights" in options else {}
    timer = compile_file(str(model.path), target, CompileOptions(weights=weights)).timer
    whole = sum(child.processor for child in timer.children)
    checks = checks_of(timer)
    nc = sum(check.processor for check in checks if check.name == "(verify nc)")
    both = sum(check.processor for check in checks)
    shares = [f"{100 * part / whole:.1f}" for part in (both, both - nc, nc)]
    return [given, f"{whole:.2f}", *shares]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checks", description=__doc__)
    parser.add_argument("names", nargs="*", default=PROGRAMS, help="programs of the corpus")
    names = parser.parse_args(argv).names
    row("mlp")  # imports and first uses are not those of a program
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}")
    for name in names:
        print(f"| {' | '.join(row(name))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

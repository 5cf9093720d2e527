"""`python -m benchmarks.variants FOLDER [--seed N] [--count N]`: draw, write and score programs."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.variants import arrays, images, sequences, training
from benchmarks.variants.draw import Draw, Program
from benchmarks.variants.facts import Facts
from benchmarks.zoo import score, summary

FAMILIES: dict[Callable[[Draw], Program], int] = {
    sequences.attention: 9,
    sequences.decode: 3,
    sequences.logits: 5,
    sequences.experts: 2,
    sequences.recurrent: 4,
    sequences.linear_recurrence: 4,
    images.convolution: 9,
    images.inverted: 6,
    images.convnext: 2,
    images.group_norm: 5,
    images.one_dimension: 5,
    arrays.reduction: 7,
    arrays.transpose: 5,
    arrays.movement: 7,
    arrays.lookup: 6,
    arrays.product: 6,
    arrays.products: 4,
    arrays.order: 3,
    training.gradient: 5,
    training.image_gradient: 3,
    training.optimiser: 3,
}
"""The families of programs, and how often each is drawn."""


def draw_programs(seed: int, count: int) -> list[Program]:
    """Return `count` programs, all different."""
    draw = Draw(seed)
    families = [family for family, times in FAMILIES.items() for _ in range(times)]
    found: dict[str, Program] = {}
    while len(found) < count:
        program = draw.pick(*families)(draw)
        found[program.name] = program
    return list(found.values())


def write(program: Program, folder: Path) -> Path:
    """Write the text of a program, and beside it what it needs; return the path of the text."""
    text = program.text()
    facts = Facts(text)
    known = {
        "name": program.name,
        "args": [
            [f"[{k}]", list(s.shape), str(s.dtype), "normal" if s.dtype != np.int32 else "int4"]
            for k, s in enumerate(program.specs)
        ],
        "product_flops": facts.product_flops,
        "vector_elements": facts.vector_elements,
        "io_bytes": facts.io_bytes,
    }
    path = folder / f"{program.name}.hlo"
    path.write_text(text)
    path.with_suffix(".json").write_text(json.dumps(known))
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the programs to a folder, score them, and print a line of JSON for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.variants", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the programs are written")
    parser.add_argument("--seed", type=int, default=0, help="what is drawn (default 0)")
    parser.add_argument("--count", type=int, default=100, help="number of programs (default 100)")
    parser.add_argument(
        "--seconds", type=int, default=150, help="CPU seconds of a compile (default 150)"
    )
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for program in draw_programs(given.seed, given.count):
        rows.append(score(write(program, given.folder), given.seconds))
        print(json.dumps(rows[-1]), flush=True)
    print(summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Arguments and references of HLO programs.

`python -m tests.corpus inputs FILE.hlo OUT.npz` writes the arguments that FILE.json describes.
`python -m tests.corpus references FILE.hlo ...` runs XLA on them and writes FILE.ref.npz;
with `--check` it prints the largest difference from what FILE.ref.npz holds instead.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from neuronir.dialects.support.npz import save_npz, unpack
from tests.corpus import Array, program_args, program_reference
from tests.oracle import run_xla

LARGE = 8 << 20
"""Bytes of an output above which only its statistics and its first elements are stored."""
HEAD = 4096


def references(path: Path) -> dict[str, Array]:
    """Return what FILE.ref.npz holds: out{i}, or stat{i} and head{i} of a large output."""
    entries: dict[str, Array] = {}
    for i, output in enumerate(run_xla(path.read_text(), program_args(path))):
        if output.nbytes <= LARGE:
            entries[f"out{i}"] = output
            continue
        wide = output.astype(np.float64)
        entries[f"stat{i}"] = np.array([wide.mean(), wide.std(), np.abs(wide).max()])
        entries[f"head{i}"] = output.reshape(-1)[:HEAD]
    return entries


def difference(path: Path) -> float:
    """Return the largest difference of FILE.ref.npz from XLA, over the largest value."""
    stored, worst = program_reference(path), 0.0
    for name, array in references(path).items():
        old, new = (x.astype(np.complex128) for x in (unpack(stored, name), array))
        scale = float(np.nanmax(np.abs(new), initial=0.0)) or 1.0
        worst = max(worst, float(np.nanmax(np.abs(new - old), initial=0.0)) / scale)
    return worst


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.corpus",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    inputs = commands.add_parser("inputs", help="write the arguments of a program")
    inputs.add_argument("program", type=Path)
    inputs.add_argument("out", type=Path)
    outputs = commands.add_parser("references", help="run XLA and write FILE.ref.npz")
    outputs.add_argument("programs", type=Path, nargs="+")
    outputs.add_argument("--check", action="store_true", help="compare, and write nothing")
    given = parser.parse_args(arguments)
    if given.command == "inputs":
        save_npz(given.out, {f"arg{i}": x for i, x in enumerate(program_args(given.program))})
        return 0
    for path in given.programs:
        if given.check:
            print(f"{path.stem}: {difference(path):.1e}")
        else:
            save_npz(path.with_suffix(".ref.npz"), references(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())

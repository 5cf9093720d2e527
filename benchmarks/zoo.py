"""Score the programs of hlo/zoo: `python -m benchmarks.zoo OUT.jsonl [NAMES ...]`.

Each program is compiled for trn1 (default precision, weights not bound) in a process of its own,
and its time simulated. `share` is `limit` over the simulated time; see `limit_us`. A limit ignores
dependences and sorting: shares find programs that are slow for their size and show changes over
time. Programs that OUT.jsonl has already are left out.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.corpus import CORPUS

PEAK = 91.75e6
"""FLOPs a microsecond of the tensor engine in bf16."""
DMA = 272e3
"""Bytes a microsecond that the DMA engines sustain."""
VECTOR = 128 * 2360 * 1.5
"""Elements a microsecond: 128 lanes of ACT and DVE, three operations in two instructions."""
LEAST = 10.0
"""Microseconds: no program is expected to take less."""


def limit_us(facts: Mapping[str, float]) -> float:
    """The largest of four times: products, arguments and results, elementwise work, a start."""
    return max(
        facts["product_flops"] / PEAK,
        facts["io_bytes"] / DMA,
        facts["vector_elements"] / VECTOR,
        LEAST,
    )


def _run(command: Sequence[str], seconds: int) -> tuple[str, float]:
    """What went wrong (or "") and the processor seconds of a command that may use `seconds`."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode == 0:
        return "", used
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}", used
    lines = (done.stderr or done.stdout).strip().splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else "?"), used


def score(path: Path, seconds: int) -> dict[str, Any]:
    """One row of the results: the times of a program, or `error`."""
    facts = json.loads(path.with_suffix(".json").read_text())
    row: dict[str, Any] = {"name": path.stem, "limit": round(limit_us(facts), 1)}
    tools = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        neff, report = f"{folder}/x.neff", f"{folder}/report.json"
        options = "--framework XLA --target trn1 --no-cache --verbose error --output"
        problem, used = _run(
            [str(tools / "neuronx-cc"), "compile", str(path), *options.split(), neff], seconds
        )
        row["compile_cpu"] = round(used, 1)
        if not problem:
            problem, used = _run(
                [str(tools / "neuron-sim"), "run", neff, "--timing-only", "--report", report],
                seconds,
            )
        if problem:
            return row | {"error": problem}
        found = json.loads(Path(report).read_text())
    total = found["total_time_us"]
    moved = found["hbm_read_bytes"] + found["hbm_write_bytes"]
    return row | {
        "us": round(total, 1),
        "share": round(row["limit"] / total, 3),
        "roofline": round(found["roofline_us"], 1),
        "bound": found["bound_by"],
        "hbm_x": round(moved / facts["io_bytes"], 2),
        "spill": found["spill_save_bytes"] + found["spill_reload_bytes"],
        "instructions": found.get("instruction_count"),
        "sim_cpu": round(used, 1),
    }


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """How many compile, and the geometric mean and the lowest of their shares."""
    shares = [row["share"] for row in rows if "share" in row]
    said = f"{len(shares)} of {len(rows)} compile"
    if not shares:
        return said
    mean = math.exp(sum(map(math.log, shares)) / len(shares))
    low = sum(share < 0.1 for share in shares)
    return f"{said}; geometric mean of share {mean:.3f}, lowest {min(shares):.4f}, {low} below 0.1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Append a row of JSON for each program to OUT.jsonl, and print a summary."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("out", type=Path, help="results, a line of JSON for each program")
    parser.add_argument("names", nargs="*", help="programs of the zoo (default: all)")
    parser.add_argument(
        "--seconds", type=int, default=150, help="CPU seconds of a compile (default 150)"
    )
    given = parser.parse_args(arguments)
    paths = {path.stem: path for path in sorted((CORPUS / "hlo" / "zoo").glob("*.hlo"))}
    unknown = sorted(set(given.names) - set(paths))
    if unknown:
        parser.error(f"there is no program {', '.join(unknown)} in the zoo")
    rows = []
    if given.out.exists():
        rows = [json.loads(line) for line in given.out.read_text().splitlines()]
    done = {row["name"] for row in rows}
    for name in given.names or paths:
        if name in done:
            continue
        rows.append(score(paths[name], given.seconds))
        line = json.dumps(rows[-1])
        print(line, flush=True)
        with given.out.open("a") as file:
            file.write(line + "\n")
    print(summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

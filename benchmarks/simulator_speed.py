"""Time the simulator: `python -m benchmarks.simulator_speed [--models NAMES ...]`.

Programs of a million instructions; then whole models as neuron-sim runs them, start of Python and
reading of the file included, each in a process of its own. Seconds are of the processor unless they
say otherwise. The tables are Markdown.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.calibration.builder import Kernel
from benchmarks.calibration.vector_add import vector_add
from benchmarks.corpus import FOLDERS, Model, models
from benchmarks.measure import TARGET, peak_rss_gib
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.npz import npz_bytes
from neuronir.driver import CompileOptions, compile_file, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.timing import simulate_timing

BUDGETS = {"hf_bert_base": (2.0, 15.0), "hf_resnet50": (5.0, 15.0)}
"""Seconds that timing alone, and timing with numbers, may take."""

INSTRUCTIONS = 1_000_000
SIM = "import sys; from neuronir.cli.start import neuron_sim; sys.exit(neuron_sim())"


@dataclass(frozen=True)
class Used:
    """What a process used: seconds by the clock and of the processor."""

    wall_s: float
    cpu_s: float


def used_by(words: Sequence[str]) -> Used:
    """Run neuron-sim; RuntimeError where it fails."""
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-c", SIM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert child.stderr is not None
    problem = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(problem.strip())
    wall = time.perf_counter() - start
    return Used(wall, usage.ru_utime + usage.ru_stime)


def model_row(model: Model, folder: Path) -> str:
    """Compile a model with its weights bound, then run it twice."""
    args = model.args()
    weights = model.weights(args)
    result = compile_file(str(model.path), TARGET, CompileOptions(weights=weights))
    assert result.program is not None
    file, inputs = folder / f"{model.name}.neff", folder / f"{model.name}.npz"
    result.write(str(file))
    given = {f"arg{i}": x for i, x in enumerate(args) if f"arg{i}" not in weights}
    inputs.write_bytes(npz_bytes(given))
    cycles = simulate_timing(result.program).total_ns * result.target.machine.act_ghz
    alone = used_by(["run", str(file), "--timing-only"])
    numbers = used_by(["run", str(file), "--inputs", str(inputs)])
    budgets = BUDGETS.get(model.name)
    cells = [
        model.name,
        f"{alone.wall_s:.2f}",
        f"{alone.cpu_s:.2f}",
        f"{budgets[0]:g}" if budgets else "-",
        f"{cycles / 1e6 / alone.cpu_s:.2f}",
        f"{numbers.wall_s:.2f}",
        f"{numbers.cpu_s:.2f}",
        f"{budgets[1]:g}" if budgets else "-",
    ]
    return f"| {' | '.join(cells)} |"


def chain() -> Kernel:
    """A million instructions of ACT and DVE that hand tiles to each other."""
    k = Kernel()
    x, y = k.input(128, 512), k.output(128, 512)
    a, b = ([k.sbuf(64) for _ in range(8)] for _ in "ab")
    for slot, tile in enumerate(a):
        k.load(tile(), x(0, 128, 64 * slot, 64))
    with k.loop(INSTRUCTIONS // 16):
        for from_tile, to_tile in zip(a, b, strict=True):
            k.act(to_tile(), from_tile(), scale=0.5)
            k.tensor_tensor(from_tile(), to_tile(), from_tile())
    for slot, tile in enumerate(a):
        k.store(y(0, 128, 64 * slot, 64), tile())
    return k


def _program(kernel: Kernel) -> Program:
    options = CompileOptions(compile_from="ordered")
    program = compile_text(kernel.text(), TARGET, options, name="kernel", kind="mlir").program
    assert program is not None
    return program


def long_row(name: str, kernel: Kernel) -> str:
    """A long loop: extrapolated, walked, and with numbers."""
    program = _program(kernel)
    machine = get_target(TARGET).machine
    start = time.process_time()
    jumped = simulate_timing(program)
    first = time.process_time()
    walked = simulate_timing(program, extrapolate=False)
    second = time.process_time()
    rng = np.random.default_rng(0)
    inputs = [
        rng.standard_normal(v.shape).astype(np.float32)
        for v in program.variables
        if v.kind == "input"
    ]
    run(program, inputs, machine, Options())
    third = time.process_time()
    cells = [
        name,
        f"{sum(s.executed for s in walked.streams):,}",
        f"{first - start:.2f}",
        f"{second - first:.1f}",
        f"{walked.total_ns * machine.act_ghz / 1e6 / (second - first):.1f}",
        f"{100 * (jumped.total_ns / walked.total_ns - 1):.3f}",
        f"{third - second:.1f}",
        f"{peak_rss_gib():.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def _table(*head: str) -> None:
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="Time the simulator.")
    parser.add_argument("--models", nargs="*", default=list(BUDGETS), metavar="NAME")
    args = parser.parse_args(argv)
    _table(
        "program",
        "instructions",
        "extrapolated s",
        "walked s",
        "Mcycles/s walked",
        "difference %",
        "numbers s",
        "GiB",
    )
    print(long_row("chain of ACT and DVE", chain()), flush=True)
    print(long_row("CS-vadd-rc1", vector_add(INSTRUCTIONS // 4, 1, 1)), flush=True)
    print()
    _table(
        "model",
        "timing only, clock s",
        "cpu s",
        "budget s",
        "Mcycles/cpu s",
        "with numbers, clock s",
        "cpu s",
        "budget s",
    )
    with tempfile.TemporaryDirectory() as folder:
        for model in models(FOLDERS, args.models) if args.models else []:
            print(model_row(model, Path(folder)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Compile one model, time it on the simulator and check its numbers: one process for each model.

`python -m benchmarks.measure FILE.hlo [--cast none|matmult] [--weights] [--no-check]` prints one
line of JSON.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from benchmarks.corpus import Model
from benchmarks.floor import least_bytes, least_us
from neuronir import __version__
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.compare import Report, default_tolerance
from neuronir.dialects.support.npz import Array
from neuronir.driver import CompiledResult, CompileOptions, compile_file
from neuronir.driver.judge import judge_compile
from neuronir.driver.specification import specify
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.targets.neff.writer import neff_header
from neuronir.targets.registry import TargetLike
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.noise import judge_precision
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing

TARGET = "trn1"


@dataclass
class Measurement:
    """What was measured of one model; `max_rel` is the error over the largest |reference|.

    `hlo_ops` counts what the lowering takes, `nc_ops` what it ends in. `transpose_percent` is of
    the tensor engine's time, `weight_row_bytes` of a descriptor that reads a constant; `load_us` is
    by engine and port. `compile_s` is that of the phases and of making the container's bytes (which
    are hashed and not stored), `compile_cpu_s` is processor time of all threads,
    `compile_extra_gib` the largest resident set of the compile above what was resident before (with
    the weights).
    """

    name: str
    cast: str
    weights: bool
    compile_s: float
    compile_rss_gib: float
    hlo_ops: int
    nc_ops: int
    timing_s: float
    total_us: float
    roofline_us: float
    least_us: float
    bound_by: str
    hbm_bytes: int
    least_bytes: int
    spill_bytes: int
    scratch_bytes: int
    barriers: int
    transpose_percent: float = 0.0
    weight_row_bytes: float = 0.0
    load_us: dict[str, float] = field(default_factory=dict)
    phases_s: dict[str, float] = field(default_factory=dict)
    compile_cpu_s: float = 0.0
    compile_extra_gib: float = 0.0
    run_s: float = 0.0
    rss_gib: float = 0.0
    max_rel: float = float("nan")
    matches: bool | None = None
    problem: str = ""

    @property
    def roofline_percent(self) -> float:
        """How near the run comes to the roofline of its own instructions."""
        return 100 * self.roofline_us / self.total_us

    @property
    def least_percent(self) -> float:
        """How near the run comes to the least time of the model (floor.py)."""
        return 100 * self.least_us / self.total_us

    @property
    def bytes_ratio(self) -> float:
        """HBM bytes over the least that the model must move."""
        return self.hbm_bytes / max(self.least_bytes, 1)


def peak_rss_gib() -> float:
    """Largest resident set of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def inputs_of(program: Program, args: Sequence[Array]) -> list[Array]:
    """The arguments that are still inputs of a program."""
    return [args[i] for i in sorted(v.index for v in program.variables if v.kind == "input")]


def simulate(
    program: Program, args: Sequence[Array], target: CompiledResult, *, races: bool = False
) -> list[Array]:
    """Run a program with the arguments that are still its inputs."""
    options = Options(races=races)
    return run(program, inputs_of(program, args), target.target.machine, options).outputs


@dataclass(frozen=True)
class Verdict:
    """How a run compares: `precision` with the reference in fp32, `compile` with the interpreter on
    the module after hlo-auto-cast, which has the same roundings."""

    precision: Report
    compile: Report

    @property
    def ok(self) -> bool:
        """Whether both hold for every output."""
        return self.precision.ok and self.compile.ok

    @property
    def max_rel(self) -> float:
        """The largest error over the largest |reference|, of the outputs that say something.

        Sums that cancel are rounding noise: their error over their own magnitude says nothing.
        """
        limit = default_tolerance("bf16")
        return max(
            (o.max_rel for o in self.precision.outputs if (o.noise_rel or 0.0) < limit),
            default=0.0,
        )

    def render(self) -> str:
        """A line for each output of each comparison."""
        return f"precision:\n{self.precision.render()}\ncompile:\n{self.compile.render()}"


def judge(
    model: Model,
    program: Program,
    target: TargetLike,
    cast: str = "matmult",
    weights: bool = False,
) -> Verdict:
    """Run `program`, the compiled `model`, and judge its numbers in two steps (docs/numerics.md).

    The reference is XLA's where it is stored, else the interpreter's.
    """
    args = model.args()
    bound = model.weights(args) if weights else {}
    inputs = inputs_of(program, args)
    outputs = run(program, inputs, target.machine, Options()).outputs
    path = str(model.path)
    reference = model.reference()
    if reference is None:
        with np.errstate(all="ignore"):
            results = interpret(import_hlo_text(model.path.read_text(), path), args)
        reference = {f"out{i}": x for i, x in enumerate(results)}
    precision = judge_precision(program, inputs, target.machine, outputs, reference)
    options = CompileOptions(auto_cast=cast, weights=bound)
    specification = specify(partial(compile_file, path, target.name), options)
    return Verdict(precision, judge_compile(specification, args, outputs))


def count_ops(module: ModuleOp) -> int:
    """Operations of a module, itself left out."""
    return sum(1 for _ in module.walk()) - 1


def measure(
    model: Model, cast: str, weights: bool, check: bool = True, optlevel: int = 2
) -> Measurement:
    """Compile, time, run and compare one model."""
    args = model.args() if weights or check else []
    bound = model.weights(args) if weights else {}
    options = CompileOptions(auto_cast=cast, weights=bound, optlevel=optlevel)
    before = peak_rss_gib()
    start, cpu = time.perf_counter(), time.process_time()
    result = compile_file(str(model.path), TARGET, options)
    program = result.program
    assert program is not None
    with result.timer.step("container"):  # its bytes are made and hashed, and not kept
        neff_header(program, __version__, result.encoding)
    compile_s, cpu_s = time.perf_counter() - start, time.process_time() - cpu
    rss = peak_rss_gib()
    machine = result.target.machine
    start = time.perf_counter()
    report = build_report(simulate_timing(program, machine))
    timing_s = time.perf_counter() - start
    hlo = compile_file(
        str(model.path), TARGET, CompileOptions(auto_cast=cast, weights=bound, compile_to="hlo")
    ).module
    floor = least_bytes(hlo)
    useful = sum(row["useful_flops"] for row in report["ops"])
    scratch = report["bytes_by_kind"].get("scratch", {"read": 0, "written": 0})
    found = Measurement(
        name=model.name,
        cast=cast,
        weights=weights,
        compile_s=compile_s,
        compile_rss_gib=rss,
        hlo_ops=count_ops(hlo),
        nc_ops=count_ops(result.module),
        timing_s=timing_s,
        total_us=report["total_time_us"],
        roofline_us=report["roofline_us"],
        least_us=least_us(floor, useful, machine),
        bound_by=report["bound_by"],
        hbm_bytes=report["hbm_read_bytes"] + report["hbm_write_bytes"],
        least_bytes=floor,
        spill_bytes=report["spill_save_bytes"] + report["spill_reload_bytes"],
        scratch_bytes=scratch["read"] + scratch["written"],
        barriers=report["barriers"],
        transpose_percent=100 * report["transpose_us"] / (report["resource_us"]["tensor"] or 1.0),
        weight_row_bytes=report["average_constant_row_size"],
        load_us=report["resource_us"],
        compile_cpu_s=cpu_s,
        compile_extra_gib=rss - before,
        phases_s={step.name: round(step.seconds, 3) for step in result.timer.children},
    )
    if check:
        start = time.perf_counter()
        simulate(program, args, result)
        found.run_s = time.perf_counter() - start
        verdict = judge(model, program, result.target, cast, weights)
        found.matches = verdict.ok
        found.max_rel = verdict.max_rel
        reports = (verdict.precision, verdict.compile)
        wrong = [o.render() for report in reports for o in report.outputs if not o.ok]
        found.problem = wrong[0] if wrong else ""
    found.rss_gib = peak_rss_gib()
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure one model and print it as JSON."""
    parser = argparse.ArgumentParser(description="Measure one model.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--cast", choices=("none", "matmult", "all"), default="matmult")
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--optlevel", type=int, choices=(1, 2, 3), default=2)
    args = parser.parse_args(argv)
    found = measure(Model(args.path), args.cast, args.weights, not args.no_check, args.optlevel)
    values: dict[str, Any] = asdict(found)
    print(json.dumps(values))
    return 0


if __name__ == "__main__":
    sys.exit(main())

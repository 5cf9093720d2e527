"""Run a pipeline: compute its results, and simulate how requests move through its cores.

Timing: each core runs its program for one request after the other. Cores of a chip exchange values
in their shared memory, and chips exchange them over a link. Each value has two buffers, so a core
may be one request ahead of the next core. Weights that stay in SBUF are not loaded again
(resident.py). The times of the programs are those of the timing half, with all cores of a chip at
work.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine, link_ns, with_cores_active
from neuronir.targets.pipeline import HOST, Pipeline
from neuronir.targets.simulator.attribution import usage_of
from neuronir.targets.simulator.functional import Array, Options, Result, Statistics, run
from neuronir.targets.simulator.integers import narrowed, widened
from neuronir.targets.simulator.program_data import variables_of
from neuronir.targets.simulator.resident import warm_program
from neuronir.targets.simulator.timing import simulate_timing

BUFFERS = 2
"""Buffers of each value between two cores."""


def run_pipeline(
    pipeline: Pipeline, inputs: Sequence[Array], machine: Machine, options: Options | None = None
) -> Result:
    """Run a request through all stages; `inputs` are by argument number, as for `run`."""
    interface = pipeline.interface
    values: dict[tuple[int, int], Array] = {}
    for variable, given in zip(variables_of(interface, "input"), inputs, strict=True):
        values[HOST, variable.index] = narrowed(interface, variable, given)
    total = Statistics()
    warnings: list[str] = []
    for number, (program, feeds) in enumerate(zip(pipeline.stages, pipeline.feeds, strict=True)):
        used = [feeds[v.index] for v in variables_of(program, "input")]
        made = run(program, [values[f.stage, f.index] for f in used], machine, options)
        for variable, array in zip(variables_of(program, "output"), made.outputs, strict=True):
            values[number, variable.index] = array
        warnings += [f"stage {number}: {text}" for text in made.warnings]
        _add(total, made.statistics)
    outputs = [
        widened(interface, v, values[f.stage, f.index])
        for v in variables_of(interface, "output")
        for f in (pipeline.results[v.index],)
    ]
    return Result(outputs, total, warnings)


def _add(total: Statistics, part: Statistics) -> None:
    total.matmul_flops += part.matmul_flops
    for name in ("read_bytes", "written_bytes", "instructions", "opcodes"):
        into = getattr(total, name)
        for key, count in getattr(part, name).items():
            into[key] = into.get(key, 0) + count


@dataclass(frozen=True)
class CoreTime:
    """The time of a core for one request: its own time, the time of the link before it, and the
    bytes that it moves to and from memory.

    `resident_bytes` are the weights that remain in SBUF from the previous request.
    """

    run_ns: float
    link_ns: float
    moved_bytes: int
    resident_bytes: int = 0


@dataclass(frozen=True)
class PipelineTiming:
    """The timing of a pipeline.

    `latency_ns` is the latency of a single request, `period_ns` the interval between requests in
    steady state, and `busy` the fraction of a period in which each core works; the rest are
    bubbles. `bound_by` names what determines the period.
    """

    cores: tuple[CoreTime, ...]
    latency_ns: float
    period_ns: float
    busy: tuple[float, ...]
    bound_by: str

    @property
    def requests_per_s(self) -> float:
        """Return the throughput in steady state."""
        return 1e9 / self.period_ns


def program_time(program: Program, machine: Machine) -> CoreTime:
    """Return the time of a program on a core, without a link."""
    result = simulate_timing(program, machine)
    moved = usage_of(result.code).variables.values()
    return CoreTime(result.total_ns, 0.0, sum(t.read + t.written for t in moved))


def stage_time(
    program: Program, number: int, stages: int, sent: float, machine: Machine
) -> CoreTime:
    """Return the time of stage `number` of `stages`, which receives `sent` bytes from the previous
    stage.

    All cores of its chip are active, and its weights are in SBUF if they fit.
    """
    first = number // machine.cores_per_chip * machine.cores_per_chip
    active = min(machine.cores_per_chip, stages - first)
    warm = warm_program(program)
    time = program_time(warm.program, with_cores_active(machine, active))
    link = link_ns(sent, number, machine) if number else 0.0
    return replace(time, link_ns=link, resident_bytes=warm.resident_bytes)


def time_pipeline(pipeline: Pipeline, machine: Machine) -> PipelineTiming:
    """Simulate requests through the stages until they arrive at even intervals."""
    count = len(pipeline.stages)
    cores = [
        stage_time(program, number, count, pipeline.sent[number], machine)
        for number, program in enumerate(pipeline.stages)
    ]
    latency, period = requests_of(cores, machine.cores_per_chip)
    loads = {f"core {i}": core.run_ns for i, core in enumerate(cores)}
    loads |= {f"link to core {i}": core.link_ns for i, core in enumerate(cores)}
    loads |= _memory_ns(cores, pipeline.sent, machine)
    bound = max(loads, key=lambda name: loads[name])
    period = max(period, loads[bound])  # where cores wait for the memory of their chip
    busy = tuple(core.run_ns / period for core in cores)
    return PipelineTiming(tuple(cores), latency, period, busy, bound)


def _memory_ns(
    cores: Sequence[CoreTime], sent: Sequence[int], machine: Machine
) -> dict[str, float]:
    """Return the time that the memory of each chip takes for one request, for the bytes of all its
    cores and of its links.
    """
    per, times = machine.cores_per_chip, {}
    for chip, first in enumerate(range(0, len(cores), per)):
        moved = sum(core.moved_bytes for core in cores[first : first + per])
        moved += sent[first] + (sent[first + per] if first + per < len(cores) else 0)
        times[f"memory of chip {chip}"] = moved / machine.chip_hbm_gbps
    return times


def requests_of(cores: Sequence[CoreTime], per_chip: int) -> tuple[float, float]:
    """Return the latency of the first request, and the interval between the last of many
    requests.

    A core writes into one of two buffers. On its own chip the next core reads that buffer, so it is
    free when that core is done; else a link copies it into one of two buffers of the next chip.
    """
    count = len(cores)
    requests = 4 * count + 8
    done = [[0.0] * requests for _ in range(count)]
    arrived = [[0.0] * requests for _ in range(count)]
    for r in range(requests):
        old = r - BUFFERS
        for k in range(count):
            crosses = k % per_chip == 0
            at = 0.0
            if k:
                at = max(done[k - 1][r], arrived[k][r - 1] if r else 0.0)
                if crosses and old >= 0:
                    at = max(at, done[k][old])
                arrived[k][r] = at = at + cores[k].link_ns
            if r:
                at = max(at, done[k][r - 1])
            if k + 1 < count and old >= 0:
                read = arrived if (k + 1) % per_chip == 0 else done
                at = max(at, read[k + 1][old])
            done[k][r] = at + cores[k].run_ns
    half = requests // 2
    period = (done[-1][-1] - done[-1][half]) / (requests - 1 - half)
    return done[-1][0], period

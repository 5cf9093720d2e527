"""neuron-sim run on several cores: a pipeline, copies of a program, or several programs."""

import json
from argparse import Namespace
from collections.abc import Sequence

from neuronir.cli.neuron_sim_judge import Run, judge
from neuronir.cli.neuron_sim_nan import tell_nan
from neuronir.cli.program import OK, UsageError
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.diagnostics import warning
from neuronir.dialects.support.npz import load_npz, npz_bytes
from neuronir.dialects.support.output import atomic_write, write_stdout
from neuronir.targets.neff.check import check_machine
from neuronir.targets.pipeline import Pipeline
from neuronir.targets.simulator.functional import Options
from neuronir.targets.simulator.pipelined import PipelineTiming, run_pipeline, time_pipeline
from neuronir.targets.simulator.program_data import choose_inputs, named_outputs, variables_of
from neuronir.targets.simulator.report import assumed_numbers
from neuronir.targets.simulator.together import Together, time_together


def run_stages(args: Namespace, pipeline: Pipeline, machine: Machine, timed: Machine) -> int:
    """Run a pipeline with values, with timing, or both; return 1 if results differ."""
    _refuse(args, "a pipeline", "trace", "html", "cores", "check_races", "check_nan")
    if args.expect and args.rtol is None and args.atol is None:
        raise UsageError("--expect of a pipeline needs --rtol or --atol")
    if len(pipeline.stages) > machine.cores:
        raise UsageError(f"the largest instance of {machine.name} has {machine.cores} cores")
    for number, program in enumerate(pipeline.stages):
        check_machine(program, machine, f"{args.neff[0]}: stage {number}")
    status = OK
    if not args.timing_only:
        status = _values(args, pipeline, machine)
    if not args.no_timing:
        timing = time_pipeline(pipeline, timed)
        if args.report is not None:
            report = pipeline_report(pipeline, timing, timed)
            atomic_write(args.report, json.dumps(report, indent=1) + "\n")
        write_stdout(pipeline_text(pipeline, timing, timed))
    return status


def _refuse(args: Namespace, what: str, *options: str) -> None:
    for option in options:
        if getattr(args, option):
            flag = option.replace("_", "-")
            raise UsageError(f"--{flag} is for one core: it cannot be combined with {what}")


def _values(args: Namespace, pipeline: Pipeline, machine: Machine) -> int:
    interface = pipeline.interface
    if args.inputs is None and variables_of(interface, "input"):
        raise UsageError("--inputs is missing: the program has inputs (or use --timing-only)")
    entries = load_npz(args.inputs) if args.inputs is not None else {}
    inputs = choose_inputs(interface, entries, args.inputs or "")
    options = Options(uninitialized=args.uninitialized, dma_mode=args.dma, order=args.order)
    result = run_pipeline(pipeline, inputs, machine, options)
    for text in result.warnings:
        warning(text)
    if args.outputs is not None:
        atomic_write(args.outputs, npz_bytes(named_outputs(interface, result.outputs)))
    tell_nan(args, interface, result.outputs)
    reference = load_npz(args.expect) if args.expect is not None else None
    return judge(args, Run(interface, machine, inputs, result.outputs, options), reference)


def pipeline_report(
    pipeline: Pipeline, timing: PipelineTiming, machine: Machine
) -> dict[str, object]:
    """Return the figures of a pipeline: times in us, rates in requests per second, shares in
    percent.
    """
    return {
        "machine": machine.name,
        "core_count": len(timing.cores),
        "latency_us": timing.latency_ns / 1e3,
        "period_us": timing.period_ns / 1e3,
        "requests_per_s": timing.requests_per_s,
        "bound_by": timing.bound_by,
        "cores": [
            {
                "core": number,
                "chip": number // machine.cores_per_chip,
                "run_us": core.run_ns / 1e3,
                "link_us": core.link_ns / 1e3,
                "busy_percent": 100 * busy,
                "bubble_percent": 100 * (1 - busy),
                "hbm_bytes": core.moved_bytes,
                "received_bytes": sent,
                "resident_bytes": core.resident_bytes,
            }
            for number, (core, busy, sent) in enumerate(
                zip(timing.cores, timing.busy, pipeline.sent, strict=True)
            )
        ],
        "assumed_numbers": assumed_numbers(machine),
    }


def pipeline_text(pipeline: Pipeline, timing: PipelineTiming, machine: Machine) -> str:
    """Format the figures of a pipeline as a table."""
    count = len(timing.cores)
    chips = -(-count // machine.cores_per_chip)
    lines = [
        f"{machine.name}: a pipeline of {count} cores on {chips} "
        f"{'chip' if chips == 1 else 'chips'}",
        f"latency       {timing.latency_ns / 1e3:.1f} us for one request",
        f"steady state  {timing.requests_per_s:.1f} requests/s, one each "
        f"{timing.period_ns / 1e3:.1f} us, bound by {timing.bound_by}",
        "",
        "core  chip     run us    link us   busy %  bubble %    HBM bytes   received   resident",
    ]
    for number, (core, busy, sent) in enumerate(
        zip(timing.cores, timing.busy, pipeline.sent, strict=True)
    ):
        lines.append(
            f"{number:4}  {number // machine.cores_per_chip:4}  {core.run_ns / 1e3:9.1f}  "
            f"{core.link_ns / 1e3:9.2f}  {100 * busy:7.1f}  {100 * (1 - busy):8.1f}  "
            f"{core.moved_bytes:11}  {sent:9}  {core.resident_bytes:9}"
        )
    return "\n".join(lines) + "\n"


def run_together(
    args: Namespace, programs: Sequence[Program], names: Sequence[str], timed: Machine
) -> int:
    """Time programs that run at once, each on a core."""
    _refuse(args, "several programs", "trace", "html")
    if args.cores_active != 1:
        raise UsageError("--cores-active is for one program; use --cores")
    try:
        found = time_together(programs, timed)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.report is not None:
        atomic_write(args.report, json.dumps(together_report(found, names, timed), indent=1) + "\n")
    write_stdout(together_text(found, names, timed))
    return OK


def together_report(found: Together, names: Sequence[str], machine: Machine) -> dict[str, object]:
    """Return the figures of programs that run at once."""
    return {
        "machine": machine.name,
        "core_count": len(found.cores),
        "requests_per_s": found.requests_per_s,
        "hbm_percent": [100 * part for part in found.memory],
        "cores": [
            {
                "core": number,
                "chip": number // machine.cores_per_chip,
                "program": name,
                "run_us": core.run_ns / 1e3,
                "requests_per_s": 1e9 / core.run_ns,
                "hbm_bytes": core.moved_bytes,
            }
            for number, (core, name) in enumerate(zip(found.cores, names, strict=True))
        ],
        "assumed_numbers": assumed_numbers(machine),
    }


def together_text(found: Together, names: Sequence[str], machine: Machine) -> str:
    """Format the figures of programs that run at once as a table."""
    count = len(found.cores)
    lines = [
        f"{machine.name}: {count} programs at once on {count} cores",
        f"steady state  {found.requests_per_s:.1f} runs/s in all",
        *(
            f"memory of chip {chip}  {100 * part:.1f} % of {machine.chip_hbm_gbps:.1f} GB/s"
            for chip, part in enumerate(found.memory)
        ),
        "",
        "core  chip     run us      runs/s    HBM bytes  program",
    ]
    for number, (core, name) in enumerate(zip(found.cores, names, strict=True)):
        lines.append(
            f"{number:4}  {number // machine.cores_per_chip:4}  {core.run_ns / 1e3:9.1f}  "
            f"{1e9 / core.run_ns:10.1f}  {core.moved_bytes:11}  {name}"
        )
    return "\n".join(lines) + "\n"

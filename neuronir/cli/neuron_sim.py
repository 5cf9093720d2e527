"""neuron-sim: run a binary on a simulated NeuronCore, compare its results, and report its
timing.
"""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from io import StringIO

from neuronir.cli.neuron_sim_args import NRT_OPTION, build_parser
from neuronir.cli.neuron_sim_info import info_lines, pipeline_lines
from neuronir.cli.neuron_sim_judge import Run, judge
from neuronir.cli.neuron_sim_nan import tell_nan
from neuronir.cli.nrt_status import Ending
from neuronir.cli.program import INTERRUPTED, OK, USER_ERROR, UsageError, guarded
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine, with_cores_active, with_numbers
from neuronir.dialects.support.diagnostics import warning
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.iterations import at_most_iterations
from neuronir.dialects.support.npz import Array, load_npz, npz_bytes
from neuronir.dialects.support.output import atomic_write, check_outputs, write_stdout
from neuronir.targets.encoding.disassembler import disassemble
from neuronir.targets.neff.check import check_machine
from neuronir.targets.neff.pipeline import PipelineNeff, load_any
from neuronir.targets.neff.reader import Neff
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.program_data import choose_inputs, named_outputs, variables_of
from neuronir.version import __version__

Trips = dict[int, list[int]]
"""Trip counts of loops that depend on data, as in a functional result."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron-sim; returns the exit status (1 also when results differ from --expect)."""
    words = list(sys.argv[1:] if argv is None else argv)
    ending = Ending()

    def show(error: NeuronError) -> int:
        ending.error = error
        print(error.render(), file=sys.stderr)
        return USER_ERROR

    status = guarded(
        "neuron-sim", lambda w: _main(w, ending), words, parser=build_parser, on_error=show
    )
    if NRT_OPTION not in words or status == INTERRUPTED:
        return status
    found = ending.status(status)
    write_stdout(f"NRT status: {found.name} ({found.value})\n")
    return found.exit_status


def _main(words: list[str], ending: Ending) -> int:
    args = build_parser().parse_args(words)
    args.ending = ending
    if args.version:
        write_stdout(f"neuron-sim {__version__}\n")
        return OK
    if args.command is None:
        raise UsageError("a command is missing: run, diff, sweep, disasm or info")
    if args.command == "info":
        found = load_any(args.neff)
        lines = pipeline_lines(found) if isinstance(found, PipelineNeff) else info_lines(found)
        write_stdout("".join(f"{line}\n" for line in lines))
        return OK
    if args.command == "disasm":
        _disassemble(args)
        return OK
    if args.command == "diff":
        from neuronir.cli.neuron_sim_diff import compare

        return compare(args)
    if args.command == "sweep":
        from neuronir.cli.neuron_sim_sweep import sweep

        return sweep(args)
    return _run(args)


def _disassemble(args: Namespace) -> None:
    """Print the instructions of a program, or of each stage of a pipeline."""
    engines = _engines(args.engine)
    found = load_any(args.neff)
    if isinstance(found, PipelineNeff):
        for number, program in enumerate(found.pipeline.stages):
            write_stdout(f"stage {number}:\n")
            write_stdout("".join(f"{line}\n" for line in disassemble(program, engines)))
        return
    write_stdout("".join(f"{line}\n" for line in disassemble(found.program, engines)))


def _engines(text: str | None) -> list[Engine] | None:
    if text is None:
        return None
    names = [name.strip().upper() for name in text.split(",")]
    for name in names:
        if name not in Engine.__members__:
            choices = ", ".join(engine.name.lower() for engine in Engine)
            raise UsageError(
                f"--engine: there is no engine '{name.lower()}' (choose from {choices})"
            )
    return [Engine[name] for name in names]


def _run(args: Namespace) -> int:
    for option in ("outputs", "expect", "model", "check_races", "check_nan"):
        if args.timing_only and getattr(args, option):
            flag = option.replace("_", "-")
            raise UsageError(
                f"--timing-only computes no values: --{flag} cannot be combined with it"
            )
    if args.timing_only and args.no_timing:
        raise UsageError("--timing-only and --no-timing leave nothing to do")
    if args.no_timing and (args.trace or args.report or args.html):
        raise UsageError("--trace, --report and --html need timing")
    if args.no_timing and (args.set or args.cores_active != 1):
        raise UsageError(
            "--set and --cores-active are about time: they cannot be combined with --no-timing"
        )
    for option in ("weights", "input_shape", "io_config", "signature"):
        if getattr(args, option) and not args.model:
            raise UsageError(f"--{option.replace('_', '-')} needs --model")
    if not args.expect and (args.rtol is not None or args.atol is not None):
        raise UsageError("--rtol and --atol need --expect")
    if args.check_races and args.dma != "eager":
        raise UsageError("--check-races covers all orders itself: it requires --dma eager")
    check_outputs(args.outputs, args.trace, args.report, args.html)
    if args.html is not None:
        from neuronir.targets.simulator.page.figures import require_bokeh

        require_bokeh()  # before the long run
    files = [load_any(name) for name in args.neff]
    if len(files) > 1 or args.cores is not None:
        return _together(args, files)
    (found,) = files
    if isinstance(found, PipelineNeff):
        from neuronir.cli.neuron_sim_cores import run_stages

        machine = get_target(found.pipeline.machine).machine
        with at_most_iterations(args.max_iterations):
            return run_stages(args, found.pipeline, machine, _timed_machine(args, machine))
    program = found.program
    machine = get_target(program.machine).machine
    check_machine(program, machine, args.neff[0])
    timed = _timed_machine(args, machine)
    status = OK
    trips: Trips | None = None
    if not args.timing_only:
        with at_most_iterations(args.max_iterations):
            status, trips = _numbers(args, program, machine)
    if not args.no_timing:
        _time(args, program, timed, trips)
    return status


def _together(args: Namespace, files: Sequence[Neff | PipelineNeff]) -> int:
    """Run several programs or copies of one, each on its own core."""
    from neuronir.cli.neuron_sim_cores import run_together

    if not args.timing_only:
        raise UsageError("--cores, and several files, are about time: they need --timing-only")
    names, programs = list(args.neff), []
    for name, found in zip(names, files, strict=True):
        if isinstance(found, PipelineNeff):
            raise UsageError(f"{name} is a pipeline over several cores: it runs alone")
        check_machine(found.program, get_target(found.program.machine).machine, name)
        programs.append(found.program)
    machines = {program.machine for program in programs}
    if len(machines) > 1:
        raise UsageError(f"the files are for different machines: {', '.join(sorted(machines))}")
    if args.cores is not None:
        if len(programs) > 1:
            raise UsageError("--cores N runs N copies of one file; several files have a core each")
        programs, names = programs * args.cores, names * args.cores
    machine = get_target(programs[0].machine).machine
    return run_together(args, programs, names, _timed_machine(args, machine))


def _timed_machine(args: Namespace, machine: Machine) -> Machine:
    """Return the machine for the timing: with changed parameters, and with other cores active."""
    changes: dict[str, float] = {}
    for text in args.set:
        name, _, value = text.partition("=")
        try:
            changes[name] = float(value)
        except ValueError:
            raise UsageError(f"--set {text}: expected NAME=VALUE with a number") from None
    try:
        return with_cores_active(with_numbers(machine, changes), args.cores_active)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _numbers(args: Namespace, program: Program, machine: Machine) -> tuple[int, Trips]:
    """Execute the program, write and compare its outputs; return 1 if they differ, and the trip
    counts of its loops.
    """
    from neuronir.targets.simulator.functional import Options, run

    inputs: list[Array] = []
    if args.inputs is not None:
        inputs = choose_inputs(program, load_npz(args.inputs), args.inputs)
    elif variables_of(program, "input"):
        raise UsageError("--inputs is missing: the program has inputs (or use --timing-only)")
    reference = load_npz(args.expect) if args.expect is not None else None
    options = Options(
        uninitialized=args.uninitialized,
        dma_mode=args.dma,
        order=args.order,
        races=args.check_races,
        nan=args.check_nan,
    )
    result = run(program, inputs, machine, options)
    for text in result.warnings:
        warning(text)
    if args.outputs is not None:
        atomic_write(args.outputs, npz_bytes(named_outputs(program, result.outputs)))
    tell_nan(args, program, result.outputs, result.first_nan)
    status = judge(args, Run(program, machine, inputs, result.outputs, options), reference)
    return status, result.trips


def _time(args: Namespace, program: Program, machine: Machine, trips: Trips | None) -> None:
    """Time the program: print the summary, write the report, the page and the trace."""
    from neuronir.targets.simulator.report import build_report
    from neuronir.targets.simulator.summary import print_summary, summary_text
    from neuronir.targets.simulator.timing import simulate_timing

    record = args.trace is not None or args.html is not None
    assumed = args.loop_iterations
    result = simulate_timing(program, machine, record=record, trips=trips, assumed=assumed)
    if result.code.counted and trips is None:
        warning(
            f"the trip counts of {len(result.code.counted)} loops depend on data: {assumed} "
            "iterations are assumed (--loop-iterations)"
        )
    report = build_report(result)
    if args.report is not None:
        atomic_write(args.report, json.dumps(report, indent=1) + "\n")
    if args.html is not None:
        from neuronir.targets.simulator.page.page import report_page

        atomic_write(args.html, report_page(result, report))
    if args.trace is not None:
        from neuronir.targets.simulator.trace import write_trace

        text = StringIO()
        write_trace(result, text)
        atomic_write(args.trace, text.getvalue())
    if sys.stdout.isatty():
        print_summary(report, sys.stdout)
    else:
        write_stdout(summary_text(report))


if __name__ == "__main__":
    sys.exit(main())

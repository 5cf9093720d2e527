"""Judge results: their precision, and whether the compile is correct."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuronir.cli.program import INTERNAL, OK, USER_ERROR
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.compare import Report, compare
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array, load_npz
from neuronir.dialects.support.output import write_stdout
from neuronir.targets.simulator.functional import Options
from neuronir.targets.simulator.noise import judge_precision


@dataclass(frozen=True)
class Run:
    """A run with values: the program, its inputs and its outputs."""

    program: Program
    machine: Machine
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    options: Options


def judge(args: Namespace, run: Run, reference: Mapping[str, Array] | None) -> int:
    """Print the comparisons with --expect and --model; return 1 if an output differs."""
    status = OK
    if args.model is not None:
        # The compiler and its frontends are imported only where they are asked for.
        from neuronir.driver.pass_runner import RunFailure

        try:
            report = _compile_report(args, run)
        except RunFailure as failure:
            print(failure.diagnostic.render({}, args.model), file=sys.stderr)
            return INTERNAL if failure.internal else USER_ERROR
        text = f"the interpreter on {args.model}"
        status = max(status, _say("compile", report, text, "NIR_SIM033"))
    if reference is not None:
        report = _precision_report(args, run, reference)
        status = max(status, _say("precision", report, args.expect, "NIR_SIM032"))
    return status


def _say(kind: str, report: Report, other: str, code: str) -> int:
    lines = "".join(f"{kind}: {line}\n" for line in report.render().splitlines())
    if report.ok:
        write_stdout(f"{lines}all outputs agree with {other}\n")
        return OK
    print(f"{lines}error: [{code}] the outputs differ from {other}", file=sys.stderr)
    return USER_ERROR


def _precision_report(args: Namespace, run: Run, reference: Mapping[str, Array]) -> Report:
    """Compare by the user's tolerance, or else by the rounding noise on these inputs."""
    if args.rtol is not None or args.atol is not None:
        rtol, atol = args.rtol or 0.0, args.atol or 0.0
        return compare(run.outputs, reference, rtol=rtol, atol=atol)
    return judge_precision(
        run.program, run.inputs, run.machine, run.outputs, reference, run.options
    )


def _compile_report(args: Namespace, run: Run) -> Report:
    """Compare with the interpreter on the model, as hlo-auto-cast makes it with the options of the
    program, and that with the model.
    """
    from neuronir.cli.bindings_args import bindings_of
    from neuronir.cli.cc_compile import load_weights
    from neuronir.driver.judge import arguments_of, judge_compile
    from neuronir.driver.specification import specified_as

    entries = load_npz(args.inputs) if args.inputs is not None else {}
    weights = load_weights(args.weights) if args.weights is not None else {}
    specification = specified_as(run.program, args.model, weights, bindings_of(args))
    try:
        arguments = arguments_of(specification.lowered, {**entries, **weights})
    except KeyError as error:
        raise NeuronError(
            "NIR_SIM030",
            f"{args.inputs} lacks {error.args[0]}, an argument of {args.model}",
            help="include the arguments that were bound with --weights",
        ) from None
    return judge_compile(specification, arguments, run.outputs)

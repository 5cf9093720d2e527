"""neuronx-cc: compile a model to a binary for the simulated NeuronCore."""

import platform
import sys
import traceback
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from neuronir import __version__
from neuronir.cli.neuron_opt_reports import statistics_report, timing_report
from neuronir.cli.neuron_opt_run import RunFailure
from neuronir.cli.neuronx_cc_args import (
    ALIASES,
    UsageError,
    build_parser,
    check,
    check_framework,
    level_of,
    normalise,
    remarks,
)
from neuronir.cli.neuronx_cc_messages import Messages
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array, load_npz, unpack
from neuronir.dialects.support.output import write_stdout
from neuronir.driver import PHASES, CompileOptions, compile_file

OK, USER_ERROR, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuronx-cc; returns the exit status."""
    words = normalise(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    messages = Messages()
    try:
        return _main(words, messages)
    except UsageError as error:
        print(f"neuronx-cc: error: {error} (see neuronx-cc --help)", file=sys.stderr)
        return USAGE
    except NeuronError as error:
        if debug:
            traceback.print_exc()
        messages.fail(Diagnostic.from_error(error), {}, None)
        return USER_ERROR
    except KeyboardInterrupt:
        print("neuronx-cc: interrupted, nothing was written", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as finished:  # argparse's --help
        return int(finished.code or 0)
    # The last line of defence: a user never sees a traceback that they did not ask for.
    except Exception as error:
        if debug:
            traceback.print_exc()
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        print(f"neuronx-cc: internal error: {text} (--debug shows where)", file=sys.stderr)
        return INTERNAL


def _main(words: list[str], messages: Messages) -> int:
    args = build_parser().parse_args(words)
    if args.version:
        write_stdout(version_text())
        return OK
    if args.command == "list-operators":
        check_framework(args.framework)
        from neuronir.cli.neuronx_cc_operators import operator_names

        write_stdout("".join(f"{name}\n" for name in operator_names()))
        return OK
    if args.command is None:
        raise UsageError("a command is missing: compile or list-operators")
    messages.level = level_of(args.verbose)
    check(args)
    try:
        return _compile(args, messages)
    except NeuronError as error:
        messages.lines.append(error.render())
        _log_failure(args, messages)
        raise
    except RunFailure as failure:
        if args.debug:
            traceback.print_exc()
        messages.fail(failure.diagnostic, _sources(args.model[0]), args.model[0])
        _log_failure(args, messages)
        return INTERNAL if failure.internal else USER_ERROR


def _sources(path: str) -> dict[str, str]:
    """The text of the model, to point into; none where it cannot be read again (stdin)."""
    try:
        return {path: Path(path).read_text()}
    except (OSError, UnicodeDecodeError):
        return {}


def _log_failure(args: Namespace, messages: Messages) -> None:
    """The log file tells of the failure too; when it cannot be written, the error itself counts."""
    with suppress(NeuronError):
        messages.write_log(args.logfile)


def _compile(args: Namespace, messages: Messages) -> int:
    from neuronir.passes import statistics

    for line in remarks(args):
        messages.say("warning", line)
    target = ALIASES.get(args.target, args.target)
    if target != args.target:
        messages.say("info", f"{args.target} has the core of {target}, which is compiled for")
    options = CompileOptions(
        auto_cast="matmult" if args.auto_cast == "matmul" else args.auto_cast,
        auto_cast_type=args.auto_cast_type,
        optlevel=1 if args.enable_experimental_O1 else args.optlevel,
        weights=load_weights(args.weights) if args.weights else {},
        compile_from=args.compile_from,
        compile_to=args.compile_to,
        dump_phases_to=args.dump_phases_to,
        progress=messages.phase,
    )
    output = args.output or ("file.neff" if args.compile_to == PHASES[-1] else "file.mlir")
    _check_output(output)
    statistics.reset()
    with messages.listening():
        result = compile_file(args.model[0], target, options)
    result.write(output)
    messages.say("info", "Compiler status PASS")
    if args.timing:
        messages.show(100, timing_report(result.timer, "tree"))
    if args.pass_statistics:
        messages.show(100, statistics_report(statistics.snapshot()))
    messages.write_log(args.logfile)
    return OK


def _check_output(output: str) -> None:
    """Say at once, not after minutes, that there is no folder to write to."""
    parent = Path(output).parent
    if not parent.is_dir():
        raise NeuronError(
            "NIR_OUTPUT",
            f"cannot write '{output}': there is no folder '{parent}'",
            help="make the folder first",
        )


def load_weights(path: str) -> dict[str, Array]:
    """The arrays of an npz file by name."""
    entries = load_npz(path)
    return {name: unpack(entries, name) for name in entries if not name.endswith("__dtype")}


def version_text() -> str:
    """What --version prints."""
    import numpy

    return (
        f"NeuronIR neuronx-cc version {__version__}\n\n"
        f"Python version {platform.python_version()}\n"
        f"HWM version {__version__} (NeuronIR's own machine descriptions)\n"
        f"NumPy version {numpy.__version__}\n"
    )


if __name__ == "__main__":
    sys.exit(main())

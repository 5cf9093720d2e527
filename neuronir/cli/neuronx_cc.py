"""neuronx-cc: compile a model to a binary for the simulated NeuronCore."""

import platform
import sys
from collections.abc import Sequence

from neuronir.cli.cc_args import check_framework, with_flags
from neuronir.cli.cc_compile import compile_model
from neuronir.cli.cc_messages import Messages
from neuronir.cli.neuronx_cc_args import (
    ALIASES,
    build_parser,
    check,
    level_of,
    normalise,
    precision,
    remarks,
)
from neuronir.cli.program import OK, USER_ERROR, UsageError, guarded
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import write_stdout
from neuronir.driver.phases import PHASES
from neuronir.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuronx-cc; returns the exit status."""
    messages = Messages()

    def show(error: NeuronError) -> int:
        messages.fail(Diagnostic.from_error(error), {}, None)
        return USER_ERROR

    return guarded(
        "neuronx-cc",
        lambda words: _main(words, messages),
        argv,
        on_error=show,
        interrupted="interrupted, nothing was written",
    )


def _main(words: list[str], messages: Messages) -> int:
    words = with_flags(words, lambda given: build_parser().parse_args(normalise(given)))
    args = build_parser().parse_args(normalise(words))
    if args.version:
        write_stdout(version_text())
        return OK
    if args.command == "list-operators":
        check_framework(args.framework)
        from neuronir.cli.cc_operators import operator_names

        write_stdout("".join(f"{name}\n" for name in operator_names(args.framework)))
        return OK
    if args.command is None:
        raise UsageError("a command is missing: compile or list-operators")
    messages.level = level_of(args.verbose)
    check(args)
    for line in remarks(args):
        messages.say("warning", line)
    target = ALIASES.get(args.target, args.target)
    if target != args.target:
        messages.say("info", f"{args.target} has the core of {target}, which is compiled for")
    args.target = target
    args.optlevel = 1 if args.enable_experimental_O1 else args.optlevel
    args.precision = precision(args)
    args.output = args.output or ("file.neff" if args.compile_to == PHASES[-1] else "file.mlir")
    return compile_model(args, messages)


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

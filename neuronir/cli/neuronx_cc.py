"""neuronx-cc: compile a model to a binary for the simulated NeuronCore."""

import platform
import sys
from collections.abc import Sequence

from neuronir import __version__
from neuronir.cli.neuronx_cc_args import (
    build_parser,
    check,
    check_framework,
    level_of,
    normalise,
)
from neuronir.cli.neuronx_cc_compile import compile_model
from neuronir.cli.neuronx_cc_messages import Messages
from neuronir.cli.program import OK, USER_ERROR, UsageError, guarded
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import write_stdout


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuronx-cc; returns the exit status."""
    messages = Messages()

    def show(error: NeuronError) -> int:
        messages.fail(Diagnostic.from_error(error), {}, None)
        return USER_ERROR

    return guarded(
        "neuronx-cc",
        lambda words: _main(normalise(words), messages),
        argv,
        on_error=show,
        interrupted="interrupted, nothing was written",
    )


def _main(words: list[str], messages: Messages) -> int:
    args = build_parser().parse_args(words)
    if args.version:
        write_stdout(version_text())
        return OK
    if args.command == "list-operators":
        check_framework(args.framework)
        from neuronir.cli.neuronx_cc_operators import operator_names

        write_stdout("".join(f"{name}\n" for name in operator_names(args.framework)))
        return OK
    if args.command is None:
        raise UsageError("a command is missing: compile or list-operators")
    messages.level = level_of(args.verbose)
    check(args)
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

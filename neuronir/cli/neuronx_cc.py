"""neuronx-cc: compile a model to a binary for the simulated NeuronCore."""

import platform
import sys
import traceback
from collections.abc import Sequence

from neuronir import __version__
from neuronir.cli.neuronx_cc_args import (
    UsageError,
    build_parser,
    check,
    check_framework,
    level_of,
    normalise,
)
from neuronir.cli.neuronx_cc_compile import INTERNAL, OK, USER_ERROR, compile_model
from neuronir.cli.neuronx_cc_messages import Messages
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import write_stdout

USAGE, INTERRUPTED = 2, 130


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

"""neuronx-cc: compile a model to a binary for the simulated NeuronCore."""

import platform
import sys
from argparse import Namespace
from collections.abc import Sequence

from neuronir.cli.cc_args import with_flags
from neuronir.cli.cc_messages import Messages
from neuronir.cli.neuronx_cc_args import build_parser, normalise
from neuronir.cli.neuronx_cc_compile import compile_args, guard
from neuronir.cli.program import OK, Parser, UsageError
from neuronir.dialects.support.output import write_stdout
from neuronir.frontends.frameworks import check_framework
from neuronir.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuronx-cc; return the exit status."""
    messages = Messages()
    return guard(lambda words: _main(words, messages), messages, argv)


def _parsed(words: Sequence[str]) -> Namespace:
    """Parse the command line; errors name the options of neuron-cc."""
    parser = build_parser()
    parser.relative = _neuron_cc
    return parser.parse_args(normalise(words))


def _neuron_cc() -> Parser:
    from neuronir.cli import neuron_cc_args

    return neuron_cc_args.build_parser()


def _main(words: list[str], messages: Messages) -> int:
    args = _parsed(with_flags(words, _parsed))
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
    if len(args.model) > 1:
        from neuronir.cli.cc_many import compile_many

        return compile_many(args, messages)
    return compile_args(args, messages)


def version_text() -> str:
    """Return the output of --version."""
    import numpy

    return (
        f"NeuronIR neuronx-cc version {__version__}\n\n"
        f"Python version {platform.python_version()}\n"
        f"HWM version {__version__} (NeuronIR's own machine descriptions)\n"
        f"NumPy version {numpy.__version__}\n"
    )


if __name__ == "__main__":
    sys.exit(main())

"""neuron-cc: compile a model for Inferentia, with the options of its published compiler."""

import platform
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

from neuronir.cli.cc_args import LEVELS, with_flags
from neuronir.cli.cc_compile import compile_model
from neuronir.cli.cc_messages import Messages, fault_block
from neuronir.cli.neuron_cc_args import (
    build_parser,
    check,
    normalise,
    precision,
    remarks,
    settle,
)
from neuronir.cli.neuron_cc_refused import names_of, warnings_of_refusal
from neuronir.cli.program import OK, USER_ERROR, Parser, UsageError, guarded
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import make_folder, write_stdout
from neuronir.frontends.frameworks import check_framework
from neuronir.version import __version__

if TYPE_CHECKING:
    from neuronir.driver import CompiledResult

PROGRAM = "neuron-cc"


_UNKNOWN = "NCC_EUOC002"
"""The error of operators that are not known."""


@dataclass
class _Messages(Messages):
    """Messages with the texts of neuron-cc."""

    program: str = PROGRAM
    words: list[str] = field(default_factory=list)

    def fail(self, diagnostic: Diagnostic, source: dict[str, str], name: str | None) -> None:
        """Emit an error; unsupported operators are warnings before it, one for each."""
        head, *lines = diagnostic.text.splitlines()
        refused = list(warnings_of_refusal(diagnostic.text))
        for text in refused:
            self.say("warning", text)
        if refused and head.startswith(f"[{_UNKNOWN}]"):
            head = (
                f"[{_UNKNOWN}] The following operators are not implemented: {{{names_of(lines)}}}"
            )
        if refused:
            diagnostic = replace(diagnostic, text=head.removesuffix(":"))
        # Passes and frontends name neuronx-cc, which has the same command.
        advice = (diagnostic.help or "").replace("neuronx-cc list-", f"{PROGRAM} list-")
        super().fail(replace(diagnostic, help=advice or None), source, name)

    def fault(self, error: Exception) -> None:
        """Print the block for an internal error."""
        self.show(LEVELS["critical"], fault_block(error, [PROGRAM, *self.words], version_text()))

    def compiled(self, result: "CompiledResult") -> None:
        """Check the program and emit warnings about it."""
        if result.program is None:
            return
        from neuronir.cli.neuron_cc_checks import check_program, warnings_of

        check_program(result.program)
        for text in warnings_of(result.program, result.target.machine):
            self.heard.append((LEVELS["warning"], f"warning: {text}"))
            self.show(*self.heard[-1])


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron-cc; returns the exit status."""
    messages = _Messages()

    def body(words: list[str]) -> int:
        messages.words = words
        return _main(words, messages)

    return _guarded(body, messages, argv)


def compile_request(given: Mapping[str, Any], messages: Messages) -> int:
    """Compile one model with these options (`vars` of the parser's result); always returns an exit
    status.
    """
    return _guarded(lambda words: compile_args(Namespace(**given), messages), messages, [])


def messages_of() -> Messages:
    """Create the messages of a compile with this program."""
    return _Messages()


def _guarded(
    body: Callable[[list[str]], int], messages: Messages, argv: Sequence[str] | None
) -> int:
    def show(error: NeuronError) -> int:
        messages.fail(Diagnostic.from_error(error), {}, None)
        return USER_ERROR

    return guarded(
        PROGRAM,
        body,
        argv,
        parser=build_parser,
        on_error=show,
        on_fault=lambda error, words: messages.fault(error),
        interrupted="interrupted, nothing was written",
    )


def _parsed(words: Sequence[str]) -> Namespace:
    """Parse the command line; errors name the options of neuronx-cc."""
    parser = build_parser()
    parser.relative = _neuronx_cc
    return parser.parse_args(normalise(words))


def _neuronx_cc() -> Parser:
    from neuronir.cli import neuronx_cc_args

    return neuronx_cc_args.build_parser()


def _main(words: list[str], messages: Messages) -> int:
    args = _parsed(with_flags(words, _parsed))
    if args.version:
        write_stdout(version_text())
        return OK
    messages.level = args.verbose
    if args.command == "list-operators":
        return _list_operators(args.framework, messages)
    if args.command is None:
        raise UsageError("a command is missing: compile or list-operators")
    return compile_args(args, messages)


def compile_args(args: Namespace, messages: Messages) -> int:
    """Compile a model with these options; return the exit status."""
    args.given = dict(vars(args))  # for a cache that collects models
    messages.level = args.verbose
    check(args)
    for line in remarks(args):
        messages.say("warning", line)
    args.precision = precision(args)
    settle(args)
    if args.workdir is not None:
        make_folder(args.workdir)
    return compile_model(args, messages)


def _list_operators(framework: str, messages: Messages) -> int:
    if framework.upper() != "MXNET":
        check_framework(framework)
    else:
        messages.say(
            "warning",
            "neuron-cc compiled these MXNet operators; here no MXNet model is compiled: export it "
            "to ONNX (mxnet.onnx.export_model) and see list-operators --framework ONNX",
        )
    from neuronir.cli.cc_operators import operator_names

    write_stdout("".join(f"{name}\n" for name in operator_names(framework)))
    return OK


def version_text() -> str:
    """Return the output of -V."""
    from neuronir.targets.neff.header import VERSION_MAJOR, VERSION_MINOR

    return (
        f"NeuronIR neuron-cc version {__version__}\n\n"
        f"Python version {platform.python_version()}\n"
        f"HWM version {__version__} (NeuronIR's own machine descriptions)\n"
        f"NEFF version {VERSION_MAJOR}.{VERSION_MINOR}\n"
        "TVM not available\n"
        f"NumPy version {metadata.version('numpy')}\n"
        "MXNet not available\n"
        f"TF {_version_of('tensorflow')}\n"
    )


def _version_of(package: str) -> str:
    for name in (package, f"{package}-cpu"):
        try:
            return f"version {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return "not available"


if __name__ == "__main__":
    sys.exit(main())

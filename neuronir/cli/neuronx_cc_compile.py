"""neuronx-cc's compile of one model, from its options to its exit status."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neuronir.cli.cc_compile import compile_model
from neuronir.cli.cc_messages import Messages
from neuronir.cli.neuronx_cc_args import ALIASES, build_parser, check, precision, remarks
from neuronir.cli.program import USER_ERROR, guarded
from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.phases import PHASES


def compile_request(given: Mapping[str, Any], messages: Messages) -> int:
    """Compile one model with these options (`vars` of the parser's result); always returns an exit
    status.
    """
    return guard(lambda words: compile_args(Namespace(**given), messages), messages, [])


def guard(body: Callable[[list[str]], int], messages: Messages, argv: Sequence[str] | None) -> int:
    """Run neuronx-cc's body on its arguments; always returns an exit status."""

    def show(error: NeuronError) -> int:
        messages.fail(Diagnostic.from_error(error), {}, None)
        return USER_ERROR

    return guarded(
        "neuronx-cc",
        body,
        argv,
        parser=build_parser,
        on_error=show,
        interrupted="interrupted, nothing was written",
    )


def compile_args(args: Namespace, messages: Messages) -> int:
    """Compile one model with these options; return the exit status."""
    args.given = dict(vars(args))  # for a cache that collects models
    messages.level = args.verbose
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

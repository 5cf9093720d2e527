"""Define the command line of neuron-opt, with the options of mlir-opt."""

import argparse
import re
from collections.abc import Container, Sequence

from neuronir.cli.bindings_args import add_bindings
from neuronir.cli.program import Parser, UsageError
from neuronir.frontends.models import FRONTENDS

# Options with an optional value; argparse would otherwise take the input file as the value.
_OPTIONAL_VALUE = {
    "--print-ir-before": "*",
    "--print-ir-after": "*",
    "--timing": "tree",
    "--verify-each": "1",
    "--run": "hlo",
}
_RENAMED = {
    "--print-ir-before-all": "--print-ir-before=*",
    "--print-ir-after-all": "--print-ir-after=*",
    "--pass-pipeline-crash-reproducer": "--crash-reproducer",
    "--pass-pipeline-local-reproducer": "--local-reproducer",
    "--print-debuginfo": "--mlir-print-debuginfo",
    "--show-dialects": "--list-dialects",
    "--print-stacktrace-on-diagnostic": "--stacktrace-on-diagnostic",
    "--time-passes": "--timing=tree",
}
# Accepted for mlir-opt; dumps here are always of the whole module.
_NO_EFFECT = {"--print-ir-module-scope"}


def build_parser() -> Parser:
    """Add the options, in groups."""
    parser = Parser(
        prog="neuron-opt",
        allow_abbrev=False,
        description="Read IR (MLIR, HLO or StableHLO text), run passes on it, and print the "
        "result. The IR goes to stdout, everything else goes to stderr.",
        epilog="Each pass is also an option: --canonicalize. "
        "Options of mlir-opt are also accepted with the prefix mlir-. "
        "Exit status: 0 success, 1 error in the input, 2 invalid usage, 70 internal error.",
    )
    parser.add_argument("input", nargs="?", default="-", help="input file (default: stdin)")
    parser.add_argument("--version", action="store_true", help="print the versions and exit")
    _add_pipeline(parser.add_argument_group("passes"))
    _add_io(parser.add_argument_group("input and output"))
    _add_dumps(parser.add_argument_group("printing IR and statistics"))
    _add_checks(parser.add_argument_group("verification and reproducers"))
    _add_lists(parser.add_argument_group("lists"))
    return parser


def _add_pipeline(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-p",
        "--passes",
        "--pass-pipeline",
        dest="passes",
        type=str,
        metavar="PIPELINE",
        help="'pass-a,pass-b{opt=1}', 'builtin.module(func.func(pass-a))', "
        "'@NAME' for a named pipeline",
    )
    group.add_argument("--pipeline", metavar="NAME", help="run the named pipeline NAME")
    group.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="FILE.py",
        help="load a Python file that defines PASSES, DIALECTS or TARGETS",
    )
    group.add_argument(
        "--run",
        metavar="WHERE",
        help="after the passes, evaluate functions without arguments and their checks with the "
        "reference semantics; --run=TARGET[:PHASE] also compiles and executes them; an nc module "
        "is executed as it is",
    )
    group.add_argument(
        "--inputs",
        metavar="FILE.npz",
        help="with --run, run @main on these arrays (arg0, arg1, ..., or by name)",
    )
    group.add_argument(
        "--outputs",
        metavar="FILE.npz",
        help="with --run, write the results of @main (out0, out1, ...)",
    )


def _add_io(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-o", "--output", metavar="FILE", help="output file (default: stdout)")
    group.add_argument(
        "-t",
        "--target",
        default="mlir",
        metavar="FORMAT",
        help="output format: mlir (default), hlo, or one of a plugin",
    )
    group.add_argument(
        "-f",
        "--frontend",
        choices=["mlir", "hlo", "stablehlo", *FRONTENDS],
        help="input format (default: by file extension and content)",
    )
    add_bindings(group)
    group.add_argument(
        "--split-input-file",
        action="store_true",
        help="treat the parts between '// -----' lines as separate inputs",
    )
    group.add_argument(
        "--allow-unregistered-dialect", action="store_true", help="accept unknown dialects"
    )
    group.add_argument(
        "--no-implicit-module", action="store_true", help="require a top-level builtin.module"
    )
    group.add_argument("--print-op-generic", action="store_true", help="print the generic form")
    group.add_argument("--mlir-print-debuginfo", action="store_true", help="print source locations")
    group.add_argument(
        "--elide-elementsattrs-if-larger",
        type=int,
        metavar="N",
        help="elide constants with more than N elements (default: no limit; 64 on a terminal)",
    )


def _add_dumps(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--print-ir-before",
        metavar="PASS,...",
        help="dump the IR before these passes (default: all)",
    )
    group.add_argument(
        "--print-ir-after", metavar="PASS,...", help="dump the IR after these passes (default: all)"
    )
    group.add_argument(
        "--print-ir-after-change",
        action="store_true",
        help="dump the IR after each pass that changed it",
    )
    group.add_argument(
        "--print-ir-after-failure", action="store_true", help="dump the IR if a pass fails"
    )
    group.add_argument("--print-ir-tree-dir", metavar="DIR", help="write the dumps to files in DIR")
    group.add_argument("--timing", choices=["list", "tree"], help="print the time of each pass")
    group.add_argument(
        "--pass-statistics", action="store_true", help="print the statistics of the passes"
    )
    group.add_argument("--dump-pass-pipeline", action="store_true", help="print the pipeline")


def _add_checks(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--verify-each",
        choices=["0", "1", "false", "true"],
        default="1",
        help="verify after each pass (default 1)",
    )
    group.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="check messages against 'expected-error {{...}}' comments",
    )
    group.add_argument(
        "--crash-reproducer",
        metavar="FILE",
        help="file for the IR and the pipeline if a pass fails",
    )
    group.add_argument(
        "--local-reproducer",
        action="store_true",
        help="let the reproducer start before the failing pass",
    )
    group.add_argument(
        "--run-reproducer", action="store_true", help="run the pipeline in the input, a reproducer"
    )
    group.add_argument(
        "--debug",
        "--stacktrace-on-diagnostic",
        dest="debug",
        action="store_true",
        help="show tracebacks",
    )


def _add_lists(group: argparse._ArgumentGroup) -> None:
    for what in ("passes", "dialects", "targets", "pipelines"):
        group.add_argument(f"--list-{what}", action="store_true", help=f"list the {what} and exit")
    group.add_argument(
        "--doc-passes",
        action="store_true",
        help="print the documentation of NeuronIR's passes as Markdown and exit",
    )
    group.add_argument(
        "--help-pass", metavar="NAME", help="print the documentation of a pass and exit"
    )
    group.add_argument(
        "--explain",
        metavar="CODE",
        help="print the cause of an error code, and what to do, and exit",
    )


def loaded_files(argv: Sequence[str]) -> list[str]:
    """Return the files of --load before other options are parsed: they may define passes."""
    files = []
    for word, following in zip(argv, [*argv, ""][1:], strict=True):
        if word in ("--load", "-load"):
            files.append(following)
        elif match := re.fullmatch(r"--?load=(.*)", word):
            files.append(match[1])
    return [file for file in files if file]


def normalise(
    parser: argparse.ArgumentParser, argv: Sequence[str], passes: Container[str]
) -> list[str]:
    """Rewrite mlir-opt syntax for argparse."""
    known = {option for action in parser._actions for option in action.option_strings}
    words: list[str] = []
    as_options: list[str] = []
    for word in argv:
        spelt, equals, value = word.partition("=")
        name = _long_name(spelt, known, passes)
        if name is None:
            words.append(word)
        elif name[2:] in passes and name not in known:
            as_options.append(f"{name[2:]}{{{value}}}" if value else name[2:])
        elif name in _NO_EFFECT:
            continue
        elif not equals and name in _OPTIONAL_VALUE:
            words.append(f"{name}={_OPTIONAL_VALUE[name]}")
        else:
            words.append(name + equals + value)
    if as_options:
        words.append(f"--passes={','.join(as_options)}")
        if any(w in ("-p", "--passes", "--pass-pipeline") for w in words[:-1]) or any(
            w.startswith(("--passes=", "--pass-pipeline=")) for w in words[:-1]
        ):
            raise UsageError("give passes either as options or as a pipeline, not both")
    return words


def _long_name(spelt: str, known: set[str], passes: Container[str]) -> str | None:
    """Return the option of a word, after renaming; None if it is not a long option."""
    match = re.fullmatch(r"--?(mlir-)?([a-z0-9][a-z0-9-]+)", spelt)
    if match is None:
        return None
    for name in dict.fromkeys([f"--{match[1] or ''}{match[2]}", f"--{match[2]}"]):
        name = _RENAMED.get(name, name)
        if name.partition("=")[0] in known or name in _NO_EFFECT:
            return name
    return f"--{match[2]}" if match[2] in passes and match[1] is None else None

"""Define neuron-cc's command line: the options of the Inferentia compiler.

Each option is implemented, accepted with a warning that it has no effect, or rejected by name.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from neuronir.cli.cc_args import (
    SHARED_NO_EFFECT,
    NoEffect,
    add_cores,
    add_neuron_cc_precision,
    add_optlevel,
    add_shared,
    check_cores,
    joined,
    level_of,
    no_effect_remarks,
)
from neuronir.cli.program import Parser, UsageError
from neuronir.cli.values import count, one_of
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.phases import PHASES
from neuronir.driver.precision import Precision, precision_of
from neuronir.frontends.frameworks import FRAMEWORKS, check_framework

TARGET = "inf1"
OUTPUT, IR_OUTPUT = "out.neff", "out.mlir"
LOG = "log-neuron-cc.txt"
"""The log's name in the folder of --workdir."""
LISTED = (*FRAMEWORKS, "MXNET")
"""Frameworks whose operators are listed."""

NO_EFFECT = (
    *SHARED_NO_EFFECT,
    NoEffect(("--batching_en", "--batching-en"), "batches are split if that is faster"),
    NoEffect(("--rematerialization_en", "--rematerialization-en"), "the compiler decides this"),
    NoEffect(("--spill_dis", "--spill-dis"), "values are spilled only if they do not fit"),
    NoEffect(("--sb_size", "--sb-size"), "the machine determines the size of SBUF", 1, count(1)),
    NoEffect(("--enable-replication",), "the compiler decides this", 1, one_of("true", "false")),
    NoEffect(("--extract-weights",), "use --weights to keep weights in a separate file", 1),
)
_PIPELINE = ("compile", "SaveTemps")


def build_parser() -> Parser:
    """Create the parser of both commands."""
    parser = Parser(
        prog="neuron-cc",
        description="Compile a model for a NeuronCore of Inferentia (Inf1).",
        allow_abbrev=False,
    )
    parser.add_argument("--version", "-V", action="store_true", help="print versions and exit")
    _add_level(parser, "warning")
    commands = parser.add_subparsers(dest="command", metavar="<command>", parser_class=Parser)
    compile_ = commands.add_parser("compile", help="compile a model", allow_abbrev=False)
    _add_compile(compile_)
    operators = commands.add_parser(
        "list-operators", help="list the supported operators", allow_abbrev=False
    )
    operators.add_argument("--framework", default="XLA", metavar="NAME", help=", ".join(LISTED))
    for command in (compile_, operators):
        _add_level(command, argparse.SUPPRESS)
    return parser


def _add_level(p: argparse.ArgumentParser, default: str) -> None:
    p.add_argument(
        "--verbose",
        "--log-level",
        "-v",
        type=level_of,
        metavar="LEVEL",
        default=default,
        help="DEBUG, INFO, WARN (default), ERROR, or a number such as 35",
    )


def _add_compile(p: argparse.ArgumentParser) -> None:
    p.description = f"Compile a model to a NEFF-style binary for {TARGET}."
    p.add_argument(
        "model",
        nargs="+",
        metavar="MODEL",
        help="frozen graph (.pb), SavedModel folder, .onnx file, HLO or StableHLO text, "
        "or HloModuleProto (- reads stdin)",
    )
    p.add_argument("--framework", required=True, metavar="NAME", help=", ".join(FRAMEWORKS))
    p.add_argument("--output", "-o", metavar="FILE", help=f"output file (default: {OUTPUT})")
    p.add_argument(
        "--workdir", metavar="DIR", help=f"folder for the log ({LOG}) and the files of SaveTemps"
    )
    p.add_argument(
        "--pipeline",
        nargs="+",
        metavar="STEP",
        help="compile; SaveTemps also writes the IR after each phase",
    )
    g = p.add_argument_group("precision")
    add_neuron_cc_precision(g)
    g = p.add_argument_group("optimisation")
    add_optlevel(g)
    add_cores(g)
    g.add_argument("--dynamic-batch-size", action="store_true", help=argparse.SUPPRESS)
    add_shared(p, NO_EFFECT)
    p.set_defaults(target=TARGET, native_int64="default")


def normalise(words: Sequence[str]) -> list[str]:
    """Join the keywords of --fast-math to one value."""
    return joined(words)


def precision(args: argparse.Namespace) -> Precision:
    """Return the requested precision."""
    return precision_of(args.fast_math or (), args.fp32_cast)


def remarks(args: argparse.Namespace) -> list[str]:
    """Return one line for each given option without effect."""
    lines = no_effect_remarks(args, NO_EFFECT)
    given = [w for w in args.fast_math or () if w.startswith("fp32-cast-")]
    if args.fp32_cast and given and given[0] != f"fp32-cast-{args.fp32_cast}":
        lines.append(f"--fp32-cast {args.fp32_cast} overrides {given[0]} of --fast-math")
    return lines


def check(args: argparse.Namespace) -> None:
    """Reject unsupported options by name."""
    check_framework(args.framework)
    if len(args.model) > 1:
        raise UsageError(f"one model is compiled at a time, {len(args.model)} were given")
    check_cores(args)
    for step in args.pipeline or ():
        if step not in _PIPELINE:
            raise NeuronError(
                "NIR_ARG002",
                f"--pipeline {step} is not supported",
                help="steps: " + ", ".join(_PIPELINE) + "; --compile-from starts from a phase",
            )
    if args.dynamic_batch_size:
        raise NeuronError(
            "NIR_ARG002",
            "--dynamic-batch-size is not supported: shapes are static",
            help="compile one binary for each batch size",
        )


def settle(args: argparse.Namespace) -> None:
    """Set the options that follow from others: names of files and folders."""
    if args.output is None:
        args.output = OUTPUT if args.compile_to == PHASES[-1] else IR_OUTPUT
    args.model = [_path(name) for name in args.model]
    if args.workdir is not None:
        args.logfile = args.logfile or str(Path(args.workdir) / LOG)
    if "SaveTemps" in (args.pipeline or ()) and args.dump_phases_to is None:
        args.dump_phases_to = args.workdir or f"{args.output}.temps"


def _path(name: str) -> str:
    """Return the path of a `file:` URI; other names are paths already."""
    return unquote(urlsplit(name).path) if name.startswith("file:") else name

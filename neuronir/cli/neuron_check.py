"""neuron-check: report whether a model compiles, for which targets, and unsupported operators."""

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from neuronir.cli.bindings_args import add_bindings, bindings_of
from neuronir.cli.neuronx_cc_args import ALIASES
from neuronir.cli.program import INTERNAL, OK, USER_ERROR, Parser, UsageError, guarded
from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.dialects.support.output import check_outputs, write_stdout
from neuronir.driver.check import Report, check_model
from neuronir.driver.options import CompileOptions
from neuronir.targets.registry import own_targets
from neuronir.version import __version__

if TYPE_CHECKING:
    from neuronir.accuracy import Step


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron-check; the exit status is 1 if no target can compile the model."""
    return guarded("neuron-check", _main, argv, parser=build_parser)


def build_parser() -> Parser:
    """Create the command-line parser."""
    parser = Parser(
        prog="neuron-check",
        description="Report the targets that support a model, and its unsupported operators.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"neuron-check {__version__}")
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="HLO or StableHLO text, .onnx file, frozen graph or SavedModel folder",
    )
    parser.add_argument(
        "--framework", metavar="NAME", help="format of MODEL (default: by file name)"
    )
    parser.add_argument(
        "--target",
        action="append",
        metavar="NAME",
        help=f"check this target; may be repeated (default: {', '.join(own_targets())})",
    )
    parser.add_argument(
        "--operators-only",
        action="store_true",
        help="check the operators only, without compiling the model",
    )
    parser.add_argument("--show-names", action="store_true", help="also list the nodes")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    group = parser.add_argument_group("accuracy")
    group.add_argument(
        "--accuracy",
        action="store_true",
        help="print the simulated time and the error of each precision",
    )
    group.add_argument(
        "--localize",
        action="store_true",
        help="find the first op whose compiled values differ from those of the interpreter",
    )
    group.add_argument(
        "--inputs",
        metavar="FILE.npz",
        help="inputs for --localize, and for --accuracy (default there: random values)",
    )
    group.add_argument(
        "--auto-cast",
        choices=("none", "matmult", "all"),
        help="precision of --localize (default: matmult)",
    )
    group.add_argument(
        "--first", metavar="FIRST.npz", help="file for the operands of the first wrong op"
    )
    group.add_argument("--weights", metavar="FILE.npz", help="bind these inputs as constants")
    add_bindings(parser.add_argument_group("unknown shapes"))
    return parser


def _main(words: list[str]) -> int:
    from neuronir.driver.pass_runner import RunFailure

    args = build_parser().parse_args(words)
    options = CompileOptions(bindings=bindings_of(args), framework=args.framework)
    args.target = args.target and [ALIASES.get(name, name) for name in args.target]
    check_outputs(args.first)
    if args.localize:
        _refuse_with(args, "--localize", "operators_only", "show_names", "json")
        from neuronir.cli.neuron_check_localize import localized

        return localized(args, options)
    _check_uses(args)
    if args.accuracy:
        return _accuracy(args, options)
    try:
        targets = args.target or own_targets()
        with handling(_warn):
            report = check_model(args.model, targets, options, lower=not args.operators_only)
    except RunFailure as failure:
        print(failure.diagnostic.render({}, args.model), file=sys.stderr)
        return INTERNAL if failure.internal else USER_ERROR
    write_stdout(json_text(report) if args.json else table_text(report, args.show_names))
    return OK if any(report.supported(target) for target in report.targets) else USER_ERROR


def _check_uses(args: Namespace) -> None:
    """Raise UsageError for options that would have no effect without others, or with them."""
    if args.auto_cast or args.first:
        raise UsageError("--auto-cast and --first need --localize")
    if not args.accuracy and (args.inputs or args.weights):
        raise UsageError("--inputs and --weights need --accuracy or --localize")
    if args.accuracy:
        _refuse_with(args, "--accuracy", "operators_only", "show_names")


def _refuse_with(args: Namespace, option: str, *others: str) -> None:
    for other in others:
        if getattr(args, other):
            flag = other.replace("_", "-")
            raise UsageError(f"--{flag} cannot be combined with {option}")


def _accuracy(args: Namespace, options: CompileOptions) -> int:
    """Print the precisions of a model for each target; return 1 if none compiles."""
    from neuronir.accuracy import ladder
    from neuronir.cli.cc_compile import load_weights

    if args.weights:
        options = replace(options, weights=load_weights(args.weights))
    inputs = None if args.inputs is None else load_weights(args.inputs)
    targets = args.target or own_targets()
    with handling(_warn):
        found = {target: ladder(args.model, target, inputs, options) for target in targets}
    if args.json:
        whole = {target: [asdict(step) for step in steps] for target, steps in found.items()}
        write_stdout(json.dumps({"model": args.model, "accuracy": whole}, indent=1) + "\n")
    else:
        how = "random inputs" if inputs is None else args.inputs
        head = f"error over the largest |result| in fp32, with {how}\n"
        write_stdout(head + "".join(accuracy_text(*entry) for entry in found.items()))
    steps = (step for entry in found.values() for step in entry)
    return OK if any(step.refused is None for step in steps) else USER_ERROR


def _warn(message: Message) -> None:
    """Show warnings; hide remarks, because the user did not request these compiles."""
    if message.severity == "warning":
        print(message.render(), file=sys.stderr)


def accuracy_text(target: str, steps: Sequence["Step"]) -> str:
    """Format the precisions for a target as a table, fastest first."""
    wide = max(len(step.options) for step in steps)
    lines = ["", f"{target:{wide}}     time us  max error  mean error"]
    for s in steps:
        rest = f"{s.time_us:10.1f}  {s.max_error:9.1e}  {s.mean_error:10.1e}"
        lines.append(f"{s.options:{wide}}  {s.refused or rest}")
    return "\n".join(lines) + "\n"


def json_text(report: Report) -> str:
    """Format the report as JSON."""
    operators = [
        {
            "operator": o.name,
            "count": o.count,
            "nodes": o.nodes,
            "supported": {t: t not in o.why for t in report.targets},
            "why_not": o.why,
        }
        for o in report.operators
    ]
    supported = {target: report.supported(target) for target in report.targets}
    whole = {
        "model": report.model,
        "supported": supported,
        "refused": report.refused,
        "operators": operators,
    }
    return json.dumps(whole, indent=1) + "\n"


def table_text(report: Report, names: bool = False) -> str:
    """Format the report as a table, one line per operator, followed by the reasons."""
    wide = max([len(o.name) for o in report.operators] + [len("operator")])
    heads = "  ".join(f"{t:5}" for t in report.targets)
    lines = [f"{'operator':{wide}}  count  {heads}".rstrip()]
    for o in report.operators:
        marks = "  ".join(f"{'no' if t in o.why else 'yes':5}" for t in report.targets)
        lines.append(f"{o.name:{wide}}  {o.count:5}  {marks}".rstrip())
        if names:
            lines += [f"    {node}" for node in o.nodes]
    for target in report.targets:
        bad = report.unsupported(target)
        if not bad:
            lines.append(f"{target}: all operators are supported")
            if target in report.refused:
                lines[-1] += f", but the program is not: {report.refused[target]}"
            continue
        lines.append(f"{target}: {len(bad)} of {len(report.operators)} operators are not supported")
        lines += [f"  {o.name}: {o.why[target]}" for o in bad]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

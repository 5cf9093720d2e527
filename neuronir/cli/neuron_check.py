"""neuron-check: whether a model can be compiled, for which targets, and which operators can not."""

import json
import sys
from collections.abc import Sequence

from neuronir import __version__
from neuronir.cli.bindings_args import add_bindings, bindings_of
from neuronir.cli.program import INTERNAL, OK, USER_ERROR, Parser, guarded
from neuronir.dialects.support.output import write_stdout
from neuronir.driver.check import Report, check_model
from neuronir.driver.options import CompileOptions


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron-check; the exit status is 1 where no target takes the model."""
    return guarded("neuron-check", _main, argv)


def build_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="neuron-check",
        description="Say for which targets a model can be compiled, and which operators can not.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"neuron-check {__version__}")
    parser.add_argument(
        "model", metavar="MODEL", help="HLO text, .onnx, a frozen graph, a SavedModel"
    )
    parser.add_argument("--framework", metavar="NAME", help="where the file's name does not tell")
    parser.add_argument(
        "--target", action="append", metavar="NAME", help="check this target (default: trn1, inf1)"
    )
    parser.add_argument(
        "--operators-only",
        action="store_true",
        help="do not see whether the program of supported operators compiles: quick",
    )
    parser.add_argument("--show-names", action="store_true", help="list the nodes, too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_bindings(parser.add_argument_group("what the model leaves open"))
    return parser


def _main(words: list[str]) -> int:
    from neuronir.cli.neuron_opt_run import RunFailure

    args = build_parser().parse_args(words)
    options = CompileOptions(bindings=bindings_of(args), framework=args.framework)
    try:
        targets = args.target or ("trn1", "inf1")
        report = check_model(args.model, targets, options, lower=not args.operators_only)
    except RunFailure as failure:
        print(failure.diagnostic.render({}, args.model), file=sys.stderr)
        return INTERNAL if failure.internal else USER_ERROR
    write_stdout(json_text(report) if args.json else table_text(report, args.show_names))
    return OK if any(report.supported(target) for target in report.targets) else USER_ERROR


def json_text(report: Report) -> str:
    """The report as JSON."""
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
    """The report as a table, one line an operator; reasons follow below it."""
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

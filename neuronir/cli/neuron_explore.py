"""neuron-explore: show the IR of a compile before and after each pass."""

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuronir.cli.bindings_args import add_bindings, bindings_of
from neuronir.cli.cc_args import add_optlevel, add_user_passes
from neuronir.cli.neuronx_cc_args import ALIASES
from neuronir.cli.program import INTERNAL, OK, USER_ERROR, Parser, UsageError, guarded
from neuronir.cli.values import count
from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.output import atomic_write, check_outputs, write_stdout
from neuronir.driver.options import TILINGS, CompileOptions
from neuronir.driver.phases import PHASES, phase_number
from neuronir.driver.precision import CAST_TYPES
from neuronir.version import __version__

if TYPE_CHECKING:
    from neuronir.explore.record import Recording

PAGE_LINES = 200_000
"""Default limit of different lines of a page."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run neuron-explore; the exit status is 1 if the model does not compile."""
    return guarded("neuron-explore", _main, argv, parser=build_parser)


def build_parser() -> Parser:
    """Create the command-line parser."""
    parser = Parser(
        prog="neuron-explore",
        description="Show the IR of a compile before and after each pass: in the terminal, or as a "
        "page or a list.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"neuron-explore {__version__}")
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="HLO or StableHLO text, .onnx file, frozen graph, SavedModel, or IR",
    )
    parser.add_argument(
        "--framework", metavar="NAME", help="format of MODEL (default: by file name)"
    )
    parser.add_argument(
        "--target", default="trn1", metavar="NAME", help="target of the compile (default: trn1)"
    )
    g = parser.add_argument_group("what to show")
    g.add_argument("--html", metavar="OUT.html", help="write a page, instead of the terminal")
    g.add_argument(
        "--list", action="store_true", help="print one line for each pass, instead of the terminal"
    )
    g.add_argument(
        "--phases", metavar="NAME,...", help="only the passes of these phases: " + ", ".join(PHASES)
    )
    g.add_argument("--changed", action="store_true", help="list only passes that change the IR")
    g.add_argument(
        "--max-lines",
        type=count(1),
        default=PAGE_LINES,
        metavar="N",
        help="leave out phases beyond N different lines of IR in the page "
        f"(default: {PAGE_LINES:,})",
    )
    g = parser.add_argument_group("compile")
    g.add_argument(
        "--auto-cast",
        choices=("none", "matmult", "all"),
        default="matmult",
        help="fp32 operations to run in a narrower type (default: matmult)",
    )
    g.add_argument(
        "--auto-cast-type",
        choices=tuple(CAST_TYPES),
        default="bf16",
        help="the narrower type (default: bf16)",
    )
    add_optlevel(g)
    g.add_argument(
        "--tiling",
        choices=TILINGS,
        default=TILINGS[0],
        help="use phase tiled if it makes the program faster, always, or never",
    )
    g.add_argument("--compile-from", metavar="PHASE", default=PHASES[0], help="phase of the input")
    g.add_argument("--compile-to", metavar="PHASE", default=PHASES[-1], help="last phase")
    g.add_argument("--weights", metavar="FILE.npz", help="bind these inputs as constants")
    add_bindings(g)
    add_user_passes(g)
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


def _main(words: list[str]) -> int:
    from neuronir.explore.record import explore

    args = build_parser().parse_args(words)
    args.target = ALIASES.get(args.target, args.target)
    phases = _phases(args)
    check_outputs(args.html)
    terminal = args.html is None and not args.list
    if terminal:
        _check_terminal()  # before the long run
    if args.changed and not args.list:
        raise UsageError("--changed needs --list (a page has a switch for it)")
    with handling(_warn):
        recording = explore(args.model, args.target, _options(args))
        if phases is not None:
            recording = _selected(recording, phases)
        if recording.steps:
            _write(args, recording)
    if terminal and recording.steps:
        from neuronir.explore.app import Explorer

        Explorer(recording).run()
    if recording.failure is None:
        return OK
    print(recording.failure.diagnostic.render({}, args.model), file=sys.stderr)
    return INTERNAL if recording.failure.internal else USER_ERROR


def _phases(args: Namespace) -> list[str] | None:
    """Return the phases to show; raises NIR_DRV001 for an unknown one."""
    if args.phases is None:
        return None
    names = [name.strip() for name in args.phases.split(",")]
    for name in names:
        phase_number(name, "--phases")
    return names


def _selected(recording: "Recording", phases: list[str]) -> "Recording":
    """Return the steps of some phases; raises NIR_EXP003 if the compile had none of them."""
    found = recording.only(phases)
    if not found.steps and recording.failure is None:
        had = dict.fromkeys(step.phase for step in recording.steps)
        raise NeuronError(
            "NIR_EXP003",
            f"no step of this compile is in phase {' or '.join(phases)}",
            help=f"it has the phases {', '.join(had)}; --tiling chooses the path",
        )
    return found


def _options(args: Namespace) -> CompileOptions:
    from neuronir.cli.cc_compile import load_weights, user_passes_of

    return CompileOptions(
        auto_cast=args.auto_cast,
        auto_cast_type=args.auto_cast_type,
        optlevel=args.optlevel,
        weights=load_weights(args.weights) if args.weights else {},
        compile_from=args.compile_from,
        compile_to=args.compile_to,
        bindings=bindings_of(args),
        framework=args.framework,
        tiling=args.tiling,
        reproducers=False,
        user_passes=user_passes_of(args),
    )


def _check_terminal() -> None:
    """Raise NIR_EXP001 without Textual, NIR_EXP002 without a terminal."""
    instead = "or use --html OUT.html or --list"
    try:
        import textual  # noqa: F401
    except ImportError:
        raise NeuronError(
            "NIR_EXP001",
            "the terminal application needs Textual, which is not installed",
            help=f"pip install 'neuronir[explore]', {instead}",
        ) from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NeuronError(
            "NIR_EXP002",
            "the terminal application needs a terminal",
            help=f"do not redirect its input and output, {instead}",
        )


def _write(args: Namespace, recording: "Recording") -> None:
    """Write the page and the list, as the options say."""
    if args.html is not None:
        from neuronir.explore.page import explore_page

        atomic_write(args.html, explore_page(recording, args.max_lines))
    if args.list:
        write_stdout(list_text(recording, args.changed))


def list_text(recording: "Recording", changed: bool = False) -> str:
    """Format the passes, or only those that changed the IR, as a table: time, ops before and after,
    and the numbers of lines that were removed and added.
    """
    from neuronir.explore.align import changed_lines
    from neuronir.explore.texts import delta_text, note_of, time_text

    lines = [note_of(recording)]
    phase = ""
    width = max((len(step.name) for step in recording.steps), default=0)
    for step in recording.steps:
        if changed and not step.changed and not step.failed:
            continue
        if step.phase != phase:
            phase = step.phase
            lines += ["", phase]
        gone, new = changed_lines(step.before, step.after)
        lines_text = f"-{gone} +{new} lines" if step.changed else ""
        row = f"  {step.name:{width}}  {time_text(step):>10}  {delta_text(step):28} {lines_text}"
        lines.append(row.rstrip())
    return "\n".join(lines) + "\n"


def _warn(message: Message) -> None:
    """Show warnings; hide remarks, because both lowering paths are compiled."""
    if message.severity == "warning":
        print(message.render(), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

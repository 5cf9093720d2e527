"""neuron-sim's command line."""

import argparse

from neuronir.cli.bindings_args import add_bindings
from neuronir.cli.neuron_sim_sweep_args import add_sweep
from neuronir.cli.program import Parser
from neuronir.cli.values import count, quantity
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import ASSUMED_ITERATIONS
from neuronir.dialects.support.iterations import MOST_ITERATIONS

NRT_OPTION = "--nrt-status"


def build_parser() -> Parser:
    """Create the parser of all commands."""
    parser = Parser(
        prog="neuron-sim",
        description="Run a NEFF-style binary on a simulated NeuronCore.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="<command>", parser_class=Parser)
    run = commands.add_parser("run", help="run a binary and report its timing", allow_abbrev=False)
    _add_run(run)
    disasm = commands.add_parser(
        "disasm", help="print the instruction streams of the engines", allow_abbrev=False
    )
    disasm.add_argument("neff", metavar="FILE", help="a program or a pipeline")
    disasm.add_argument(
        "--engine",
        metavar="NAMES",
        help="print only these engines: " + ", ".join(e.name.lower() for e in Engine),
    )
    info = commands.add_parser("info", help="print the contents of a binary", allow_abbrev=False)
    info.add_argument("neff", metavar="FILE", help="a program or a pipeline")
    diff = commands.add_parser(
        "diff", help="compare the timing of two binaries", allow_abbrev=False
    )
    _add_diff(diff)
    sweep = commands.add_parser(
        "sweep",
        help="compile a model at each point of a grid, and compare the timing",
        allow_abbrev=False,
    )
    add_sweep(sweep)
    for command in (run, disasm, info, diff, sweep):
        command.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


def _add_diff(p: argparse.ArgumentParser) -> None:
    p.add_argument("a", metavar="A.neff", help="the first binary")
    p.add_argument("b", metavar="B.neff", help="the second binary")
    p.add_argument("--html", metavar="DIFF.html", help="write a page (needs neuronir[report])")
    p.add_argument("--report", metavar="DIFF.json", help="write all differences")
    p.add_argument(
        "--top",
        type=count(1),
        default=15,
        metavar="N",
        help="list N ops of each kind (default: 15)",
    )


def _add_run(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "neff",
        nargs="+",
        metavar="FILE",
        help="a program or a pipeline; of several files, each runs on its own core",
    )
    g = p.add_argument_group("data")
    g.add_argument(
        "--inputs", metavar="IN.npz", help="inputs arg0, arg1 ...; bound arguments are ignored"
    )
    g.add_argument("--outputs", metavar="OUT.npz", help="write the outputs out0, out1 ...")
    g.add_argument(
        "--expect",
        metavar="REF.npz",
        help="compare the outputs with out0 ... (or stat0, head0 ...)",
    )
    g.add_argument(
        "--rtol",
        type=quantity,
        help="tolerance relative to the largest |reference| (default: the rounding noise on these "
        "inputs)",
    )
    g.add_argument("--atol", type=quantity, help="absolute tolerance")
    g.add_argument(
        "--model",
        metavar="MODEL",
        help="original model: also compare with the interpreter at the same roundings",
    )
    g.add_argument("--weights", metavar="W.npz", help="weights that were bound during the compile")
    add_bindings(g)
    g.add_argument(
        "--max-iterations",
        type=count(1),
        default=MOST_ITERATIONS,
        metavar="N",
        help="end with an error if a loop whose condition depends on data has more iterations "
        f"(default: {MOST_ITERATIONS})",
    )
    g = p.add_argument_group("time")
    g.add_argument(
        "--timing-only", action="store_true", help="simulate timing only, without values"
    )
    g.add_argument(
        "--loop-iterations",
        type=count(0),
        default=ASSUMED_ITERATIONS,
        metavar="N",
        help="trip count of loops whose count depends on data, where no values are computed",
    )
    g.add_argument("--no-timing", action="store_true", help="compute values only, without timing")
    g.add_argument("--trace", metavar="TRACE.json", help="write a timeline for Perfetto")
    g.add_argument("--report", metavar="REPORT.json", help="write all figures")
    g.add_argument(
        "--html",
        metavar="REPORT.html",
        help="write a page with timeline, figures and tables (needs neuronir[report])",
    )
    g.add_argument(
        "--cores-active",
        type=count(1),
        default=1,
        metavar="N",
        help="number of active cores on the chip, this one included; they slow down its transfers "
        "(default: 1)",
    )
    g.add_argument(
        "--cores",
        type=count(1),
        metavar="N",
        help="time N copies of the program at once, a core each, which share the memory of a chip",
    )
    g.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="override a parameter of the machine description; may be repeated",
    )
    _add_checks(p)


def _add_checks(p: argparse.ArgumentParser) -> None:
    g = p.add_argument_group("checks")
    g.add_argument(
        "--check-races", action="store_true", help="report accesses that no semaphore orders"
    )
    g.add_argument(
        "--check-nan",
        action="store_true",
        help="fail if an output has NaN, and name the instruction that made the first one",
    )
    g.add_argument(
        NRT_OPTION,
        action="store_true",
        help="end with the status code of the Neuron runtime (its lowest 8 bits), and print it",
    )
    g.add_argument(
        "--uninitialized",
        choices=("error", "nan", "zero"),
        default="error",
        help="contents of memory that was never written (default: reading it is an error)",
    )
    g.add_argument(
        "--dma",
        choices=("eager", "on_wait"),
        default="eager",
        help="when transfers take effect; on_wait: as late as the semaphores allow",
    )
    g.add_argument(
        "--order",
        choices=("forward", "reversed"),
        default="forward",
        help="which engine proceeds first if several are ready",
    )

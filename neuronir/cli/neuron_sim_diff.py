"""neuron-sim diff: what became faster or slower between two binaries."""

import json
from argparse import Namespace
from pathlib import PurePath

from neuronir.cli.program import OK
from neuronir.dialects.support.output import atomic_write, check_outputs, write_stdout
from neuronir.targets.neff.check import check_machine
from neuronir.targets.neff.reader import load_neff
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.diff import Side, compare_reports
from neuronir.targets.simulator.diff_text import diff_text
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing


def compare(args: Namespace) -> int:
    """Time both binaries; print the differences, and write the requested files."""
    check_outputs(args.report, args.html)
    if args.html is not None:
        from neuronir.targets.simulator.page.figures import require_bokeh

        require_bokeh()
    found = compare_reports(_side(args.a), _side(args.b))
    names = (args.a, args.b)
    if args.report is not None:
        atomic_write(args.report, json.dumps(found, indent=1) + "\n")
    if args.html is not None:
        from neuronir.targets.simulator.page.diff_page import diff_page

        # The names of the files, without their folders.
        atomic_write(args.html, diff_page(found, (PurePath(args.a).name, PurePath(args.b).name)))
    write_stdout(diff_text(found, names, args.top))
    return OK


def _side(path: str) -> Side:
    program = load_neff(path).program
    machine = get_target(program.machine).machine
    check_machine(program, machine, path)
    return Side(program, build_report(simulate_timing(program, machine, record=True)))

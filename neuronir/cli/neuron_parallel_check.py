"""Check one model in a worker, for `neuron_parallel_compile --command analyze`."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuronir.cache_graphs import PYTHON
from neuronir.cli.bindings_args import bindings_of
from neuronir.cli.cc_request import Request
from neuronir.dialects.support.errors import NeuronError

if TYPE_CHECKING:
    from neuronir.driver.check import Report


@dataclass(frozen=True)
class Checked:
    """The operators of a model (name, count, supported, why, nodes), and the error that ended the
    check or refused the program.
    """

    operators: Sequence[Mapping[str, Any]]
    error: str | None


def check_one(request: Request) -> Checked:
    """Check a model for its target, with a compile if all operators are supported."""
    if request.program == PYTHON:
        request.check()
        return _check_job(Path(request.given["model"][0]))
    from neuronir.cli.cc_compile import user_passes_of
    from neuronir.cli.neuron_cc import PROGRAM
    from neuronir.cli.neuron_cc_args import TARGET
    from neuronir.cli.neuronx_cc_args import ALIASES
    from neuronir.driver.check import check_model
    from neuronir.driver.options import CompileOptions
    from neuronir.driver.pass_runner import RunFailure

    request.check()
    args = Namespace(**request.given)
    target = TARGET if request.program == PROGRAM else ALIASES.get(args.target, args.target)
    args.target = target
    try:
        options = CompileOptions(
            bindings=bindings_of(args),
            framework=args.framework,
            user_passes=user_passes_of(args),
        )
        report = check_model(args.model[0], [target], options)
    except NeuronError as error:
        return Checked([], f"[{error.code}] {error.message}")
    except RunFailure as failure:
        return Checked([], failure.diagnostic.text)
    return _checked(report, target)


def _check_job(folder: Path) -> Checked:
    """Check the job in a folder."""
    from neuronir.driver.check import check_job
    from neuronir.driver.job import read_packed, unpack
    from neuronir.driver.pass_runner import RunFailure

    try:
        job = unpack(read_packed(folder))
        return _checked(check_job(job), job.target)
    except NeuronError as error:
        return Checked([], f"[{error.code}] {error.message}")
    except RunFailure as failure:
        return Checked([], failure.diagnostic.text)


def _checked(report: "Report", target: str) -> Checked:
    """Return the rows of a report."""
    operators = [
        {
            "operator": o.name,
            "count": o.count,
            "supported": target not in o.why,
            "why": o.why.get(target),
            "nodes": o.nodes,
        }
        for o in report.operators
    ]
    return Checked(operators, report.refused.get(target))

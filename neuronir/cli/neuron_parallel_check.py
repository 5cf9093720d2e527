"""Check one model in a worker, for `neuron_parallel_compile --command analyze`."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuronir.cli.bindings_args import bindings_of
from neuronir.cli.cc_request import Request
from neuronir.dialects.support.errors import NeuronError


@dataclass(frozen=True)
class Checked:
    """The operators of a model (name, count, supported, why, nodes), and the error that ended the
    check or refused the program.
    """

    operators: Sequence[Mapping[str, Any]]
    error: str | None


def check_one(request: Request) -> Checked:
    """Check a model for its target, with a compile if all operators are supported."""
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

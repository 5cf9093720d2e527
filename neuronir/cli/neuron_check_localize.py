"""neuron-check --localize: find where compiled values deviate from the reference."""

import sys
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from neuronir.cli.program import INTERNAL, OK, USER_ERROR, UsageError
from neuronir.dialects.support.diagnostics import Message, handling
from neuronir.dialects.support.npz import load_npz, npz_bytes
from neuronir.dialects.support.output import atomic_write, write_stdout
from neuronir.driver.options import CompileOptions

if TYPE_CHECKING:
    from neuronir.driver.localize import Finding

_SHOWN = 10
"""Limit of listed ops of a kind."""


def localized(args: Namespace, options: CompileOptions) -> int:
    """Print the first op with a wrong value; return 1 if there is one."""
    from neuronir.cli.cc_compile import load_weights
    from neuronir.driver.localize import first_inputs, localize
    from neuronir.driver.pass_runner import RunFailure

    if args.inputs is None:
        raise UsageError("--localize needs --inputs")
    targets = args.target or ["trn1"]
    if len(targets) != 1 or args.accuracy:
        raise UsageError("--localize goes with one --target, and without --accuracy")
    weights = load_weights(args.weights) if args.weights else {}
    options = replace(options, weights=weights, auto_cast=args.auto_cast or options.auto_cast)
    try:
        with handling(_quiet):
            found = localize(args.model, targets[0], load_npz(args.inputs), options, _tell)
    except RunFailure as failure:
        print(failure.diagnostic.render({}, args.model), file=sys.stderr)
        return INTERNAL if failure.internal else USER_ERROR
    if args.first is not None and found.first is not None:
        atomic_write(args.first, npz_bytes(first_inputs(found)))
    write_stdout(finding_text(found, args.model))
    return OK if found.outputs.ok else USER_ERROR


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def _quiet(message: Message) -> None:
    """Hide remarks and warnings of the many compiles."""


def finding_text(found: "Finding", model: str) -> str:
    """Format the result of the search."""
    lines = [f"compile: {line}" for line in found.outputs.render().splitlines()]
    if found.outputs.ok:
        lines.append(f"all outputs agree with the interpreter on {model}")
        return "\n".join(lines) + "\n"
    lines.append(f"{found.compiles} compiles")
    if found.wrong_pass:
        lines.append(f"first wrong: pass {found.wrong_pass}, by the interpreter after it")
    elif found.first is None:
        lines.append("no value that could be watched is wrong")
    else:
        assert found.first.report is not None
        lines.append(f"first wrong: {found.describe(found.first.number)}")
        lines.append(f"  {found.first.report.render().partition(': ')[2]}")
        if found.watched_alone:
            lines.append("  the binary fuses it away; it is wrong as a further output")
        lines += _listed("computed from, right", [found.describe(v.number) for v in found.inputs])
        fused = [found.describe(number) for number in found.fused]
        lines += _listed("fused with it by the binary, right as further outputs", fused)
    skipped = [f"{found.describe(v.number)}: {v.why}" for v in found.skipped]
    return "\n".join(lines + _listed("skipped", skipped)) + "\n"


def _listed(title: str, texts: list[str]) -> list[str]:
    if not texts:
        return []
    lines = [f"  {title}:", *(f"    {text}" for text in texts[:_SHOWN])]
    if len(texts) > _SHOWN:
        lines.append(f"    and {len(texts) - _SHOWN} more")
    return lines

"""Running HLO text in the reference interpreter and judging the results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.interpreter_bounds import bounds
from neuronir.dialects.hlo.interpreter_noise import noise
from neuronir.dialects.support.compare import Report, compare
from neuronir.frontends.hlo_text import import_hlo_text

Array = NDArray[Any]


def run(text: str, args: Sequence[Array] = (), name: str = "test.hlo") -> list[Array]:
    """The results of HLO text."""
    return interpret(import_hlo_text(text, name), args)


def judge(
    text: str, args: Sequence[Array], reference: Mapping[str, Array], name: str = "test.hlo"
) -> Report:
    """Interprets a program and compares within the bounds that follow from it.

    Only where rounding alone does not explain a difference is the conditioning on these inputs
    measured, too.
    """
    module = import_hlo_text(text, name)
    results = interpret(module, args)
    allowed = bounds(module)
    report = compare(results, reference, rtol=allowed)
    if report.ok or len(allowed) != len(report.outputs):
        return report
    measured = [n if np.isfinite(n) else 0.0 for n in noise(module, args)]
    return compare(results, reference, rtol=allowed, atol=measured)


def judge_arrays(text: str, args: Sequence[Array], expected: Sequence[Array]) -> Report:
    """`judge` against arrays."""
    return judge(text, args, {f"out{i}": np.asarray(x) for i, x in enumerate(expected)})

"""Order a program in several ways at level 3, and keep the fastest."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.diagnostics import fault, remark, trying
from neuronir.dialects.support.walking import walk
from neuronir.driver.pass_runner import RunFailure
from neuronir.passes import statistics

LARGEST = 20_000
"""Limit of instructions for several orders: larger programs take too long."""

TRIGGERS_MATTER = 1.015
"""An order that is slower than the best one by more than this before `nc-order-triggers` stays
slower: of 24 orders of eight programs that pass makes none faster by more than 1.1 %. It takes a
third of an order's compile.
"""


def fastest_order(
    module: ModuleOp,
    pipelines: Sequence[str],
    time_ns: Callable[[ModuleOp, str, float], float],
    known: Mapping[str, float] = {},
) -> str:
    """Return the pipeline of phase `ordered` with the shortest simulated time.

    `time_ns` compiles a copy of `module` in an order and returns the time in ns, which need not be
    exact if it is above the given least time so far. It is called for orders whose time is not
    `known`. A failing one is dropped. The first one is returned if all fail or if the module is too
    large. A compiler bug in an order is reported in a warning.
    """
    if len(pipelines) == 1:
        return pipelines[0]
    size = sum(isinstance(op, InstructionOp) for op in walk(module))
    if size > LARGEST:
        remark(f"one order is tried, not {len(pipelines)}: the program has {size} instructions")
        return pipelines[0]
    best, least = pipelines[0], float("inf")
    with trying(), statistics.unrecorded():
        for pipeline in pipelines:
            try:
                time = known.get(pipeline)
                if time is None:
                    time = time_ns(clone(module), pipeline, least)
            except RunFailure as failure:  # a rejection is shown if every order has it
                if failure.internal:
                    found = failure.diagnostic
                    fault(f"{found.text}; not ordered by {pipeline}", location=found.location)
                continue
            if time < least:
                best, least = pipeline, time
    remark(f"of {len(pipelines)} orders the fastest is {best}: {least / 1e3:.1f} us")
    return best

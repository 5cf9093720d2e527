"""Order a program in several ways at level 3, and keep the fastest."""

from collections.abc import Callable, Mapping, Sequence
from math import inf

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.diagnostics import fault, remark, trying
from neuronir.dialects.support.walking import walk
from neuronir.driver.pass_runner import RunFailure
from neuronir.passes import statistics
from neuronir.passes.nc.order_triggers import NcOrderTriggersPass

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
    best, least = pipelines[0], inf
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


def time_of(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    run: Callable[[Sequence[ModulePass], ModuleOp], None],
    total_ns: Callable[[Sequence[ModulePass], ModuleOp], float],
    least_ns: float,
) -> float:
    """Return the simulated time in ns of a module after `passes`.

    If it is far above `least_ns` without `nc-order-triggers`, that is the result. `run` applies
    passes; `total_ns` applies the last ones and simulates the program.
    """
    names = [one.name for one in passes]
    if NcOrderTriggersPass.name not in names or least_ns == inf:
        return total_ns(passes, module)
    place = names.index(NcOrderTriggersPass.name)
    run(passes[:place], module)
    without = total_ns(passes[place + 1 :], clone(module))
    return without if without > TRIGGERS_MATTER * least_ns else total_ns(passes[place:], module)

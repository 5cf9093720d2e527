"""Give up an attempt whose program cannot be faster than a known one."""

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.walking import walk
from neuronir.driver.pass_runner import RunFailure
from neuronir.passes.lowering.give_up import GivenUp, giving_up
from neuronir.passes.nc.engine_work import least_work_ns, least_work_of_ops_ns


class TooSlow(Exception):
    """The engines' work alone takes `work_ns`, which exceeds the time of a known program."""

    def __init__(self, work_ns: float) -> None:
        super().__init__(f"at least {work_ns:.0f} ns")
        self.work_ns = work_ns


LONG = 8000
"""From this number of ops, a program of the direct path takes tens of seconds to put in order."""
SHARE = 0.25
"""The share of a limit that such a program may take."""
LONGEST = 25_000
"""Limit of ops of the direct path before phase `tiled` was tried: lowering 140,000 takes 15 s."""
KEPT = 0.5
"""The share of the work of the first ops of a program that no later pass removes."""


def check_work(module: ModuleOp, machine: Machine, limit_ns: float) -> None:
    """Raise TooSlow if a module in phase `virtual` takes longer than `limit_ns` in any order."""
    work = least_work_ns(module, machine)
    if work > limit_ns:
        raise TooSlow(work)


def first_limit_ns(module: ModuleOp, limit_ns: float) -> float:
    """Return how long a module of the direct path in phase `virtual` may take, so that phase
    `tiled` does not come first: less than `limit_ns` for a long one.
    """
    return SHARE * limit_ns if sum(1 for _ in walk(module)) > LONG else limit_ns


@contextmanager
def long_ones_given_up(machine: Machine) -> Iterator[None]:
    """Raise TooSlow instead of a GivenUp: the direct path emits more than LONGEST ops."""
    try:
        with giving_up(LONGEST):
            yield
    except RunFailure as failure:
        given_up = failure.__cause__
        if not isinstance(given_up, GivenUp):
            raise
        raise TooSlow(KEPT * least_work_of_ops_ns(given_up.ops, machine)) from given_up

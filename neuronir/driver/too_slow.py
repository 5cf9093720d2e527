"""Give up an attempt whose program cannot be faster than a known one."""

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.engine_work import least_work_ns


class TooSlow(Exception):
    """The engines' work alone takes `work_ns`, which exceeds the time of a known program."""

    def __init__(self, work_ns: float) -> None:
        super().__init__(f"at least {work_ns:.0f} ns")
        self.work_ns = work_ns


LONG = 8000
"""From this number of ops, a program of the direct path takes tens of seconds to put in order."""
SHARE = 0.25
"""The share of a limit that such a program may take."""


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

"""Give up an attempt whose program cannot be faster than a known one."""

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.engine_work import least_work_ns


class TooSlow(Exception):
    """The engines' work alone takes `work_ns`, which exceeds the time of a known program."""

    def __init__(self, work_ns: float) -> None:
        super().__init__(f"at least {work_ns:.0f} ns")
        self.work_ns = work_ns


def check_work(module: ModuleOp, machine: Machine, limit_ns: float) -> None:
    """Raise TooSlow if a module in phase `virtual` takes longer than `limit_ns` in any order."""
    work = least_work_ns(module, machine)
    if work > limit_ns:
        raise TooSlow(work)

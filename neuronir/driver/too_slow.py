"""Give up an attempt whose program cannot be faster than a known one."""

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.engine_work import least_ns


class TooSlow(Exception):
    """The engines' work alone takes `least_ns`, which exceeds the time of a known program."""

    def __init__(self, least_ns: float) -> None:
        super().__init__(f"at least {least_ns:.0f} ns")
        self.least_ns = least_ns


def check_work(module: ModuleOp, machine: Machine, limit_ns: float) -> None:
    """Raise TooSlow if a module in phase `virtual` takes longer than `limit_ns` in any order."""
    least = least_ns(module, machine)
    if least > limit_ns:
        raise TooSlow(least)

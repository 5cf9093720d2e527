"""Define the passes on the nc dialect."""

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

_CLASSES = {
    "nc-dce": ("dce", "NcDce"),
    "nc-sum-in-psum": ("sum_in_psum", "NcSumInPsum"),
    "nc-forward-psum": ("forward", "NcForwardPsum"),
    "nc-balance-evictions": ("balance", "NcBalanceEvictions"),
    "nc-order": ("order", "NcOrder"),
    "nc-spill": ("spill", "NcSpill"),
    "nc-assign-banks": ("assign_banks", "NcAssignBanks"),
    "nc-allocate": ("allocate", "NcAllocate"),
    "nc-split-transfers": ("split_transfers", "NcSplitTransfers"),
    "nc-order-triggers": ("order_triggers", "NcOrderTriggers"),
    "nc-synchronise": ("synchronise", "NcSynchronise"),
    "nc-verify-machine": ("verify_machine", "NcVerifyMachine"),
    "nc-verify-order": ("verify_order", "NcVerifyOrder"),
}


def _lazy(module: str, attribute: str) -> Callable[[], type[ModulePass]]:
    def load() -> type[ModulePass]:
        found: type[ModulePass] = getattr(import_module(f"neuronir.passes.nc.{module}"), attribute)
        return found

    return load


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    name: _lazy(module, attribute) for name, (module, attribute) in _CLASSES.items()
}

"""Find the entry function and the machine for passes that need both."""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from neuronir.dialects.nc.machine import Machine, get_machine


def entry_on(module: ModuleOp, target: str) -> Iterator[tuple[Block, Machine]]:
    """Return the body of the entry function and the machine.

    The machine is that of `target`, or else of the module attribute `nc.machine`. Returns nothing
    without either, or without an entry function.
    """
    attr = module.attributes.get("nc.machine")
    name = target or (attr.data if isinstance(attr, StringAttr) else "")
    for function in module.ops:
        if name and isinstance(function, FuncOp) and function.sym_name.data == "main":
            yield function.body.block, get_machine(name)

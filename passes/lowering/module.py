"""Build the nc module of an emitted program."""

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.structure import AddressOfOp, FuncOp, ReturnOp, VariableOp
from neuronir.passes.lowering.constants.bound import Constants
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.names import name_lowered


def finished_module(
    emitter: Emitter,
    constants: Constants,
    machine: Machine,
    held: Iterable[tuple[SSAValue, SSAValue]],
) -> ModuleOp:
    """Return a module in phase `virtual`: variables, and @main with the emitted ops.

    `held` are lowered values with the buffers that hold them, from which buffers get their names.
    """
    constants.finish()
    name_lowered(emitter, held)
    body = Block(
        [
            *(op for op in emitter.head if any(r.uses for r in op.results)),
            *cast(list[Operation], constants.resident),
            *emitter.ops,
            ReturnOp.create(),
        ]
    )
    main = FuncOp.create(properties={"sym_name": StringAttr("main")}, regions=[Region(body)])
    module = ModuleOp([*_used(emitter.variables, emitter.head), main])
    module.attributes["nc.machine"] = StringAttr(machine.name)
    module.attributes["neuronir.phase"] = StringAttr("virtual")
    return module


def _used(variables: Sequence[VariableOp], addresses: Sequence[Operation]) -> list[VariableOp]:
    """Return the variables without unread scratch ones, such as those of a trial of a layer."""
    known = {
        op.variable.root_reference.data
        for op in addresses
        if isinstance(op, AddressOfOp) and op.buffer.uses
    }
    return [v for v in variables if v.kind.data != "scratch" or v.sym_name.data in known]

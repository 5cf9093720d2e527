"""Inline calls."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.structure import CallOp, FuncOp, ReturnOp
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.bodies import check_arguments
from neuronir.passes.nc.listing import functions

ENTRY = "main"


def inline_calls(module: ModuleOp) -> None:
    """Replace every nc.call by the body of the function, and erase functions without callers.

    Raises NIR_NC009 if a function is missing or calls itself.
    """
    known = {f.sym_name.data: f for f in functions(module)}
    done: set[str] = set()
    for func in known.values():
        _inline(func, known, done, ())
    if ENTRY in known:
        for name, func in known.items():
            if name != ENTRY:
                func.detach()
                func.erase()


def _inline(
    func: FuncOp, known: dict[str, FuncOp], done: set[str], inside: tuple[str, ...]
) -> None:
    name = func.sym_name.data
    if name in inside:
        raise NeuronError("NIR_NC009", f"nc.func @{name} calls itself")
    if name in done:
        return
    for call in [op for op in walk(func) if isinstance(op, CallOp)]:
        callee = known.get(call.callee.root_reference.data)
        if callee is None:
            raise NeuronError(
                "NIR_NC009", f"nc.call of @{call.callee.root_reference.data}, which does not exist"
            )
        check_arguments(call, callee)
        _inline(callee, known, done, (*inside, name))
        parent = call.parent
        if parent is None:
            continue
        values: dict[SSAValue, SSAValue] = dict(
            zip(callee.body.block.args, call.arguments, strict=True)
        )
        for op in callee.body.block.ops:
            if isinstance(op, ReturnOp):
                continue
            copy = clone(op, values)
            for old, new in zip(walk(op), walk(copy), strict=True):
                new.location = old.location
                if isinstance(old, InstructionOp):
                    new.attributes = dict(old.attributes)
            parent.insert_op_before(copy, call)
        call.detach()
        call.erase()
    done.add(name)

"""Inline functions that are the whole body of a loop while a pass runs.

A repeated layer is one `nc.func` that a loop calls. The decisions of a pass depend on the context
of the call (live buffers, transfers in flight), so the ops are moved into the loop while the pass
runs. They become a function again afterwards, so that layers are ordered, allocated, synchronised
and encoded once.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.structure import CallOp, FuncOp, ReturnOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import ops_of, walk
from neuronir.passes.nc.listing import functions

FUNCTION = "nc.function"
"""The attribute of a loop whose body becomes a function with this name."""


@contextmanager
def bodies_in_place(module: ModuleOp) -> Iterator[None]:
    """Inline functions that are the whole body of one loop while the context is active.

    Raises NIR_NC009 if the arguments of a call do not match the function.
    """
    known = {f.sym_name.data: f for f in functions(module)}
    if len(known) < 2:  # nothing to call: most programs are not walked
        yield
        return
    calls = [op for op in walk(module) if isinstance(op, CallOp)]
    often = Counter(call.callee.root_reference.data for call in calls)
    for call in calls:
        loop = call.parent_op()
        name = call.callee.root_reference.data
        if isinstance(loop, scf.ForOp) and often[name] == 1 and name in known:
            if [op for op in ops_of(loop.body.block) if not isinstance(op, scf.YieldOp)] == [call]:
                check_arguments(call, known[name])
                _put(call, known[name])
                loop.attributes[FUNCTION] = StringAttr(name)
    yield
    take_out(module)


def check_arguments(call: CallOp, callee: FuncOp) -> None:
    """Raise NIR_NC009 if the arguments of a call do not match the function."""
    wanted = [a.type for a in callee.body.block.args]
    if [a.type for a in call.arguments] != wanted:
        given = ", ".join(str(a.type) for a in call.arguments)
        raise NeuronError(
            "NIR_NC009",
            f"nc.call of @{callee.sym_name.data} with ({given}), "
            f"its arguments are ({', '.join(map(str, wanted))})",
        )


def _put(call: CallOp, callee: FuncOp) -> None:
    """Move the ops of a function to its call."""
    block, parent = callee.body.block, call.parent
    assert parent is not None
    for argument, value in zip(block.args, call.arguments, strict=True):
        argument.replace_all_uses_with(value)
    ops = [op for op in ops_of(block) if not isinstance(op, ReturnOp)]
    for op in ops:
        op.detach()
    parent.insert_ops_before(ops, call)
    call.detach()
    call.erase()
    callee.detach()
    callee.erase()


def take_out(module: ModuleOp) -> None:
    """Outline the bodies of all loops marked with FUNCTION.

    Outer values become arguments, in order of first use; constants are copied.
    """
    loops = [op for op in walk(module) if isinstance(op, scf.ForOp) and FUNCTION in op.attributes]
    for loop in reversed(loops):  # inner loops first
        name = loop.attributes.pop(FUNCTION)
        assert isinstance(name, StringAttr)
        _take(loop, name.data, _function_around(loop))


def _function_around(op: Operation) -> FuncOp:
    parent = op.parent_op()
    while not isinstance(parent, FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent


def _take(loop: scf.ForOp, name: str, around: FuncOp) -> None:
    body = loop.body.block
    ops = [op for op in ops_of(body) if not isinstance(op, scf.YieldOp)]
    arguments, constants = _captured(body, ops)
    func = FuncOp.make(name, [value.type for value in arguments])
    block = func.body.block
    inside: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    for constant in constants:
        copy = constant.clone()
        block.add_op(copy)
        inside[constant.result] = copy.result
    for op in ops:
        op.detach()
        for inner in walk(op):
            if any(value in inside for value in inner.operands):
                inner.operands = [inside.get(value, value) for value in inner.operands]
    block.add_ops([*ops, ReturnOp()])
    last = body.last_op
    assert last is not None and around.parent is not None
    body.insert_op_before(CallOp.make(name, arguments), last)
    around.parent.insert_op_before(func, around)
    for argument, value in zip(block.args, arguments, strict=True):
        argument.name_hint = value.name_hint


def _captured(body: Block, ops: list[Operation]) -> tuple[list[SSAValue], list[arith.ConstantOp]]:
    """Return the outer values that ops of a loop use, the iteration number first; no constants."""
    own: set[SSAValue] = set()
    values: dict[SSAValue, None] = {body.args[0]: None}
    constants: dict[arith.ConstantOp, None] = {}
    for op in ops:
        for inner in walk(op):
            own.update(inner.results)
            for region in inner.regions:
                own.update(a for b in region.blocks for a in b.args)
            for value in inner.operands:
                if value in own:
                    continue
                if isinstance(value.owner, arith.ConstantOp):
                    constants[value.owner] = None
                else:
                    values[value] = None
    return list(values), list(constants)

"""Resolve function arguments: index values, and buffers that callers pass.

A buffer that is the same in all calls has a fixed address in the function. If calls pass different
buffers, the base address is passed in a register, like an index argument.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import BlockArgument, SSAValue

from neuronir.dialects.nc.instruction import ARGUMENT, REGISTER
from neuronir.dialects.nc.structure import CallOp, FuncOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import walk


@dataclass
class Arguments:
    """`fixed` are addresses (bytes) of buffer arguments that never change; `symbols` number the
    others.

    Symbols are by function, in order (instruction.py).
    """

    fixed: dict[SSAValue, int] = field(default_factory=dict)
    symbols: dict[SSAValue, int] = field(default_factory=dict)

    def passed(self, call: CallOp, callee: FuncOp) -> list[SSAValue]:
        """Return the arguments of a call that are passed in registers, in the order of their
        symbols.
        """
        pairs = zip(callee.body.block.args, call.arguments, strict=True)
        return [value for argument, value in pairs if argument not in self.fixed]


def bind_arguments(functions: Mapping[str, FuncOp], addresses: Mapping[SSAValue, int]) -> Arguments:
    """Return the arguments of all functions, given the addresses of their buffers.

    Raises NIR_ENC006 if a call does not match its function, or passes too many arguments.
    """
    calls: dict[str, list[CallOp]] = {name: [] for name in functions}
    for func in functions.values():
        for op in walk(func):
            if isinstance(op, CallOp):
                calls.setdefault(op.callee.root_reference.data, []).append(op)
    found = Arguments()
    for name, func in functions.items():
        types = [a.type for a in func.body.block.args]
        for call in calls[name]:
            if [a.type for a in call.arguments] != types:
                raise NeuronError(
                    "NIR_ENC006",
                    f"the nc module cannot be encoded: nc.call of @{name} with other arguments "
                    "than it has",
                )
    by_argument = {
        argument: [call.arguments[i] for call in calls[name]]
        for name, func in functions.items()
        for i, argument in enumerate(func.body.block.args)
        if isinstance(argument.type, MemRefType)
    }
    # A caller's own argument is fixed if all buffers that it can be are.
    for argument in by_argument:
        places = {
            address for v in _sources(argument, by_argument) for address in [addresses.get(v)]
        }
        if len(places) == 1 and None not in places:
            found.fixed[argument] = next(iter(p for p in places if p is not None))
    for name, func in functions.items():
        number = ARGUMENT
        for argument in func.body.block.args:
            if argument not in found.fixed:
                found.symbols[argument] = number
                number += 1
        if number > REGISTER:
            raise NeuronError(
                "NIR_ENC006",
                f"the nc module cannot be encoded: @{name} takes {number - ARGUMENT} arguments in "
                f"registers, at most {REGISTER - ARGUMENT} are possible",
            )
    return found


def _sources(value: SSAValue, by_argument: Mapping[BlockArgument, list[SSAValue]]) -> set[SSAValue]:
    """Return the buffers that an argument can be, through all calls."""
    out: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument) and value in by_argument:
            waiting += by_argument[value]
        else:
            out.add(value)
    return out

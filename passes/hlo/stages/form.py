"""Recognise stages that compute the same with other weights."""

from collections.abc import Hashable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp, constant_array
from neuronir.passes.hlo.support.values import size

_FEW = 64
"""Constants of at most this many elements are factors, limits and masks: they decide what a program
does. Larger ones are weights."""

Form = tuple[Hashable, ...]


def form_of(module: ModuleOp) -> Form:
    """Return what two modules have in common that differ in weights and names only.

    It consists of the ops in order, with their types, properties and operands:

        %0 = hlo.constant dense<...> : tensor<768x768xf32>     (constant, [], tensor<768x768xf32>)
        %1 = hlo.dot %x, %0 ...                         ->     (dot, [arg 0, op 0], ...)
    """
    numbers: dict[SSAValue, int] = {}
    return tuple(_forms(module.body.block, numbers))


def _forms(block: Block, numbers: dict[SSAValue, int]) -> Iterator[Hashable]:
    for argument in block.args:
        numbers[argument] = len(numbers)
        yield argument.type
    for op in block.ops:
        for result in op.results:
            numbers[result] = len(numbers)
        operands = tuple(numbers.get(v, -1) for v in op.operands)
        yield op.name, operands, tuple(r.type for r in op.results), _details(op)
        for region in op.regions:
            for inner in region.blocks:
                yield from _forms(inner, numbers)
                yield "end"


def _details(op: Operation) -> Hashable:
    if isinstance(op, FuncOp):  # its other properties are names
        return op.function_type
    if not isinstance(op, ConstantOp):
        return tuple(sorted(op.properties.items(), key=lambda item: item[0]))
    return constant_array(op).tobytes() if size(op.result) <= _FEW else None

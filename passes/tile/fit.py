"""Check what the tiled level supports: nonempty values of types that the machine has."""

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.dialects.support.walking import walk_in
from neuronir.passes.hlo.support.walk import functions
from neuronir.passes.lowering.layouts.types import known_dtype


def programs(module: ModuleOp) -> Iterator[FuncOp]:
    """Return the functions that are tiled: without those with effects, such as check."""
    for function in functions(module):
        block = function.body.block
        if all(op.results or op is block.last_op for op in block.ops):
            yield function


def check_elements(function: FuncOp) -> None:
    """Raise NIR_TIL001 if a value has no elements."""
    for op in function.body.block.ops:
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and not prod(value.type.get_shape()):
                raise NeuronError(
                    "NIR_TIL001",
                    f"{source_name(op)}: the tiled level takes no array without elements",
                    help="compile without phase tiled",
                )


def check_types(function: FuncOp, machine: Machine) -> None:
    """Raise NCC_ESPP004 if a value has a type that the machine lacks."""
    block = function.body.block
    for value in (*block.args, *(r for op in walk_in(block) for r in op.results)):
        if isinstance(value.type, TensorType):
            known_dtype(value, machine)

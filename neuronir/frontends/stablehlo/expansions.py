"""Build functions without an hlo op by the expansions of XLA and JAX in `functions/*.mlir`.

A file has a scalar function for each element type, named after the type in HLO. Float types without
a function are widened to f32.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import string_attr, tensor_type
from neuronir.dialects.support.dtypes import byte_size, hlo_name, is_float
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.stablehlo.operators.registry import check_name
from neuronir.frontends.stablehlo.records import Dense, Module, Statement
from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import element, shape

_PREFIX = "stablehlo."


@cache
def _module(name: str) -> Module:
    from neuronir.frontends.stablehlo.syntax import Syntax

    path = files("neuronir.frontends.stablehlo").joinpath("functions", f"{name}.mlir")
    return Syntax(path.read_text("utf-8"), f"{name}.mlir", check_name).module()


def expand(b: Builder, name: str, operands: Sequence[SSAValue]) -> SSAValue:
    """Build the expansion of a function for operands of one type, which is that of the result.

    Raises NCC_ESPP004 for an element type without expansion.
    """
    type_ = element(operands[0])
    functions = _module(name).functions
    chosen = functions.get(hlo_name(type_))
    if chosen is None:
        if not is_float(type_) or "f32" not in functions:
            raise NeuronError("NCC_ESPP004", f"operands of type {type_} are not supported")
        wide = f32 if byte_size(type_) < 4 else type_
        chosen = functions[hlo_name(wide)]
        operands = [b.convert(value, wide) for value in operands]
    arguments = (argument.name for argument in chosen.body.arguments)
    values = dict(zip(arguments, operands, strict=True))
    *ops, last = chosen.body.statements
    for op in ops:
        (result,) = op.results
        values[result] = _built(b, op, [values[name] for name in op.operands], shape(operands[0]))
    return b.convert(values[last.operands[0]], type_)


def _built(
    b: Builder, op: Statement, operands: Sequence[SSAValue], dims: tuple[int, ...]
) -> SSAValue:
    """Build an op of an expansion, which is elementwise on scalars, for tensors."""
    (scalar,) = op.types
    assert isinstance(scalar, TensorType)
    type_: Attribute = tensor_type(dims, scalar.element_type)
    value = op.attributes.get("value")
    if isinstance(value, Dense):
        return b.fill(value.array, type_)
    opcode = op.name.removeprefix(_PREFIX)
    if opcode == "compare":
        direction = string_attr(str(op.attributes["comparison_direction"]))
        properties = {"direction": direction}
        if op.attributes.get("compare_type") == "TOTALORDER":
            properties["compare_type"] = string_attr("TOTALORDER")
        return b.emit(opcode, operands, type_, properties)
    return b.emit(opcode, operands, type_)

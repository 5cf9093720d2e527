"""Import functions of CHLO without an hlo op by their XLA expansions, from `functions/*.mlir`.

A file has a scalar function for each element type, named after the type in HLO. Float types without
a function are widened to f32.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.dtypes import byte_size, hlo_name, is_float
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.operators.registry import (
    OPERATORS,
    Function,
    check_name,
    operator,
)
from neuronir.frontends.stablehlo.records import Dense, Module, Statement

_COUNTS = {
    **dict.fromkeys(("bessel_i1e", "digamma", "erf_inv", "erfc", "lgamma"), 1),
    **dict.fromkeys(("mulhi", "next_after", "polygamma", "zeta"), 2),
}


@cache
def _expansions(name: str) -> Module:
    from neuronir.frontends.stablehlo.syntax import Syntax

    path = files("neuronir.frontends.stablehlo").joinpath("functions", f"{name}.mlir")
    return Syntax(path.read_text("utf-8"), f"{name}.mlir", check_name).module()


def _function(name: str) -> Function:
    def build(c: Context) -> Sequence[SSAValue]:
        c.need_operands(_COUNTS[name])
        return [_expand(c, name)]

    return build


for _name in _COUNTS:
    operator(f"chlo.{_name}")(_function(_name))


def _expand(c: Context, name: str) -> SSAValue:
    """Build the expansion for the type of the result."""
    element = c.result_type().element_type
    functions = _expansions(name).functions
    chosen = functions.get(hlo_name(element))
    operands = c.operands
    if chosen is None:
        if not is_float(element) or "f32" not in functions:
            c.fail(f"operands of type {element} are not supported", "NCC_ESPP004")
        wide = f32 if byte_size(element) < 4 else element
        chosen = functions[hlo_name(wide)]
        operands = [c.b.convert(value, wide) for value in operands]
    arguments = (argument.name for argument in chosen.body.arguments)
    values = dict(zip(arguments, operands, strict=True))
    *ops, last = chosen.body.statements
    for op in ops:
        (result,) = op.results
        values[result] = _build(c, op, [values[name] for name in op.operands])
    return c.b.convert(values[last.operands[0]], element)


def _build(c: Context, op: Statement, operands: list[SSAValue]) -> SSAValue:
    """Build an op of an expansion, which is one of scalars, for tensors."""
    shape = c.shape()
    types: list[Attribute] = []
    for type_ in op.types:
        assert isinstance(type_, TensorType)
        types.append(tensor_type(shape, type_.element_type))
    value = op.attributes.get("value")
    if isinstance(value, Dense):
        return c.b.fill(value.array, types[0])
    tensors = Statement(op.name, c.op.position, op.results, op.operands, op.attributes, types=types)
    return OPERATORS[op.name](Context(c.importer, tensors, c.scope, c.b, operands))[0]

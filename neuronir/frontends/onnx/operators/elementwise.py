"""Import elementwise arithmetic, comparisons, logic and bit operators."""

import ml_dtypes
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.dtypes import (
    byte_size,
    element_type,
    is_float,
    is_integer,
    is_unsigned,
    np_dtype,
)
from neuronir.frontends.graph import activations as act
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import (
    binary,
    broadcast_to,
    compare,
    fold,
    need_one_type,
    select,
)
from neuronir.frontends.onnx.node import Node, type_of
from neuronir.frontends.onnx.registry import Function, operator
from neuronir.passes.hlo.support.values import element, shape

UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atanh": "atanh",
    "BitwiseNot": "not",
    "Ceil": "ceil",
    "Cos": "cosine",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exponential",
    "Floor": "floor",
    "Log": "log",
    "Neg": "negate",
    "Not": "not",
    "Round": "round_nearest_even",
    "Sigmoid": "logistic",
    "Sign": "sign",
    "Sin": "sine",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
"""Operators that map to a single hlo op."""

BINARY = {
    "Add": "add",
    "And": "and",
    "BitwiseAnd": "and",
    "BitwiseOr": "or",
    "BitwiseXor": "xor",
    "Div": "divide",
    "Mul": "multiply",
    "Or": "or",
    "Sub": "subtract",
    "Xor": "xor",
}

COMPARE = {
    "Equal": "EQ",
    "Greater": "GT",
    "GreaterOrEqual": "GE",
    "Less": "LT",
    "LessOrEqual": "LE",
}


def _unary(opcode: str) -> Function:
    def build(n: Node) -> SSAValue:
        if opcode == "abs" and is_unsigned(element(n[0])):
            return n[0]
        return n.b.unary(opcode, n[0])

    return build


def _binary(opcode: str) -> Function:
    return lambda n: binary(n.b, opcode, *operands(n))


def _compare(direction: str) -> Function:
    return lambda n: compare(n.b, *operands(n), direction)


for _name, _opcode in UNARY.items():
    operator(_name)(_unary(_opcode))
for _name, _opcode in BINARY.items():
    operator(_name)(_binary(_opcode))
for _name, _direction in COMPARE.items():
    operator(_name)(_compare(_direction))


def operands(n: Node) -> tuple[SSAValue, SSAValue]:
    """Return both operands; before opset 7 the second is aligned at an axis of the first."""
    lhs, rhs = n[0], n[1]
    if n.opset >= 7 or not n.flag("broadcast"):
        return lhs, rhs
    dims, own = shape(lhs), shape(rhs)
    axis = n.integer("axis", len(dims) - len(own))
    axis += len(dims) if axis < 0 else 0
    behind = len(dims) - axis - len(own)
    if behind < 0:
        refuse(f"shape {list(own)} does not fit {list(dims)} at axis {axis}")
    return lhs, n.b.reshape(rhs, (*own, *[1] * behind))


@operator("Max")
def _max(n: Node) -> SSAValue:
    return fold(n.b, "maximum", n.all())


@operator("Min")
def _min(n: Node) -> SSAValue:
    return fold(n.b, "minimum", n.all())


@operator("Sum")
def _sum(n: Node) -> SSAValue:
    return fold(n.b, "add", n.all())


@operator("Mean")
def _mean(n: Node) -> SSAValue:
    return n.b.binary_number("divide", fold(n.b, "add", n.all()), len(n.operands))


@operator("Mod")
def _mod(n: Node) -> SSAValue:
    lhs, rhs = operands(n)
    if n.flag("fmod"):
        return binary(n.b, "remainder", lhs, rhs)
    if is_float(element(lhs)) and n.opset < 28:
        refuse("of floats it needs fmod = 1 before opset 28")
    dims = shape(binary(n.b, "add", lhs, rhs))
    return act.floor_mod(n.b, broadcast_to(n.b, lhs, dims), broadcast_to(n.b, rhs, dims))


@operator("Pow")
def _pow(n: Node) -> SSAValue:
    """Compute a power in the wider type; the result has the type of the base."""
    base, exponent = operands(n)
    own = element(base)
    power = _power_type(own, element(exponent))
    base, exponent = n.b.convert(base, power), n.b.convert(exponent, power)
    return n.b.convert(binary(n.b, "power", base, exponent), own)


def _power_type(base: Attribute, exponent: Attribute) -> Attribute:
    if is_float(base) or not is_float(exponent):
        return base
    return exponent if byte_size(exponent) >= 4 else f32


@operator("BitShift")
def _bit_shift(n: Node) -> SSAValue:
    right = "shift_right_logical" if is_unsigned(element(n[0])) else "shift_right_arithmetic"
    opcode = {"LEFT": "shift_left", "RIGHT": right}.get(n.text("direction", ""))
    if opcode is None:
        refuse("direction must be LEFT or RIGHT")
    return binary(n.b, opcode, n[0], n[1])


@operator("Reciprocal")
def _reciprocal(n: Node) -> SSAValue:
    return act.reciprocal(n.b, n[0])


@operator("Atan")
def _atan(n: Node) -> SSAValue:
    return act.atan(n.b, n[0])


@operator("Where")
def _where(n: Node) -> SSAValue:
    if element(n[0]) != i1:
        refuse("the condition must be boolean")
    return select(n.b, n[0], n[1], n[2])


@operator("IsNaN")
def _is_nan(n: Node) -> SSAValue:
    return act.is_nan(n.b, n[0])


@operator("IsInf")
def _is_inf(n: Node) -> SSAValue:
    x, b = n[0], n.b
    positive, negative = n.flag("detect_positive", True), n.flag("detect_negative", True)
    if positive and negative:
        return b.compare_number(b.unary("abs", x), float("inf"), "EQ")
    if not positive and not negative:
        return b.fill(0, b.compare(x, x, "EQ").type)
    return b.compare_number(x, float("inf") if positive else float("-inf"), "EQ")


@operator("Clip")
def _clip(n: Node) -> SSAValue:
    x, b = n[0], n.b
    if n.opset < 11:
        low = n.number("min", 0) if n.has("min") else None
        high = n.number("max", 0) if n.has("max") else None
        return act.clip(b, x, low, high)
    for index, opcode in ((1, "maximum"), (2, "minimum")):
        bound = n.get(index)
        if bound is not None:
            need_one_type(n[0], bound)
            x = b.binary(opcode, x, broadcast_to(b, bound, shape(x)))
    return x


@operator("Cast")
def _cast(n: Node) -> SSAValue:
    return cast(n, n[0], type_of(n.integer("to", 0)))


@operator("CastLike")
def _cast_like(n: Node) -> SSAValue:
    return cast(n, n[0], element(n[1]))


def cast(n: Node, value: SSAValue, to: Attribute) -> SSAValue:
    """Convert by ONNX's rules: to bool is `x != 0`, and 8-bit floats saturate."""
    own = element(value)
    if to == i1:
        return value if own == i1 else n.b.compare_number(value, 0, "NE")
    if is_float(to) and byte_size(to) == 1 and n.flag("saturate", True) and to != own:
        wide = n.b.convert(value, f32)
        info = ml_dtypes.finfo(np_dtype(to))
        bounds = (n.b.scalar(float(v), f32) for v in (info.min, info.max))
        inside = n.b.op("clamp", [next(bounds), wide, next(bounds)])
        return n.b.convert(inside, to)
    if is_float(own) and is_integer(to) and byte_size(to) < 4:
        # Through s32: values out of range wrap, as in C and numpy.
        value = n.b.convert(value, element_type("int32"))
    return n.b.convert(value, to)


@operator("BitCast")
def _bit_cast(n: Node) -> SSAValue:
    to = type_of(n.integer("to", 0))
    own = element(n[0])
    if own == i1 and byte_size(to) == 1:
        return n.b.convert(n[0], to)
    if byte_size(to) != byte_size(own) or to == i1:
        refuse(f"{element(n[0])} and {to} differ in width")
    return n.b.bitcast(n[0], to)

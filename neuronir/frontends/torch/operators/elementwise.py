"""Import arithmetic, comparisons and logic; operands get the type and shape of the result."""

from math import pi

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.dtypes import byte_size, from_hlo_name, is_float, is_unsigned
from neuronir.frontends.graph import activations as act
from neuronir.frontends.graph.block import BlockBuilder
from neuronir.frontends.graph.broadcasting import as_pred, broadcast_to
from neuronir.frontends.torch.node import Node, element
from neuronir.frontends.torch.registry import Function, operator

UNARY = {
    "abs": "abs",
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atanh": "atanh",
    "ceil": "ceil",
    "cos": "cosine",
    "cosh": "cosh",
    "erf": "erf",
    "exp": "exponential",
    "expm1": "exponential_minus_one",
    "floor": "floor",
    "log": "log",
    "log1p": "log_plus_one",
    "neg": "negate",
    "rsqrt": "rsqrt",
    "sigmoid": "logistic",
    "sin": "sine",
    "sinh": "sinh",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
}
"""Unary operators with an hlo op."""

_WHOLE = ("ceil", "floor", "trunc", "round")
_OF_PREDICATES = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}


def binary(b: BlockBuilder, opcode: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """Build a binary op on operands of one type and shape; logical for predicates."""
    if element(x) == i1:
        opcode = _OF_PREDICATES.get(opcode, opcode)
    return b.binary(opcode, x, y)


def _unary(opcode: str) -> Function:
    def build(n: Node) -> SSAValue:
        x = n.operand("self", n.type())
        if opcode in _WHOLE and not is_float(n.type()):
            return x
        if opcode == "abs" and is_unsigned(n.type()):
            return x
        return n.b.unary(opcode, x)

    return build


for _name, _opcode in UNARY.items():
    operator(_name)(_unary(_opcode))


def _binary(opcode: str) -> Function:
    return lambda n: binary(n.b, opcode, n.full("self"), n.full("other"))


for _name, _opcode in {
    "mul": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "atan2": "atan2",
}.items():
    operator(_name)(_binary(_opcode))


def _scaled(n: Node, opcode: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """Compute x + alpha * y."""
    alpha = n.value("alpha", 1)
    if alpha != 1:
        y = binary(n.b, "multiply", y, n.b.fill_like(alpha, y))
    return binary(n.b, opcode, x, y)


@operator("add")
def _add(n: Node) -> SSAValue:
    return _scaled(n, "add", n.full("self"), n.full("other"))


@operator("sub")
def _sub(n: Node) -> SSAValue:
    return _scaled(n, "subtract", n.full("self"), n.full("other"))


@operator("rsub")
def _rsub(n: Node) -> SSAValue:
    return _scaled(n, "subtract", n.full("other"), n.full("self"))


@operator("div", "true_divide", "divide")
def _div(n: Node) -> SSAValue:
    mode = n.value("rounding_mode")
    x, y = n.full("self"), n.full("other")
    if mode == "floor":
        return floor_divide(n.b, x, y)
    quotient = n.b.binary("divide", x, y)
    return truncated(n.b, quotient) if mode == "trunc" and is_float(n.type()) else quotient


@operator("floor_divide")
def _floor_divide(n: Node) -> SSAValue:
    return floor_divide(n.b, n.full("self"), n.full("other"))


def floor_divide(b: BlockBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """Return the quotient rounded down, consistent with the remainder."""
    if is_unsigned(element(x)):
        return b.binary("divide", x, y)
    if not is_float(element(x)):
        rest = act.floor_mod(b, x, y)
        return b.binary("divide", b.binary("subtract", x, rest), y)
    rest = b.binary("remainder", x, y)
    zero = b.fill_like(0, rest)
    whole = b.binary("divide", b.binary("subtract", x, rest), y)
    below = b.binary("xor", b.compare(rest, zero, "LT"), b.compare(y, zero, "LT"))
    below = b.binary("and", below, b.compare(rest, zero, "NE"))
    whole = b.select(below, b.binary_number("subtract", whole, 1), whole)
    # The quotient is an integer except for its rounding.
    result = b.unary("floor", b.binary_number("add", whole, 0.5))
    return b.select(b.compare(y, zero, "EQ"), b.binary("divide", x, y), result)


def truncated(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Round x towards zero."""
    down, up = b.unary("floor", x), b.unary("ceil", x)
    return b.select(b.compare_number(x, 0, "LT"), up, down)


@operator("trunc", "fix")
def _trunc(n: Node) -> SSAValue:
    return truncated(n.b, n["self"]) if is_float(n.type()) else n["self"]


@operator("round")
def _round(n: Node) -> SSAValue:
    x = n["self"]
    if not is_float(n.type()):
        return x
    digits = n.value("decimals", 0)
    if not digits:
        return n.b.unary("round_nearest_even", x)
    scale = float(10 ** abs(digits))
    there, back = ("multiply", "divide") if digits > 0 else ("divide", "multiply")
    moved = n.b.unary("round_nearest_even", n.b.binary_number(there, x, scale))
    return n.b.binary_number(back, moved, scale)


@operator("frac")
def _frac(n: Node) -> SSAValue:
    return n.b.binary("subtract", n["self"], truncated(n.b, n["self"]))


@operator("remainder")
def _remainder(n: Node) -> SSAValue:
    return act.floor_mod(n.b, n.full("self"), n.full("other"))


@operator("fmod")
def _fmod(n: Node) -> SSAValue:
    return n.b.binary("remainder", n.full("self"), n.full("other"))


@operator("pow")
def _pow(n: Node) -> SSAValue:
    exponent = n.arguments["exponent"]
    x = n.full("self")
    b = n.b
    if exponent == 2:
        return binary(b, "multiply", x, x)
    if exponent == 3:
        return binary(b, "multiply", binary(b, "multiply", x, x), x)
    if exponent == 0.5:
        return b.unary("sqrt", x)
    if exponent == -0.5:
        return b.unary("rsqrt", x)
    if exponent == 1:
        return x
    return b.binary("power", x, n.full("exponent"))


@operator("reciprocal")
def _reciprocal(n: Node) -> SSAValue:
    return act.reciprocal(n.b, n.operand("self", n.type()))


@operator("square")
def _square(n: Node) -> SSAValue:
    x = n.operand("self", n.type())
    return binary(n.b, "multiply", x, x)


@operator("atan")
def _atan(n: Node) -> SSAValue:
    return act.atan(n.b, n.operand("self", n.type()))


def _by_log(factor: float) -> Function:
    def build(n: Node) -> SSAValue:
        x = n.operand("self", n.type())
        # In f32 also for narrower types, whose factor would be rounded.
        wide = n.b.convert(x, f32) if byte_size(n.type()) < 4 else x
        return n.cast(n.b.binary_number("multiply", n.b.unary("log", wide), factor))

    return build


operator("log2")(_by_log(1.4426950408889634))
operator("log10")(_by_log(0.4342944819032518))


@operator("exp2")
def _exp2(n: Node) -> SSAValue:
    x = n.operand("self", n.type())
    return n.b.binary("power", n.b.fill_like(2, x), x)


@operator("erfc")
def _erfc(n: Node) -> SSAValue:
    x = n.b.unary("erf", n.operand("self", n.type()))
    return n.b.binary("subtract", n.b.fill_like(1, x), x)


@operator("sign", "sgn")
def _sign(n: Node) -> SSAValue:
    x = n["self"]
    if element(x) == i1:
        return x
    if is_unsigned(element(x)):
        return n.b.convert(n.b.compare_number(x, 0, "NE"), element(x))
    if is_float(element(x)):
        # torch returns 0 for NaN, and -0 loses its sign.
        one = n.b.fill_like(1, x)
        negative = n.b.select(n.b.compare_number(x, 0, "LT"), n.b.unary("negate", one), zero(n, x))
        return n.b.select(n.b.compare_number(x, 0, "GT"), one, negative)
    return n.b.unary("sign", x)


def zero(n: Node, x: SSAValue) -> SSAValue:
    """Return zeros of the type of a value."""
    return n.b.fill_like(0, x)


def _numbers_only(opcode: str) -> Function:
    """Build maximum or minimum that returns the other operand where one is NaN."""

    def build(n: Node) -> SSAValue:
        b, x, y = n.b, n.full("self"), n.full("other")
        result = binary(b, opcode, x, y)
        if not is_float(n.type()):
            return result
        result = b.select(b.compare(y, y, "NE"), x, result)
        return b.select(b.compare(x, x, "NE"), y, result)

    return build


operator("fmax")(_numbers_only("maximum"))
operator("fmin")(_numbers_only("minimum"))


@operator("copysign")
def _copysign(n: Node) -> SSAValue:
    b, x, y = n.b, n.b.unary("abs", n.full("self")), n.full("other")
    return b.select(is_negative(b, y), b.unary("negate", x), x)


@operator("angle")
def _angle(n: Node) -> SSAValue:
    """Return pi for negative numbers, 0 for others, and NaN for NaN."""
    b, x = n.b, n.operand("self", n.type())
    below = b.compare_number(x, 0, "LT")
    found = b.select(below, b.fill_like(pi, x), b.fill_like(0, x))
    return b.select(b.compare(x, x, "NE"), x, found)


def is_negative(b: BlockBuilder, x: SSAValue) -> SSAValue:
    """Return whether the sign bit of a float is set, also of -0 and NaN."""
    bits = from_hlo_name({2: "s16", 4: "s32", 8: "s64"}[byte_size(element(x))])
    return b.compare_number(b.bitcast(x, bits), 0, "LT")


@operator("ldexp")
def _ldexp(n: Node) -> SSAValue:
    x, power = n.full("self"), n.full("other")
    return n.b.binary("multiply", x, n.b.binary("power", n.b.fill_like(2, power), power))


# --- comparisons


def _compare(direction: str) -> Function:
    def build(n: Node) -> SSAValue:
        type_ = n.promoted("self", "other")
        x, y = n.full("self", type_), n.full("other", type_)
        return n.b.compare(x, y, direction)

    return build


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    operator(_name)(_compare(_name.upper()))


@operator("isnan")
def _isnan(n: Node) -> SSAValue:
    return act.is_nan(n.b, n["self"])


@operator("isinf")
def _isinf(n: Node) -> SSAValue:
    x = n["self"]
    if not is_float(element(x)):
        return n.b.compare(x, x, "NE")
    return n.b.compare_number(n.b.unary("abs", x), float("inf"), "EQ")


# --- logic


def _logical(opcode: str) -> Function:
    def build(n: Node) -> SSAValue:
        both = []
        for name in ("self", "other"):
            value = as_pred(n.b, n.operand(name, n.promoted(name)))
            both.append(broadcast_to(n.b, value, n.dims()))
        return n.b.binary(opcode, both[0], both[1])

    return build


for _name in ("and", "or", "xor"):
    operator(f"logical_{_name}")(_logical(_name))


@operator("logical_not")
def _logical_not(n: Node) -> SSAValue:
    return n.b.unary("not", as_pred(n.b, n["self"]))


def _bitwise(opcode: str) -> Function:
    return lambda n: n.b.binary(opcode, n.full("self"), n.full("other"))


for _name, _opcode in {
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "__and__": "and",
    "__or__": "or",
    "__xor__": "xor",
    "bitwise_left_shift": "shift_left",
    "bitwise_right_shift": "shift_right_arithmetic",
    "__lshift__": "shift_left",
    "__rshift__": "shift_right_arithmetic",
}.items():
    operator(_name)(_bitwise(_opcode))


@operator("bitwise_not")
def _bitwise_not(n: Node) -> SSAValue:
    return n.b.unary("not", n["self"])


@operator("prims.fma")
def _fma(n: Node) -> SSAValue:
    """Compute a * b + c, to which TorchDynamo rewrites x.addcmul_(y, z, value=tensor).

    fp32 holds products of 16-bit floats exactly, so these are not rounded. No instruction adds to
    an exact product of fp32: it is rounded, as by torch's own implementation on the CPU.
    """
    b, type_ = n.b, n.type()
    wider = f32 if byte_size(type_) < 4 else type_
    a, other, c = (n.full(name, wider) for name in ("a", "b", "c"))
    return n.cast(b.binary("add", b.binary("multiply", a, other), c))


@operator("where")
def _where(n: Node) -> SSAValue:
    pred = broadcast_to(n.b, as_pred(n.b, n["condition"]), n.dims())
    return n.b.select(pred, n.full("self"), n.full("other"))


@operator("clamp", "clip")
def _clamp(n: Node) -> SSAValue:
    return clamped(n, n.full("self"))


@operator("clamp_min")
def _clamp_min(n: Node) -> SSAValue:
    return n.b.binary("maximum", n.full("self"), n.full("min"))


@operator("clamp_max")
def _clamp_max(n: Node) -> SSAValue:
    return n.b.binary("minimum", n.full("self"), n.full("max"))


def clamped(n: Node, x: SSAValue) -> SSAValue:
    """Clamp x to `min` and `max`, either of which may be absent; `max` wins."""
    for name, opcode in (("min", "maximum"), ("max", "minimum")):
        if n.arguments.get(name) is not None:
            x = n.b.binary(opcode, x, n.full(name))
    return x


@operator("_to_copy", "to")
def _to_copy(n: Node) -> SSAValue:
    return cast(n.b, n["self"], n.type())


@operator("prims.convert_element_type")
def _convert_element_type(n: Node) -> SSAValue:
    return cast(n.b, n["a"], n.type())


def cast(b: BlockBuilder, x: SSAValue, type_: Attribute) -> SSAValue:
    """Convert as torch does: to bool as `x != 0`."""
    return as_pred(b, x) if type_ == i1 else b.convert(x, type_)


@operator("clone", "alias", "detach", "contiguous", "lift_fresh_copy", "lift_fresh")
def _same(n: Node) -> SSAValue:
    return n["self"]


@operator("copy")
def _copy(n: Node) -> SSAValue:
    return n.full("src")

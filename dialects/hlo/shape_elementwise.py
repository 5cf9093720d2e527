"""Infer the shapes and dtypes of elementwise ops, constants and iota."""

from xdsl.dialects.builtin import ComplexType, DenseIntOrFPElementsAttr, StringAttr, TensorType, i1
from xdsl.ir import Attribute, Operation

from neuronir.dialects.hlo.attributes import HloResourceAttr, tensor_type
from neuronir.dialects.hlo.kinds import ANY, BITS, FLOAT, FLOAT_OR_COMPLEX, INTEGER, NUMBER, Kind
from neuronir.dialects.hlo.resources import lookup_lazy
from neuronir.dialects.hlo.shape_rules import (
    Check,
    Infer,
    Properties,
    Types,
    Violation,
    dims_of,
    element_of,
    index,
    scalar_of,
    tensor,
)
from neuronir.dialects.support.dtypes import (
    byte_size,
    element_type,
    is_float,
    is_pred,
)


def _need_kind(rule: str, kind: Kind, element: Attribute) -> None:
    if not kind.allows(element):
        raise Violation(rule, f"element type must be {kind.name}, is {element}")


def _unary(kind: Kind) -> Infer:
    def infer(types: Types, properties: Properties) -> Attribute:
        if kind is not ANY:
            _need_kind("C1", kind, element_of(types[0]))
        return types[0]

    return infer


def _binary(kind: Kind) -> Infer:
    def infer(types: Types, properties: Properties) -> Attribute:
        lhs, rhs = types
        if lhs is not rhs and lhs != rhs:
            raise Violation("C1", f"lhs and rhs must have one type, are {lhs} and {rhs}")
        if kind is not ANY:
            _need_kind("C2", kind, element_of(lhs))
        return lhs

    return infer


def _abs(types: Types, properties: Properties) -> Attribute:
    element = element_of(types[0])
    _need_kind("C1", NUMBER, element)
    if isinstance(element, ComplexType):
        return tensor_type(dims_of(types[0], "operand"), element.element_type)
    return types[0]


def _part(types: Types, properties: Properties) -> Attribute:
    element = element_of(types[0])
    _need_kind("C1", FLOAT_OR_COMPLEX, element)
    if isinstance(element, ComplexType):
        return tensor_type(dims_of(types[0], "operand"), element.element_type)
    return types[0]


def _is_finite(types: Types, properties: Properties) -> Attribute:
    _need_kind("C1", FLOAT, element_of(types[0]))
    return tensor_type(dims_of(types[0], "operand"), i1)


def _complex(types: Types, properties: Properties) -> Attribute:
    if types[0] != types[1]:
        raise Violation("C1", f"lhs and rhs must have one type, are {types[0]} and {types[1]}")
    element = element_of(types[0])
    if not is_float(element) or byte_size(element) < 4:
        raise Violation("C2", f"element type must be f32 or f64, is {element}")
    made = ComplexType(element)  # type: ignore[type-var]
    return tensor_type(dims_of(types[0], "lhs"), made)


_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
_COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")


def _compare(types: Types, properties: Properties) -> Attribute:
    if types[0] != types[1]:
        raise Violation("C1", f"lhs and rhs must have one type, are {types[0]} and {types[1]}")
    direction = properties["direction"]
    if not isinstance(direction, StringAttr) or direction.data not in _DIRECTIONS:
        raise Violation("C2", f"direction must be one of {', '.join(_DIRECTIONS)}, is {direction}")
    kind = properties.get("compare_type")
    if isinstance(kind, StringAttr) and kind.data not in _COMPARE_TYPES:
        raise Violation("C3", f"compare_type must be one of {', '.join(_COMPARE_TYPES)}, is {kind}")
    return tensor_type(dims_of(types[0], "lhs"), i1)


def _select(types: Types, properties: Properties) -> Attribute:
    pred, on_true, on_false = types
    if on_true != on_false:
        raise Violation(
            "C1", f"on_true and on_false must have one type, are {on_true} and {on_false}"
        )
    dims = dims_of(pred, "pred")
    if not is_pred(element_of(pred)):
        raise Violation("C2", f"pred must have elements of type i1, is {pred}")
    if dims and dims != dims_of(on_true, "on_true"):
        raise Violation("C3", f"pred must be a scalar or have the shape of {on_true}, is {pred}")
    return on_true


def _clamp(types: Types, properties: Properties) -> Attribute:
    operand = types[1]
    for what, bound in (("min", types[0]), ("max", types[2])):
        if bound != operand and bound != scalar_of(operand):
            raise Violation(
                "C1", f"{what} must have type {operand} or be a scalar of it, is {bound}"
            )
    return operand


def _convert(op: Operation) -> None:
    before, after = dims_of(op.operands[0].type, "operand"), dims_of(op.results[0].type, "result")
    if before != after:
        raise Violation("C1", f"shape {list(before)} must not change, becomes {list(after)}")


def _bitcast_convert(op: Operation) -> None:
    old, new = tensor(op.operands[0].type, "operand"), tensor(op.results[0].type, "result")
    before, after = old.get_shape(), new.get_shape()
    wide, narrow = byte_size(old.element_type), byte_size(new.element_type)
    if wide == narrow:
        expected = before
    elif wide > narrow:
        expected = (*before, wide // narrow)
    else:
        if not before or before[-1] != narrow // wide:
            raise Violation("C1", f"the last dimension of {old} must be {narrow // wide}")
        expected = before[:-1]
    if after != expected:
        raise Violation("C2", f"result shape must be {list(expected)}, is {list(after)}")


def _reduce_precision(op: Operation) -> None:
    if index(op.properties, "exponent_bits") < 1:
        raise Violation("C2", "exponent_bits must be at least 1")
    if index(op.properties, "mantissa_bits") < 0:
        raise Violation("C3", "mantissa_bits must not be negative")


def _constant(op: Operation) -> None:
    value, result = op.properties["value"], op.results[0].type
    if isinstance(value, DenseIntOrFPElementsAttr):
        found: Attribute = value.type
    elif isinstance(value, HloResourceAttr):
        array = lookup_lazy(value)
        found = tensor_type(array.shape, element_type(array.dtype))
    else:
        raise Violation("C1", f"value must be dense elements or an hlo resource, is {value}")
    if found != result:
        raise Violation("C2", f"value has type {found}, the result {result}")


def _iota(op: Operation) -> None:
    result = op.results[0].type
    rank = len(dims_of(result, "result"))
    dimension = index(op.properties, "iota_dimension")
    if not 0 <= dimension < rank:
        raise Violation("C1", f"iota_dimension {dimension} must be below the rank {rank}")
    if isinstance(result, TensorType):
        _need_kind("C2", NUMBER, result.element_type)


INFER: dict[str, Infer] = {
    "hlo.abs": _abs,
    "hlo.real": _part,
    "hlo.imag": _part,
    "hlo.is_finite": _is_finite,
    "hlo.complex": _complex,
    "hlo.compare": _compare,
    "hlo.select": _select,
    "hlo.clamp": _clamp,
    "hlo.copy": _unary(ANY),
    "hlo.negate": _unary(NUMBER),
    "hlo.sign": _unary(NUMBER),
    "hlo.not": _unary(BITS),
    "hlo.reduce_precision": _unary(FLOAT),
}
INFER |= {
    f"hlo.{name}": _unary(FLOAT_OR_COMPLEX)
    for name in (
        "acos acosh asin asinh atanh cbrt cosh cosine exponential exponential_minus_one log "
        "log_plus_one logistic rsqrt sine sinh sqrt tan tanh"
    ).split()
}
INFER |= {
    f"hlo.{name}": _unary(FLOAT)
    for name in "ceil erf floor round_nearest_afz round_nearest_even".split()
}
INFER |= {f"hlo.{name}": _unary(INTEGER) for name in "popcnt count_leading_zeros".split()}
INFER |= {f"hlo.{name}": _binary(ANY) for name in "add maximum minimum multiply".split()}
INFER |= {f"hlo.{name}": _binary(NUMBER) for name in "divide power remainder subtract".split()}
INFER |= {f"hlo.{name}": _binary(BITS) for name in "and or xor".split()}
INFER |= {
    f"hlo.{name}": _binary(INTEGER)
    for name in "shift_left shift_right_arithmetic shift_right_logical".split()
}
INFER["hlo.atan2"] = _binary(FLOAT_OR_COMPLEX)

CHECK: dict[str, Check] = {
    "hlo.convert": _convert,
    "hlo.stochastic_convert": _convert,
    "hlo.bitcast_convert": _bitcast_convert,
    "hlo.reduce_precision": _reduce_precision,
    "hlo.constant": _constant,
    "hlo.iota": _iota,
}

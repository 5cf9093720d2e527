"""Elementwise ops, and the functions of CHLO that hlo has."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import i64_attr, string_attr
from neuronir.frontends.hlo_text.opcodes import OPCODES
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.operators.registry import Function, operator

_NAMES = (
    "abs cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one floor "
    "imag is_finite log log_plus_one logistic negate not popcnt real round_nearest_afz "
    "round_nearest_even rsqrt sign sine sqrt tan tanh bitcast_convert reshape add and atan2 "
    "complex divide maximum minimum multiply or power remainder shift_left "
    "shift_right_arithmetic shift_right_logical subtract xor select clamp partition_id replica_id"
)
_CHLO = "acos acosh asin asinh atanh cosh erf sinh tan"


def _same(opcode: str) -> Function:
    """Return the function of ops that hlo has by the same name, without attributes."""
    count = OPCODES[opcode.replace("_", "-")].operands
    assert count is not None

    def build(c: Context) -> Sequence[SSAValue]:
        c.need_operands(count)
        c.result_type()
        return c.emit(opcode)

    return build


for _name in _NAMES.split():
    operator(_name)(_same(_name))
for _name in _CHLO.split():
    operator(f"chlo.{_name}")(_same(_name))
for _name in ("erf", "copy", "tan"):
    operator(f"mhlo.{_name}")(_same(_name))


@operator("compare")
def _compare(c: Context) -> Sequence[SSAValue]:
    c.need_operands(2)
    properties = {"direction": string_attr(c.word("comparison_direction"))}
    if c.word("compare_type", "") == "TOTALORDER":  # the others follow from the operands
        properties["compare_type"] = string_attr("TOTALORDER")
    return c.emit("compare", properties)


@operator("reduce_precision")
def _reduce_precision(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    names = ("exponent_bits", "mantissa_bits")
    return c.emit("reduce_precision", {name: i64_attr(c.integer(name)) for name in names})


@operator("chlo.square")
def _square(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    return c.emit("multiply", operands=[c.operands[0], c.operands[0]])


@operator("chlo.atan")
def _atan(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    return c.emit("atan2", operands=[c.operands[0], c.b.fill(1, c.result_type())])


@operator("chlo.conj")
def _conj(c: Context) -> Sequence[SSAValue]:
    c.need_operands(1)
    parts = [c.b.op("real", c.operands), c.b.op("imag", c.operands)]
    return c.emit("complex", operands=[parts[0], c.b.unary("negate", parts[1])])

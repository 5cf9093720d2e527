"""Infer the result types of hlo ops from their operands, and verify ops with the same rules."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.hlo import (
    shape_control,
    shape_elementwise,
    shape_linear,
    shape_movement,
    shape_reduction,
)
from neuronir.dialects.hlo.shape_rules import Check, Infer, Violation, bare

_INFER: dict[str, Infer] = {
    **shape_elementwise.INFER,
    **shape_movement.INFER,
    **shape_linear.INFER,
    **shape_reduction.INFER,
    **shape_control.INFER,
}
_CHECK: dict[str, Check] = {
    **shape_elementwise.CHECK,
    **shape_movement.CHECK,
    **shape_reduction.CHECK,
    **shape_control.CHECK,
}
# The result may have an element type other than that of the operands (accumulation).
_ANY_ELEMENT = frozenset(("hlo.dot", "hlo.convolution"))


def can_infer(op_name: str) -> bool:
    """Return whether the operands and properties of an op determine its result type."""
    return op_name in _INFER


def infer_result_type(
    op_name: str, operand_types: Sequence[Attribute], properties: Mapping[str, Attribute]
) -> Attribute:
    """Return the result type of an op such as `hlo.dot`; the element type is that of the lhs.

    Raises VerifyException with the violated rule, and KeyError if the operands and properties do
    not determine the result type (see `can_infer`).
    """
    infer = _INFER[op_name]
    try:
        return infer(operand_types, properties)
    except Violation as violation:
        raise VerifyException(f"{op_name}: {violation.message}") from None


def verifier_of(op_name: str) -> Callable[[Operation], None] | None:
    """Return the verifier of an op, or None if the op has no rules."""
    infer, check = _INFER.get(op_name), _CHECK.get(op_name)
    if infer is None and check is None:
        return None
    any_element = op_name in _ANY_ELEMENT

    def verify(op: Operation) -> None:
        try:
            if infer is not None:
                result = bare(op.results[0].type)
                expected = infer([bare(value.type) for value in op.operands], op.properties)
                if expected is not result and expected != result:
                    _compare(expected, result, any_element)
            if check is not None:
                check(op)
        except Violation as violation:
            raise VerifyException(violation.message) from None

    return verify


def _compare(expected: Attribute, result: Attribute, any_element: bool) -> None:
    if any_element and isinstance(expected, TensorType) and isinstance(result, TensorType):
        if expected.get_shape() == result.get_shape():
            return
        raise Violation(
            "R1",
            f"result shape must be {list(expected.get_shape())}, is {list(result.get_shape())}",
        )
    # xDSL builds TupleType from any sequence, and a list does not equal a tuple.
    if isinstance(expected, TupleType) and isinstance(result, TupleType):
        if [*expected.types] == [*result.types]:
            return
    raise Violation("R1", f"result type must be {expected}, is {result}")

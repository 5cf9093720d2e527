"""The definitions of ops say the same about their operands as the shape rules."""

import pytest
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.irdl import AttrConstraint
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.elementwise import ELEMENTWISE_OPS
from neuronir.dialects.hlo.kinds import TensorOf
from neuronir.dialects.hlo.shape_inference import can_infer, infer_result_type
from neuronir.dialects.support.dtypes import HLO_NAMES, from_hlo_name

ELEMENTS = {name: from_hlo_name(name) for name in HLO_NAMES}
OPS = [op for op in ELEMENTWISE_OPS if can_infer(op.name) and op.name != "hlo.select"]


def constraints_of(op: type[HloOp]) -> list[AttrConstraint]:
    """The constraints of the operands, each of which is a single value."""
    found = []
    for _, definition in op.get_irdl_definition().operands:
        inner = getattr(getattr(definition.constr, "constraint", None), "constr", None)
        assert isinstance(inner, AttrConstraint)
        found.append(inner)
    return found


def allowed(op: type[HloOp]) -> set[str]:
    """The names of the element types that the definition of an op allows for all operands."""
    constraints = [c for c in constraints_of(op) if isinstance(c, TensorOf)]
    return {
        name
        for name, element in ELEMENTS.items()
        if all(c.verifies(TensorType(element, [2])) for c in constraints)
    }


def inferred(op: type[HloOp]) -> set[str]:
    """The names of the element types for which the shape rule of an op gives a result."""
    found = set()
    for name, element in ELEMENTS.items():
        types = [TensorType(element, [2])] * len(op.get_irdl_definition().operands)
        try:
            infer_result_type(op.name, types, {"direction": StringAttr("EQ")})
        except VerifyException:
            continue
        found.add(name)
    return found


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_definition_and_rule_agree(op: type[HloOp]) -> None:
    if op.name == "hlo.complex":  # of f32 and f64 alone
        assert inferred(op) == {"f32", "f64"} < allowed(op)
    else:
        assert allowed(op) == inferred(op)


def test_only_tensors_are_elementwise_operands() -> None:
    for op in OPS:
        if op.name != "hlo.copy":
            assert not any(c.verifies(StringAttr("x")) for c in constraints_of(op))

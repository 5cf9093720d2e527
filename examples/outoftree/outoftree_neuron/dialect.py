"""The toy dialect: one operation, `toy.scale`."""

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, FloatAttr, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class ScaleOp(IRDLOperation):
    """Multiplies every element of a float tensor by one number.

    `%r = toy.scale %x by 2.0 : f32 : tensor<4xf32>`
    """

    _T: ClassVar = VarConstraint("T", base(TensorType))

    name = "toy.scale"
    operand = operand_def(_T)
    factor = prop_def(FloatAttr)
    result = result_def(_T)
    traits = traits_def(Pure())
    assembly_format = "$operand `by` $factor attr-dict `:` type($operand)"

    def verify_(self) -> None:
        """The tensor has the element type of the factor."""
        tensor = self.operand.type
        assert isinstance(tensor, TensorType)
        if not isinstance(tensor.element_type, AnyFloat):
            raise VerifyException(f"scales float tensors, not {tensor}")
        if tensor.element_type != self.factor.type:
            raise VerifyException(f"has a factor of {self.factor.type} for {tensor}")


Toy = Dialect("toy", [ScaleOp], [])

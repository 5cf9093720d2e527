"""The rows dialect: `rows.unit`, what it computes, and how it is tiled."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import Float32Type, FloatAttr, TensorType
from xdsl.ir import Dialect, Operation
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

from neuronir.dialects.hlo.semantics.registry import Bound, binder
from neuronir.dialects.tile.interface import WHOLE, Tiling, register_tiling
from neuronir.dialects.tile.rules import shape_of


@irdl_op_definition
class UnitOp(IRDLOperation):
    """Scales every row (along the last dimension) to length 1: x / sqrt(sum(x * x) + epsilon).

    `%r = rows.unit %x epsilon 1.0e-6 : f32 : tensor<4x8xf32>`
    """

    _T: ClassVar = VarConstraint("T", base(TensorType))

    name = "rows.unit"
    operand = operand_def(_T)
    epsilon = prop_def(FloatAttr)
    result = result_def(_T)
    traits = traits_def(Pure())
    assembly_format = "$operand `epsilon` $epsilon attr-dict `:` type($operand)"

    def verify_(self) -> None:
        """A tensor of f32 with at least one dimension."""
        tensor = self.operand.type
        assert isinstance(tensor, TensorType)
        if not isinstance(tensor.element_type, Float32Type) or not tensor.get_shape():
            raise VerifyException(f"takes rows of f32, not {tensor}")


@binder("rows.unit")
def _compute(op: Operation) -> Bound:
    """The meaning, in numpy: what the interpreter runs at every phase before nc."""
    epsilon = np.float32(epsilon_of(op))

    def unit(x: NDArray[Any]) -> NDArray[Any]:
        squares = np.sum(x * x, axis=-1, keepdims=True, dtype=np.float32)
        return (x / np.sqrt(squares + epsilon)).astype(np.float32)

    return unit


@register_tiling("rows.unit")
def _tiling(op: Operation) -> Tiling:
    """A slice of the result needs the same slice of the operand, and rows only as a whole."""
    last = len(shape_of(op.results[0])) - 1
    return Tiling(((*range(last), WHOLE),), whole=frozenset({last}))


def epsilon_of(op: Operation) -> float:
    """The number that is added to the sum of squares."""
    assert isinstance(op, UnitOp)
    return float(op.epsilon.value.data)


Rows = Dialect("rows", [UnitOp], [])

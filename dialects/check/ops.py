"""Expectations about tensors, checked when the program is evaluated."""

import abc
from typing import ClassVar

from xdsl.dialects.builtin import Float64Type, FloatAttr, TensorType
from xdsl.irdl import (
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
)

from neuronir.dialects.support.ops import NeuronOp


class ExpectOp(NeuronOp, abc.ABC):
    """Compares a computed tensor with the expected one; both have the same type."""

    _T: ClassVar = VarConstraint("T", base(TensorType))

    actual = operand_def(_T)
    expected = operand_def(_T)


@irdl_op_definition
class ExpectEqOp(ExpectOp):
    """Every element is the same; NaN equals NaN, and -0 equals 0.

    `check.expect_eq %actual, %expected : tensor<2xi32>`
    """

    name = "check.expect_eq"
    assembly_format = "$actual `,` $expected attr-dict `:` type($actual)"


@irdl_op_definition
class ExpectCloseOp(ExpectOp):
    """Every element satisfies |actual - expected| <= atol + rtol * |expected|.

    NaN is close to NaN, and an infinity to itself. Both tolerances are 1e-5 unless given.

    `check.expect_close %actual, %expected rtol 1.0e-3 : tensor<2xf32>`
    """

    name = "check.expect_close"
    rtol = opt_prop_def(FloatAttr[Float64Type])
    atol = opt_prop_def(FloatAttr[Float64Type])
    assembly_format = (
        "$actual `,` $expected (`rtol` $rtol^)? (`atol` $atol^)? attr-dict `:` type($actual)"
    )

"""The element type in which loops over tiles accumulate partial results.

A loop that accumulates partial results of a narrow floating-point type carries the accumulator in
fp32. It is rounded once, after the loop:

    %s = scf.for ... iter_args(%acc = %zero) -> tensor<64x128xf32> {
      %p = hlo.dot %x, %y : (tensor<32x64xbf16>, tensor<32x128xbf16>) -> tensor<64x128xf32>
      %n = hlo.add %acc, %p
      scf.yield %n
    }
    %d = hlo.convert %s : tensor<64x128xf32> -> tensor<64x128xbf16>

In bf16, small partial results would be lost in a large accumulator.
"""

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.dialects.tile.interface import tiling_of
from neuronir.passes.hlo.support.values import element


def carried_element(value: SSAValue) -> Attribute:
    """Return the element type in which a loop carries partial results of `value`."""
    kind = element(value)
    op = value.owner
    tiling = tiling_of(op) if isinstance(op, Operation) else None
    rounds = tiling is not None and tiling.combine in ("hlo.add", "hlo.multiply")
    return f32 if rounds and is_float(kind) and byte_size(kind) < byte_size(f32) else kind


def conversion(value: SSAValue, kind: Attribute) -> Operation | None:
    """Return an op that converts `value` to an element type, None if it has that type."""
    if element(value) == kind:
        return None
    assert isinstance(value.type, TensorType)
    type_ = TensorType(kind, value.type.get_shape())
    return ConvertOp.create(operands=[value], result_types=[type_])

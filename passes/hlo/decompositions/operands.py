"""Operands of a product that have f32 on one side and a narrower floating type on the other."""

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, producer


def of_one_type(op: Operation, e: Emitter) -> SSAValue | None:
    """The same dot or convolution with both operands in f32, or in narrow types where the f32
    operand was made of one; None where the tensor engine takes the operands as they are.

    The engine multiplies fp32 by fp32 and narrow types by narrow types, never one by the other.
    """
    types = [element(v) for v in op.operands]
    if types.count(f32) != 1 or not all(is_float(t) and byte_size(t) <= 4 for t in types):
        return None
    wide = types.index(f32)
    operands = list(op.operands)
    source = _source(operands[wide])
    if source is None:
        operands[1 - wide] = e.convert(operands[1 - wide], f32)
    else:
        operands[wide] = source
    return e.like(op, operands, op.results[0].type)


def _source(value: SSAValue) -> SSAValue | None:
    """The value of 16 bits, which every tensor engine multiplies, that `value` holds in f32,
    unchanged."""
    convert = producer(value, "convert")
    if convert is None:
        return None
    source = convert.operands[0]
    return source if element(source) in (bf16, f16) else None

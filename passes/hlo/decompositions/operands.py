"""Unify the operand types of dots of f32 and a narrower float type."""

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, producer


def of_one_type(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the dot or convolution with operands of one type.

    Both operands become f32, or both become narrow if the f32 operand was converted from a narrow
    type. Returns None if the types already match. The engine cannot multiply fp32 by a narrow type.
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
    """Return the 16-bit value from which `value` was converted without change, if any."""
    convert = producer(value, "convert")
    if convert is None:
        return None
    source = convert.operands[0]
    return source if element(source) in (bf16, f16) else None

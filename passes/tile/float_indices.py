"""Compare indices in fp32, which is exact below 2^24 and lets DVE use a per-partition scalar."""

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.hlo.constants import constant_array, constant_op
from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.support.dtypes import byte_size, is_integer
from neuronir.dialects.tile.rules import shape_of

LARGEST = 1 << 24
"""Integers below this are exact in fp32."""

Range = tuple[int, int]
_SAME = ("hlo.broadcast", "hlo.reshape", "hlo.transpose", "hlo.slice", "hlo.reverse", "hlo.copy")
_PAIRS: dict[str, Callable[[int, int], int]] = {
    "hlo.add": lambda a, b: a + b,
    "hlo.subtract": lambda a, b: a - b,
    "hlo.multiply": lambda a, b: a * b,
    "hlo.maximum": max,
    "hlo.minimum": min,
}


def range_of(value: SSAValue) -> Range | None:
    """Return the range of indices that follow from iotas and constants, or None."""
    op = value.owner
    if not isinstance(op, Operation) or not isinstance(value.type, TensorType):
        return None
    if not is_integer(value.type.element_type):
        return None
    if op.name == "hlo.iota":
        return _exact(0, max(0, max(shape_of(value), default=1) - 1))
    if op.name == "hlo.constant":
        array = constant_array(op)
        return _exact(int(array.min()), int(array.max())) if array.size else None
    if op.name in _SAME:
        return range_of(op.operands[0])
    combine = _PAIRS.get(op.name)
    if combine is None:
        return None
    left, right = (range_of(v) for v in op.operands)
    if left is None or right is None:
        return None
    found = [combine(a, b) for a in left for b in right]
    return _exact(min(found), max(found))


def _exact(low: int, high: int) -> Range | None:
    """Return a range whose integers fp32 represents exactly; None for others."""
    return (low, high) if -LARGEST < low and high < LARGEST else None


def compare_in_floats(block: Block) -> None:
    """Convert the operands of such comparisons to fp32.

    One operand may be any integer of at most 32 bits: rounding keeps it on its side of an index.
    """
    made: dict[SSAValue, SSAValue] = {}
    for op in list(block.ops):
        if op.name != "hlo.compare" or not all(map(_is_index, op.operands)):
            continue
        if any(range_of(v) is not None for v in op.operands):
            for i, v in enumerate(op.operands):
                op.operands[i] = in_floats(v, made, op)


def _is_index(value: SSAValue) -> bool:
    type_ = value.type
    return (
        isinstance(type_, TensorType)
        and is_integer(type_.element_type)
        and byte_size(type_.element_type) <= 4
    )


def in_floats(value: SSAValue, made: dict[SSAValue, SSAValue], reader: Operation) -> SSAValue:
    """Return an integer in fp32 for a reader; `made` are the conversions so far.

    Indices are computed in fp32, and other integers converted.
    """
    if value in made:
        return made[value]
    op = value.owner
    known = range_of(value) is not None
    if not isinstance(op, Operation) or not (known or op.name in _SAME):
        new: Operation = ConvertOp.create(operands=[value], result_types=[_float(value.type)])
        if isinstance(op, Operation):
            assert op.parent is not None
            new.location = op.location
            op.parent.insert_op_after(new, op)
        else:
            new.location = reader.location
            first = op.first_op
            assert first is not None
            op.insert_op_before(new, first)
        made[value] = new.results[0]
        return made[value]
    if op.name == "hlo.constant":
        new = constant_op(constant_array(op).astype("float32"))
    else:
        operands = [in_floats(v, made, reader) for v in op.operands]
        new = type(op).create(
            operands=operands,
            result_types=[_float(value.type)],
            properties=op.properties,
            attributes=op.attributes,
        )
    new.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    made[value] = new.results[0]
    return made[value]


def _float(type_: Attribute) -> TensorType[Attribute]:
    assert isinstance(type_, TensorType)
    return TensorType(f32, type_.shape)

"""Broadcast operands of different shapes with numpy's rules, as ONNX and TensorFlow do."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.passes.hlo.support.values import element, shape


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the common shape of all shapes, aligned at the last dimension (NIR_IMP003)."""
    rank = max((len(s) for s in shapes), default=0)
    result = [1] * rank
    for dims in shapes:
        for place, n in enumerate(dims, start=rank - len(dims)):
            if n != 1 and result[place] not in (1, n):
                listed = ", ".join(str(list(s)) for s in shapes)
                raise NeuronError("NIR_IMP003", f"shapes {listed} do not broadcast together")
            result[place] = n if n != 1 else result[place]
    return tuple(result)


def broadcast_to(b: BlockBuilder, value: SSAValue, dims: Sequence[int]) -> SSAValue:
    """Broadcast a value to a shape, aligned at the last dimension; dimensions of size 1 expand."""
    own, dims = shape(value), tuple(dims)
    if own == dims:
        return value
    offset = len(dims) - len(own)
    if offset < 0 or any(n not in (1, dims[offset + i]) for i, n in enumerate(own)):
        raise NeuronError("NIR_IMP003", f"shape {list(own)} does not broadcast to {list(dims)}")
    kept = [i for i, n in enumerate(own) if n == dims[offset + i]]
    value = b.reshape(value, [own[i] for i in kept])
    return b.broadcast(value, dims, [offset + i for i in kept])


def along(b: BlockBuilder, value: SSAValue, dims: Sequence[int], *places: int) -> SSAValue:
    """Broadcast a value to a shape, mapping its dimension i to `places[i]` (biases, scales)."""
    return b.broadcast(value, dims, places)


def together(b: BlockBuilder, *values: SSAValue) -> list[SSAValue]:
    """Broadcast all values to their common shape."""
    dims = broadcast_shape(*(shape(v) for v in values))
    return [broadcast_to(b, v, dims) for v in values]


def need_one_type(*values: SSAValue) -> Attribute:
    """Return the element type that all values share (NIR_IMP004)."""
    if not values:
        refuse("it has no inputs")
    first = element(values[0])
    for value in values[1:]:
        if element(value) != first:
            raise NeuronError(
                "NIR_IMP004", f"element types {first} and {element(value)} must be the same"
            )
    return first


def binary(b: BlockBuilder, opcode: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Build a binary op on operands of one element type, after broadcasting."""
    need_one_type(lhs, rhs)
    return b.binary(opcode, *together(b, lhs, rhs))


def fold(b: BlockBuilder, opcode: str, values: Sequence[SSAValue]) -> SSAValue:
    """Fold all values with a binary op, from the first on."""
    if not values:
        refuse("it has no inputs")
    result = values[0]
    for value in values[1:]:
        result = binary(b, opcode, result, value)
    return result


def compare(b: BlockBuilder, lhs: SSAValue, rhs: SSAValue, direction: str) -> SSAValue:
    """Compare operands (EQ NE LT LE GT GE) after broadcasting."""
    need_one_type(lhs, rhs)
    lhs, rhs = together(b, lhs, rhs)
    return b.compare(lhs, rhs, direction)


def select(b: BlockBuilder, pred: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
    """Select elementwise after broadcasting all three operands."""
    need_one_type(on_true, on_false)
    return b.select(*together(b, pred, on_true, on_false))


def as_pred(b: BlockBuilder, value: SSAValue) -> SSAValue:
    """Return whether each element is not zero."""
    return value if element(value) == i1 else b.compare_number(value, 0, "NE")

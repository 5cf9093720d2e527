"""Operands of different shapes: numpy's rules, which ONNX and TensorFlow share."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.passes.hlo.support.values import element, shape


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all shapes broadcast to, aligned at their last dimension (NIR_IMP003)."""
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
    """The value repeated to a shape; its dimensions are aligned at the last, ones are stretched."""
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
    """The value spread over a shape, its dimension i at place `places[i]` (biases, scales)."""
    return b.broadcast(value, dims, places)


def together(b: BlockBuilder, *values: SSAValue) -> list[SSAValue]:
    """All values broadcast to their common shape."""
    dims = broadcast_shape(*(shape(v) for v in values))
    return [broadcast_to(b, v, dims) for v in values]


def need_one_type(*values: SSAValue) -> Attribute:
    """The element type that all values have (NIR_IMP004)."""
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
    """A binary op of operands of one element type that broadcast together."""
    need_one_type(lhs, rhs)
    return b.binary(opcode, *together(b, lhs, rhs))


def fold(b: BlockBuilder, opcode: str, values: Sequence[SSAValue]) -> SSAValue:
    """A binary op between all values, from the first on."""
    if not values:
        refuse("it has no inputs")
    result = values[0]
    for value in values[1:]:
        result = binary(b, opcode, result, value)
    return result


def compare(b: BlockBuilder, lhs: SSAValue, rhs: SSAValue, direction: str) -> SSAValue:
    """A comparison (EQ NE LT LE GT GE) of operands that broadcast together."""
    need_one_type(lhs, rhs)
    lhs, rhs = together(b, lhs, rhs)
    return b.compare(lhs, rhs, direction)


def select(b: BlockBuilder, pred: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
    """Elementwise choice; all three broadcast together."""
    need_one_type(on_true, on_false)
    return b.select(*together(b, pred, on_true, on_false))


def as_pred(b: BlockBuilder, value: SSAValue) -> SSAValue:
    """Whether each element is not zero."""
    return value if element(value) == i1 else b.compare_number(value, 0, "NE")

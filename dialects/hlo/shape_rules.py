"""Provide building blocks for shape rules."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import IntegerAttr, NoneAttr, TensorType, i1
from xdsl.ir import Attribute, Block, Operation

from neuronir.dialects.hlo.attributes import ints, tensor_type, tuple_type

Types = Sequence[Attribute]
Properties = Mapping[str, Attribute]
Infer = Callable[[Types, Properties], Attribute]
"""The result type that operand types and properties make; Violation if they make none."""

Check = Callable[[Operation], None]
"""Rules beyond the result type; Violation if one does not hold."""


class Violation(Exception):
    """A violated rule: its id within the op (C1, C2, ...) and the reason."""

    def __init__(self, rule: str, message: str) -> None:
        self.message = message
        super().__init__(f"{rule}: {message}")


def tensor(type: Attribute, what: str) -> TensorType[Attribute]:
    """Check that the type is a tensor type of static shape, and return it."""
    if not isinstance(type, TensorType):
        raise Violation("C0", f"{what} must be a tensor, is {type}")
    return type


def dims_of(type: Attribute, what: str) -> tuple[int, ...]:
    """Return the dimensions of a tensor type."""
    return tensor(type, what).get_shape()


def element_of(type: Attribute) -> Attribute:
    """Return the element type of a tensor type."""
    return tensor(type, "operand").element_type


def scalar_of(type: Attribute) -> Attribute:
    """Return the tensor type of rank 0 with the same element type."""
    return tensor_type((), element_of(type))


def index(properties: Properties, name: str) -> int:
    """Return the value of an integer property."""
    value = properties[name]
    assert isinstance(value, IntegerAttr)
    return value.value.data


def need_distinct(rule: str, what: str, dims: Sequence[int], rank: int) -> None:
    """Check that dimension numbers are distinct and in [0, rank)."""
    if len(set(dims)) != len(dims) or any(not 0 <= d < rank for d in dims):
        raise Violation(
            rule, f"{what} {list(dims)} must be distinct dimensions below the rank {rank}"
        )


def need_length(rule: str, what: str, values: Sequence[int], length: int) -> None:
    """Check that a list has the required number of entries."""
    if len(values) != length:
        raise Violation(rule, f"{what} {list(values)} must have {length} entries")


def packed(types: Types) -> Attribute:
    """Return the result type of an op with several inputs: the type itself if single, else a
    tuple.
    """
    return types[0] if len(types) == 1 else tuple_type(types)


def bare(type_: Attribute) -> Attribute:
    """Return a type without its encoding, which shape rules ignore."""
    if isinstance(type_, TensorType) and not isinstance(type_.encoding, NoneAttr):
        return TensorType(type_.element_type, type_.shape)
    return type_


def need_region(
    rule: str, what: str, block: Block | None, arguments: Types, result: Attribute
) -> None:
    """Check that a region takes these arguments and returns this type."""
    if block is None:
        raise Violation(rule, f"{what} must have a block")
    found = [a.type for a in block.args]
    if list(map(bare, found)) != list(map(bare, arguments)):
        raise Violation(rule, f"{what} takes ({_list(found)}), must take ({_list(arguments)})")
    last = block.last_op
    if last is None or last.name != "hlo.return" or len(last.operands) != 1:
        raise Violation(rule, f"{what} must end in hlo.return of one value")
    if bare(last.operands[0].type) != bare(result):
        raise Violation(rule, f"{what} returns {last.operands[0].type}, must return {result}")


def need_returns(rule: str, what: str, block: Block | None, arguments: Types) -> None:
    """Check that a region of scalars takes these element types; its result may have any type."""
    found = [] if block is None else [a.type for a in block.args]
    if found != list(arguments):
        raise Violation(rule, f"{what} takes ({_list(found)}), must take ({_list(arguments)})")


def _list(types: Types) -> str:
    return ", ".join(map(str, types))


def window_sizes(
    rule: str,
    dims: Sequence[int],
    size: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> list[int]:
    """Return the number of positions of a window along each dimension."""
    rank = len(dims)
    for what, values, length in (
        ("window dimensions", size, rank),
        ("window strides", strides, rank),
        ("padding", padding, 2 * rank),
        ("base dilation", base_dilation, rank),
        ("window dilation", window_dilation, rank),
    ):
        need_length(rule, what, values, length)
    for what, values in (
        ("window dimensions", size),
        ("window strides", strides),
        ("base dilation", base_dilation),
        ("window dilation", window_dilation),
    ):
        if any(v < 1 for v in values):
            raise Violation(rule, f"{what} {list(values)} must be positive")
    result: list[int] = []
    for d in range(rank):
        dilated = (dims[d] - 1) * base_dilation[d] + 1 if dims[d] else 0
        dilated += padding[2 * d] + padding[2 * d + 1]
        extent = (size[d] - 1) * window_dilation[d] + 1
        result.append((dilated - extent) // strides[d] + 1 if dilated >= extent else 0)
    return result


def get_ints(properties: Properties, name: str) -> tuple[int, ...]:
    """Return the values of an index list property."""
    return ints(properties[name])


PRED = tensor_type((), i1)

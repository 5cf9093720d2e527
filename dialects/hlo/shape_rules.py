"""What the shape rules of all families are made of."""

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
    """A rule that does not hold: its id within the op (C1, C2 ...) and what breaks it."""

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        self.message = message
        super().__init__(f"{rule}: {message}")


def tensor(type: Attribute, what: str) -> TensorType[Attribute]:
    """The type as a tensor type of static shape."""
    if not isinstance(type, TensorType):
        raise Violation("C0", f"{what} must be a tensor, is {type}")
    return type


def dims_of(type: Attribute, what: str) -> tuple[int, ...]:
    """The dimensions of a tensor type."""
    return tensor(type, what).get_shape()


def element_of(type: Attribute) -> Attribute:
    """The element type of a tensor type."""
    return tensor(type, "operand").element_type


def scalar_of(type: Attribute) -> Attribute:
    """The rank 0 tensor of the same element type."""
    return tensor_type((), element_of(type))


def index(properties: Properties, name: str) -> int:
    """The value of an integer property."""
    value = properties[name]
    assert isinstance(value, IntegerAttr)
    return value.value.data


def need_distinct(rule: str, what: str, dims: Sequence[int], rank: int) -> None:
    """Dimension numbers must differ and lie in [0, rank)."""
    if len(set(dims)) != len(dims) or any(not 0 <= d < rank for d in dims):
        raise Violation(
            rule, f"{what} {list(dims)} must be distinct dimensions below the rank {rank}"
        )


def need_length(rule: str, what: str, values: Sequence[int], length: int) -> None:
    """A list must have one entry for each of something."""
    if len(values) != length:
        raise Violation(rule, f"{what} {list(values)} must have {length} entries")


def packed(types: Types) -> Attribute:
    """One type as itself, several as a tuple: the result of an op of several inputs."""
    return types[0] if len(types) == 1 else tuple_type(types)


def bare(type_: Attribute) -> Attribute:
    """A type without the encoding that says where a tensor lies, which no shape rule is about."""
    if isinstance(type_, TensorType) and not isinstance(type_.encoding, NoneAttr):
        return TensorType(type_.element_type, type_.shape)
    return type_


def need_region(
    rule: str, what: str, block: Block | None, arguments: Types, result: Attribute
) -> None:
    """A region must take these arguments and return this type."""
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
    """A region on scalars must take these element types; what it returns is its own affair."""
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
    """How many positions a window has along each dimension."""
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
    """The values of an index list property."""
    return ints(properties[name])


PRED = tensor_type((), i1)

"""Define the attributes and types of the hlo dialect, and helpers that build index lists."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    TupleType,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from neuronir.dialects.hlo.contents import Content, claim

I64Array = DenseArrayBase[IntegerType]
"""The form of every list of indices: `array<i64: ...>`."""

I64_ARRAY = DenseArrayBase.constr(i64)
"""The constraint for `I64Array`."""


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """A token that orders ops with side effects: HLO's `token[]`."""

    name = "hlo.token"


@irdl_attr_definition
class HloResourceAttr(ParametrizedAttribute):
    """A large constant stored outside the module: `#hlo.resource<"key">`.

    The key is the hash of the content, which lives as long as an attribute that names it.
    """

    name = "hlo.resource"

    key: StringAttr

    def __post_init__(self) -> None:
        """Own the content, if it is there; else as soon as it is."""
        super().__post_init__()
        claim(self.key.data, self)

    def own(self, content: Content) -> None:
        """Keep the content, which is no parameter."""
        object.__setattr__(self, "_content", content)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<"key">`."""
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        """Print `<"key">` and record that the text refers to the resource."""
        with printer.in_angle_brackets():
            printer.print_string('"')
            printer.print_resource_handle("hlo", self.key.data)
            printer.print_string('"')


@lru_cache(maxsize=1 << 14)
def _array_of(values: tuple[int, ...]) -> I64Array:
    return DenseArrayBase.from_list(i64, values)


def i64_array(values: Iterable[int]) -> I64Array:
    """Return `array<i64: values>`; equal lists share one attribute."""
    return _array_of(tuple(int(v) for v in values))


@lru_cache(maxsize=1 << 14)
def _values_of(data: bytes) -> tuple[int, ...]:
    return tuple(i64.unpack(data, len(data) // 8))


def ints(attr: Attribute) -> tuple[int, ...]:
    """Return the values of an `array<i64: ...>`."""
    assert isinstance(attr, DenseArrayBase)
    return _values_of(attr.data.data)


@lru_cache(maxsize=1 << 12)
def i64_attr(value: int) -> IntegerAttr[IntegerType]:
    """Return `value : i64`; equal values share one attribute."""
    return IntegerAttr(value, i64)


@lru_cache(maxsize=1 << 12)
def string_attr(value: str) -> StringAttr:
    """Return a string attribute; equal strings share one attribute."""
    return StringAttr(value)


def tensor_type(shape: Sequence[int], element: Attribute) -> TensorType[Attribute]:
    """Return `tensor<shape x element>`; equal types share one attribute."""
    return _tensor_of(tuple(shape), element)


def tuple_type(types: Iterable[Attribute]) -> TupleType:
    """Return `tuple<types...>`."""
    return TupleType(ArrayAttr(tuple(types)))  # type: ignore[arg-type]


@lru_cache(maxsize=1 << 14)
def _tensor_of(shape: tuple[int, ...], element: Attribute) -> TensorType[Attribute]:
    return TensorType(element, shape)

"""Attributes and types of the hlo dialect, and short ways to build index lists."""

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

I64Array = DenseArrayBase[IntegerType]
"""The form of every list of indices: `array<i64: ...>`."""

I64_ARRAY = DenseArrayBase.constr(i64)
"""The constraint for `I64Array`."""


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """Orders operations with side effects: HLO's `token[]`."""

    name = "hlo.token"


@irdl_attr_definition
class HloResourceAttr(ParametrizedAttribute):
    """A large constant held beside the module: `#hlo.resource<"key">`, key = hash of content."""

    name = "hlo.resource"

    key: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<"key">`."""
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        """Print `<"key">` and remember that the text refers to the resource."""
        with printer.in_angle_brackets():
            printer.print_string('"')
            printer.print_resource_handle("hlo", self.key.data)
            printer.print_string('"')


@lru_cache(maxsize=1 << 14)
def _array_of(values: tuple[int, ...]) -> I64Array:
    return DenseArrayBase.from_list(i64, values)


def i64_array(values: Iterable[int]) -> I64Array:
    """`array<i64: values>`; equal lists share one attribute."""
    return _array_of(tuple(int(v) for v in values))


@lru_cache(maxsize=1 << 14)
def _values_of(data: bytes) -> tuple[int, ...]:
    return tuple(i64.unpack(data, len(data) // 8))


def ints(attr: Attribute) -> tuple[int, ...]:
    """The values of an `array<i64: ...>`."""
    assert isinstance(attr, DenseArrayBase)
    return _values_of(attr.data.data)


@lru_cache(maxsize=1 << 12)
def i64_attr(value: int) -> IntegerAttr[IntegerType]:
    """`value : i64`; equal values share one attribute."""
    return IntegerAttr(value, i64)


@lru_cache(maxsize=1 << 12)
def string_attr(value: str) -> StringAttr:
    """A string attribute; equal strings share one attribute."""
    return StringAttr(value)


def tensor_type(shape: Sequence[int], element: Attribute) -> TensorType[Attribute]:
    """`tensor<shape x element>`; equal types share one attribute."""
    return _tensor_of(tuple(shape), element)


def tuple_type(types: Iterable[Attribute]) -> TupleType:
    """`tuple<types...>`."""
    return TupleType(ArrayAttr(tuple(types)))  # type: ignore[arg-type]


@lru_cache(maxsize=1 << 14)
def _tensor_of(shape: tuple[int, ...], element: Attribute) -> TensorType[Attribute]:
    return TensorType(element, shape)

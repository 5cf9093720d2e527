"""Define layouts: the positions of a tensor's elements, as the encoding of its type.

Each dimension is a list of digits, outermost first. A digit is on partitions or on the free axis of
each partition; along a digit that is on neither, the tensor repeats:

    tensor<1024x64xf32, #tile.layout<sbuf, [128p1, 8f64], [64f1]>>

has rows 8k to 8k + 7 on partition k, contiguously. Digits that repeat on partitions follow:

    tensor<64xf32, #tile.layout<sbuf, [64f1] x [128p1]>>

is the same row on 128 partitions. If digits span dimensions, a single list covers all elements. A
tensor without an encoding is in HBM, row-major.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

MEMORIES = ("hbm", "sbuf", "psum")


@dataclass(frozen=True, slots=True)
class Digit:
    """One factor of a dimension: `size` positions.

    Successive positions are `partition` partitions apart, or `free` elements of a partition. If
    both are 0, the tensor repeats along the digit.
    """

    size: int
    partition: int = 0
    free: int = 0

    def __str__(self) -> str:
        if self.partition:
            return f"{self.size}p{self.partition}"
        return f"{self.size}f{self.free}" if self.free else f"{self.size}r"


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a tensor: its digits by dimension, and its memory ("sbuf", "psum" or "hbm").

    A single list of digits covers all elements. Further digits on partitions repeat the whole
    tensor.
    """

    memory: str
    dims: tuple[tuple[Digit, ...], ...]
    repeats: tuple[Digit, ...] = ()

    def __str__(self) -> str:
        dims = ", ".join(_row(digits) for digits in self.dims)
        text = f"{self.memory}, {dims}" if dims else self.memory
        return f"{text} x {_row(self.repeats)}" if self.repeats else text

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the tensors that it fits, in one dimension if its digits span
        dimensions.
        """
        return tuple(prod(d.size for d in digits) for digits in self.dims)

    def fits(self, shape: Sequence[int]) -> bool:
        """Return whether it is a layout of a tensor of that shape."""
        return self.shape == tuple(shape) or self.shape == (prod(shape),)

    @property
    def partitions(self) -> int:
        """Return the number of partitions in use."""
        digits = [d for dim in (*self.dims, self.repeats) for d in dim if d.partition]
        return sum((d.size - 1) * d.partition for d in digits) + 1

    @property
    def elements(self) -> int:
        """Return the elements of a partition, without gaps."""
        return prod(d.size for dim in self.dims for d in dim if d.free)


@irdl_attr_definition
class LayoutAttr(Data[Layout]):
    """A layout as the encoding of a tensor type."""

    name = "tile.layout"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Layout:
        with parser.in_angle_brackets():
            memory = parser.parse_identifier("a memory")
            if memory not in MEMORIES:
                parser.raise_error(f"a memory is one of {', '.join(MEMORIES)}, not '{memory}'")
            dims = []
            while parser.parse_optional_punctuation(","):
                dims.append(_parse_row(parser))
            repeats = _parse_row(parser) if parser.parse_optional_keyword("x") else ()
            if not all(d.partition for d in repeats):
                parser.raise_error("digits that repeat a value must be on partitions")
            return Layout(memory, tuple(dims), repeats)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.data))


def _row(digits: Sequence[Digit]) -> str:
    return f"[{', '.join(map(str, digits))}]"


def _parse_row(parser: AttrParser) -> tuple[Digit, ...]:
    square = parser.Delimiter.SQUARE
    return tuple(parser.parse_comma_separated_list(square, lambda: _parse_digit(parser)))


def _parse_digit(parser: AttrParser) -> Digit:
    size = parser.parse_integer(allow_boolean=False, allow_negative=False)
    word = parser.parse_identifier("p, f or r")
    kind, step = word[:1], word[1:]
    if kind == "r" and not step:
        return Digit(size)
    if kind not in "pf" or not step.isdecimal() or int(step) == 0:
        parser.raise_error(
            "a digit is SIZEpSTEP on partitions, SIZEfSTRIDE on the free axis, SIZEr"
        )
    return Digit(size, int(step)) if kind == "p" else Digit(size, 0, int(step))


def layout_of(value: SSAValue | Attribute) -> Layout | None:
    """Return the layout of a tensor value or type; None if it has none."""
    type_ = value.type if isinstance(value, SSAValue) else value
    if isinstance(type_, TensorType) and isinstance(type_.encoding, LayoutAttr):
        return type_.encoding.data
    return None


def element_of(value: SSAValue) -> Attribute:
    """Return the element type of a tensor value."""
    type_ = value.type
    assert isinstance(type_, TensorType)
    element: Attribute = type_.element_type
    return element


def with_layout(type_: TensorType[Attribute], layout: Layout | None) -> TensorType[Attribute]:
    """Return the type with that encoding."""
    if layout is None:
        return TensorType(type_.element_type, type_.get_shape())
    return TensorType(type_.element_type, type_.get_shape(), LayoutAttr(layout))

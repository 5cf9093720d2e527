"""Define the attributes of the nc dialect: memory spaces, access patterns, waits and updates."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Data, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from neuronir.dialects.nc.enums import Space


@irdl_attr_definition
class SpaceAttr(ParametrizedAttribute):
    """A memory space of a memref: `#nc.space<"sbuf">`, `"psum"` or `"hbm"`."""

    name = "nc.space"
    space: StringAttr

    @property
    def value(self) -> Space:
        """Return the memory that the space names."""
        return _SPACES[self.space.data]


_SPACES = {space.name.lower(): space for space in Space}

SBUF = SpaceAttr(StringAttr("sbuf"))
PSUM = SpaceAttr(StringAttr("psum"))
HBM = SpaceAttr(StringAttr("hbm"))


@dataclass(frozen=True, slots=True)
class Pattern:
    """An access pattern relative to a buffer, in elements of the type of the access.

    `terms` are pairs of (number of an index operand of the op, coefficient). `dtype`, if present,
    overrides the element type of the buffer; offset, strides and sizes then count elements of that
    type. `partition_stride` is the distance in elements between the rows of consecutive partitions
    (HBM only).
    """

    start: int
    partitions: int
    free: tuple[tuple[int, int], ...]  # (stride, size), outermost first
    offset: int = 0
    terms: tuple[tuple[int, int], ...] = ()
    partition_stride: int = 0
    dtype: str = ""

    @property
    def elements(self) -> int:
        """Return the number of elements per partition."""
        n = 1
        for _, size in self.free:
            n *= size
        return n


@irdl_attr_definition
class PatternAttr(Data[Pattern]):
    """An access pattern, in the syntax of `print_pattern`."""

    name = "nc.ap"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Pattern:
        with parser.in_angle_brackets():
            return parse_pattern(parser, None)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_pattern(printer, self.data, None)


@dataclass(frozen=True, slots=True)
class WaitSpec:
    """Wait until a semaphore has reached const + sum(coefficient * index operand)."""

    semaphore: int
    const: int
    terms: tuple[tuple[int, int], ...] = ()


@irdl_attr_definition
class WaitAttr(Data[WaitSpec]):
    """A wait for a semaphore, in the syntax of `print_wait`."""

    name = "nc.wait"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WaitSpec:
        return parse_wait(parser, None)

    def print_parameter(self, printer: Printer) -> None:
        print_wait(printer, self.data, None)


@dataclass(frozen=True, slots=True)
class UpdateSpec:
    """Add `amount` to a semaphore at completion."""

    semaphore: int
    amount: int


@irdl_attr_definition
class UpdateAttr(Data[UpdateSpec]):
    """An update of a semaphore: `#nc.update<semaphore, amount>`."""

    name = "nc.update"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> UpdateSpec:
        with parser.in_angle_brackets():
            semaphore = parser.parse_integer()
            parser.parse_punctuation(",")
            return UpdateSpec(semaphore, parser.parse_integer())

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.semaphore}, {self.data.amount}>")


def print_pattern(printer: Printer, pattern: Pattern, indices: Sequence[SSAValue] | None) -> None:
    """Print `start:partitions[*stride] | size:stride, ... | offset [+ coefficient * index] [as
    dtype]`.

    Without `indices` the index operands are printed by number: `operand 0`.
    """
    text = f"{pattern.start}:{pattern.partitions}"
    if pattern.partition_stride:
        text += f" * {pattern.partition_stride}"
    text += " | " + ", ".join(f"{size}:{stride}" for stride, size in pattern.free)
    printer.print_string(text + f" | {pattern.offset}")
    _print_terms(printer, pattern.terms, indices)
    if pattern.dtype:
        printer.print_string(f" as {pattern.dtype}")


def print_wait(printer: Printer, wait: WaitSpec, indices: Sequence[SSAValue] | None) -> None:
    """Print `<semaphore, const [+ coefficient * index]>`; `indices` works as in `print_pattern`."""
    printer.print_string(f"<{wait.semaphore}, {wait.const}")
    _print_terms(printer, wait.terms, indices)
    printer.print_string(">")


def _print_terms(
    printer: Printer, terms: Sequence[tuple[int, int]], indices: Sequence[SSAValue] | None
) -> None:
    for operand, coefficient in terms:
        printer.print_string(f" + {coefficient} * ")
        if indices is None:
            printer.print_string(f"operand {operand}")
        else:
            printer.print_ssa_value(indices[operand])


def parse_pattern(parser: AttrParser, indices: list[SSAValue] | None) -> Pattern:
    """Parse the form of `print_pattern`; SSA index values are appended to `indices`."""
    start = parser.parse_integer()
    parser.parse_punctuation(":")
    partitions = parser.parse_integer()
    partition_stride = 0
    if parser.parse_optional_punctuation("*") is not None:
        partition_stride = parser.parse_integer()
    parser.parse_punctuation("|")
    free: list[tuple[int, int]] = []
    size = parser.parse_optional_integer()
    while size is not None:
        parser.parse_punctuation(":")
        free.append((parser.parse_integer(), size))
        if parser.parse_optional_punctuation(",") is None:
            break
        size = parser.parse_integer()
    parser.parse_punctuation("|")
    offset = parser.parse_integer()
    terms = _parse_terms(parser, indices)
    dtype = ""
    if parser.parse_optional_keyword("as") is not None:
        dtype = parser.parse_identifier()
    return Pattern(start, partitions, tuple(free), offset, terms, partition_stride, dtype)


def parse_wait(parser: AttrParser, indices: list[SSAValue] | None) -> WaitSpec:
    """Parse the form of `print_wait`; SSA index values are appended to `indices`."""
    with parser.in_angle_brackets():
        semaphore = parser.parse_integer()
        parser.parse_punctuation(",")
        const = parser.parse_integer()
        return WaitSpec(semaphore, const, _parse_terms(parser, indices))


def _parse_terms(parser: AttrParser, indices: list[SSAValue] | None) -> tuple[tuple[int, int], ...]:
    terms: list[tuple[int, int]] = []
    while parser.parse_optional_punctuation("+") is not None:
        coefficient = parser.parse_integer()
        parser.parse_punctuation("*")
        if parser.parse_optional_keyword("operand") is not None:
            terms.append((parser.parse_integer(), coefficient))
        elif indices is not None and isinstance(parser, Parser):
            terms.append((number_of(indices, parse_defined(parser)), coefficient))
        else:
            parser.raise_error("expected an index operand")
    return tuple(terms)


def parse_defined(parser: Parser) -> SSAValue:
    """Parse an operand without a type: a value that is already defined."""
    operand = parser.parse_unresolved_operand()
    values = parser.ssa_values.get(operand.operand_name, ())
    if operand.index >= len(values):
        parser.raise_error("SSA value used before assignment", operand.span)
    return values[operand.index]


def number_of(values: list[SSAValue], value: SSAValue) -> int:
    """Return the position of `value` in `values`, appending it if it is absent."""
    for i, other in enumerate(values):
        if other is value:
            return i
    values.append(value)
    return len(values) - 1

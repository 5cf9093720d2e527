"""Define the base class of hlo ops, with their compact assembly form.

    %r = hlo.dot %a, %b lhs_contracting_dims = [1], rhs_contracting_dims = [0] {metadata = ...}
           : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>

The form lists the operands, the properties by name (index lists as `[...]`, defaults omitted), the
discardable attributes, and the regions in parentheses. It ends with the type: a single type if all
operands and results share it, otherwise a function type.
"""

import abc
import re
from functools import cache
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Region
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

from neuronir.dialects.hlo.attributes import i64_array, i64_attr, ints, string_attr
from neuronir.dialects.hlo.shape_inference import verifier_of
from neuronir.dialects.support.ops import NeuronOp

_BARE_WORD = re.compile(r"[A-Za-z_]\w*")


# How a property value is printed.
_INDICES, _WORD, _INTEGER, _ANY = range(4)
_KIND_OF_BASE: dict[type[Attribute], int] = {
    DenseArrayBase: _INDICES,
    StringAttr: _WORD,
    IntegerAttr: _INTEGER,
}


@cache
def _kinds(op_type: type[IRDLOperation]) -> dict[str, int]:
    """Return, for each property of an op, how its value is printed."""
    kinds: dict[str, int] = {}
    for name, definition in op_type.get_irdl_definition().properties.items():
        bases = definition.constr.get_bases() or set()
        kinds[name] = _KIND_OF_BASE.get(next(iter(bases)), _ANY) if len(bases) == 1 else _ANY
    return kinds


_verifier = cache(verifier_of)


def _print_property(printer: Printer, name: str, value: Attribute, kind: int) -> None:
    if kind == _INDICES and isinstance(value, DenseArrayBase):
        printer.print_string(f"{name} = [{', '.join(map(str, ints(value)))}]")
    elif kind == _WORD and isinstance(value, StringAttr):
        if _BARE_WORD.fullmatch(value.data):
            printer.print_string(f"{name} = {value.data}")
        else:
            printer.print_string(f"{name} = ")
            printer.print_string_literal(value.data)
    elif isinstance(value, UnitAttr):
        printer.print_string(name)
    elif isinstance(value, IntegerAttr) and value.type == i64:
        printer.print_string(f"{name} = {value.value.data}")
    else:
        printer.print_string(f"{name} = ")
        printer.print_attribute(value)


def _parse_value(parser: Parser, kind: int) -> Attribute:
    if kind == _INDICES:
        return i64_array(
            parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        )
    if kind == _WORD:
        return string_attr(parser.parse_identifier_or_str_literal())
    if (
        kind == _INTEGER
        and (number := parser.parse_optional_integer(allow_boolean=False)) is not None
    ):
        return i64_attr(number)
    return parser.parse_attribute()


class HloOp(NeuronOp, abc.ABC):
    """The base class of all hlo ops."""

    JUDGED_BY_TYPES: ClassVar[bool] = True
    """Whether types and properties decide if an op without regions is right."""

    def verify_(self) -> None:
        """Check the shape and dtype rules of the op."""
        verifier = _verifier(self.name)
        if verifier is not None:
            verifier(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse the form described in the docstring of this module."""
        unresolved = []
        while (operand := parser.parse_optional_unresolved_operand()) is not None:
            unresolved.append(operand)
            if parser.parse_optional_punctuation(",") is None:
                break
        properties = cls._parse_properties(parser)
        attributes = dict(parser.parse_optional_attr_dict())
        regions: list[Region] = parser.parse_region_list()
        parser.parse_punctuation(":")
        position = parser.pos
        signature = parser.parse_optional_function_type()
        if signature is not None:
            operand_types = list(signature.inputs.data)
            result_types = list(signature.outputs.data)
        else:
            single = parser.parse_type()
            operand_types = [single] * len(unresolved)
            result_types = [single]
        operands = parser.resolve_operands(unresolved, operand_types, position)
        return cls.create(
            operands=operands,
            result_types=result_types,
            properties=properties,
            attributes=attributes,
            regions=regions,
        )

    @classmethod
    def _parse_properties(cls, parser: Parser) -> dict[str, Attribute]:
        definitions = cls.get_irdl_definition().properties
        kinds = _kinds(cls)
        properties: dict[str, Attribute] = {}
        while (name := parser.parse_optional_keyword_in(definitions)) is not None:
            if parser.parse_optional_punctuation("="):
                properties[name] = _parse_value(parser, kinds[name])
            else:
                properties[name] = UnitAttr()
            if parser.parse_optional_punctuation(",") is None:
                break
        for name, definition in definitions.items():
            if definition.default_value is not None and name not in properties:
                properties[name] = definition.default_value
        return properties

    def print(self, printer: Printer) -> None:
        """Print the form described in the docstring of this module."""
        separator = " "
        for operand in self.operands:
            printer.print_string(separator)
            printer.print_ssa_value(operand)
            separator = ", "
        separator = " "
        definitions = self.get_irdl_definition().properties
        kinds = _kinds(type(self))
        for name, value in self.properties.items():
            if (definition := definitions.get(name)) is not None:
                if definition.default_value == value:
                    continue
            printer.print_string(separator)
            _print_property(printer, name, value, kinds.get(name, _ANY))
            separator = ", "
        printer.print_op_attributes(self.attributes)
        if self.regions:
            printer.print_string(" (")
            printer.print_list(self.regions, printer.print_region)
            printer.print_string(")")
        printer.print_string(" : ")
        types = {*self.operand_types, *self.result_types}
        if len(types) == 1 and len(self.results) == 1:
            printer.print_attribute(types.pop())
        else:
            printer.print_function_type(self.operand_types, self.result_types)

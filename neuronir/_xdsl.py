"""Provide a faster parser with op locations, a faster printer, and a verifier that names the op.
These
are subclasses and separate functions; xDSL's classes are not modified. They read private members of
xDSL, so check this file (and dialects/support/ops.py, walking.py and cloning.py) when the version
of xDSL changes.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, ErasedSSAValue, Operation, SSAValue, TypeAttribute
from xdsl.parser import AttrParser, Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRToken, MLIRTokenKind

from neuronir._xdsl_verify import Verified, keys_of, plan_verifier
from neuronir.dialects.support.walking import ops_of, walk

# Groups: 1 bare identifier, 2 %identifier, 3 integer, 4 punctuation. Everything else (strings,
# floats, hexadecimal, #attr, !type, end of file) is left to xDSL's own lexer. Possessive, or a
# long run of empty lines would be tried in every way of cutting it up.
_TOKEN = re.compile(
    r"(?:\s++|//[^\n]*+)*+"
    r"(?:([a-zA-Z_][a-zA-Z0-9_$.]*)"
    r"|(%(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*))"
    r"|(0(?![x0-9.])|[1-9][0-9]*(?![0-9.]))"
    r"|(->|[:,()\[\]}<>=+/*?|]|-(?!>)|\{(?!-#)))",
    re.ASCII,
)
_KIND = {
    1: MLIRTokenKind.BARE_IDENT,
    2: MLIRTokenKind.PERCENT_IDENT,
    3: MLIRTokenKind.INTEGER_LIT,
}
_NUMBERS = re.compile(r"(_\d+)+$")
_PUNCTUATION = dict(KIND_BY_PUNCTUATION_SPELLING)


AttributeT = TypeVar("AttributeT", bound=Attribute)


def trusted(class_: type[AttributeT], **parameters: Any) -> AttributeT:
    """Create an attribute from valid parameters, skipping the checks, which take most of the
    time.
    """
    made = object.__new__(class_)
    made.__dict__.update(parameters)
    return made


# A whole shaped type without nested types or strings: its text determines its meaning.
_SHAPED = re.compile(r"(?:tensor|memref|vector)<[^<>\"!\n]*>")


class FastLexer(MLIRLexer):
    """The same tokens as xDSL's lexer, with one regular expression for the common ones."""

    # Possessive: xDSL's own tries every way to cut up a string that does not end (2 to the power of
    # its length; docs/upstream.md).
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def lex(self) -> MLIRToken:
        match = _TOKEN.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastindex
        assert group is not None
        start, end = match.span(group)
        self.pos = end
        kind = _PUNCTUATION[match[4]] if group == 4 else _KIND[group]
        # A frozen dataclass pays one object.__setattr__ per field; fill its dict at once instead.
        span: Span[str] = object.__new__(Span)
        span.__dict__.update(start=start, end=end, input=self.input, line_offset=0)
        return Token(kind, span)


class _Element(AttrParser._TensorLiteralElement):
    """Parse a number of a dense literal: a hexadecimal one is the bits of a float, as in MLIR.

    xDSL prints NaN and infinities in this form, but reads them back as integers.
    """

    def to_type(
        self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType
    ) -> Any:
        text = self.span.text
        if isinstance(type, AnyFloat) and text[:2] in ("0x", "0X"):
            try:
                bits = int(text, 16).to_bytes(type.compile_time_size, "little")
            except OverflowError:
                parser.raise_error(f"{text} has more bits than {type}", at_position=self.span)
            return next(iter(type.iter_unpack(bits)))
        return super().to_type(parser, type)


_OP_NAME = re.compile(r'"?([\w.$-]+)')


class LocatedParser(Parser):
    """A faster xDSL parser that gives every op without a location its position in the file.

    The position is that of the op's name, as in mlir-opt.
    """

    _TensorLiteralElement = _Element

    def __init__(self, ctx: Context, text: str, name: str) -> None:
        super().__init__(ctx, "", name)
        lexer = FastLexer(Input(text, name))
        self._parser_state = ParserState(lexer)
        self._filename = StringAttr(name)
        self._newlines = [m.start() for m in re.finditer("\n", text)]
        self._name_positions: list[int] = []
        self._types: dict[str, TypeAttribute] = {}
        # Locations that are defined later in the file, by the id of their placeholder.
        self._later: dict[int, tuple[LocationAttr, str, Span]] = {}

    def location_at(self, position: int) -> FileLineColLoc:
        """Return the location attribute of an offset into the text."""
        line = bisect_right(self._newlines, position - 1)
        start = self._newlines[line - 1] + 1 if line else 0
        return FileLineColLoc(self._filename, IntAttr(line + 1), IntAttr(position - start + 1))

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            module = super().parse_module(allow_implicit_module)
            if self._later:
                self._resolve_locations(module)
            return module
        except ParseError:
            # An undefined value is only detected at the end of the file; point at its use.
            if self._current_token.kind is MLIRTokenKind.EOF:
                self._raise_if_undefined()
            raise

    def parse_optional_location(self) -> LocationAttr | None:
        """Parse `loc(...)`; the alias of `loc(#loc1)` may be defined at the end of the file."""
        if not self.parse_optional_characters("loc"):
            return None
        with self.in_parens():
            token = self._current_token
            if token.kind is MLIRTokenKind.HASH_IDENT and token.text not in self.attribute_aliases:
                self._consume_token()
                later = NameLoc(StringAttr(token.text), NoneAttr())
                self._later[id(later)] = (later, token.text, token.span)
                return later
            return self._parse_location()

    def _parse_location(self) -> LocationAttr:
        """Parse a location; xDSL reads no dictionary in `fused<{...}>[...]`."""
        if self.parse_optional_keyword("fused") is None:
            return super()._parse_location()
        facts: Attribute = NoneAttr()
        if self.parse_optional_punctuation("<") is not None:
            facts = self.parse_attribute()
            self.parse_punctuation(">")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(ArrayAttr(parts), facts)

    def _resolve_locations(self, module: ModuleOp) -> None:
        """Replace locations that were read before their definition."""
        for op in walk(module):
            op.location = self._resolved(op.location)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        argument.location = self._resolved(argument.location)

    def _resolved(self, location: LocationAttr) -> LocationAttr:
        found = self._later.get(id(location))
        if found is None:
            return location
        _, name, span = found
        attribute = self.attribute_aliases.get(name)
        if not isinstance(attribute, LocationAttr):
            self.raise_error(f"location '{name}' is not defined", span)
        return attribute

    def _raise_if_undefined(self) -> None:
        for name, references in self.forward_ssa_references.items():
            for use in (use for value in references.values() for use in value.uses):
                location = use.operation.location
                if isinstance(location, FileLineColLoc) and location.filename == self._filename:
                    line, column = location.line.data, location.column.data
                    start = self._newlines[line - 2] + 1 if line > 1 else 0
                    self.raise_error(f"use of undefined value '%{name}'", start + column - 1)

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._name_positions.append(self._current_token.span.start)
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError:
            # xDSL points behind the name.
            self.raise_error(f"operation '{name}' is not registered", self._name_positions[-1])

    def parse_operation(self) -> Operation:
        try:
            op = super().parse_operation()
        except VerifyException as error:  # of an assembly format, which has no position
            position = self._name_positions[-1]
            name = _OP_NAME.match(self.lexer.input.content, position)
            self.raise_error(f"'{name[1] if name else '?'}' op {error}", position)
        position = self._name_positions.pop()
        if isinstance(op.location, UnknownLoc):
            op.location = self.location_at(position)
        return op

    def _parse_optional_builtin_parametrized_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            return None
        match = _SHAPED.match(self.lexer.input.content, token.span.start)
        if match is None:
            return super()._parse_optional_builtin_parametrized_type()
        text = match[0]
        known = self._types.get(text)
        if known is not None:
            self._resume_from(match.end())
            return known
        parsed = super()._parse_optional_builtin_parametrized_type()
        if parsed is not None:
            self._types[text] = parsed
        return parsed


@dataclass(eq=False, repr=False)
class NeuronPrinter(Printer):
    """A faster xDSL printer; constants above `elide_above` elements print as a placeholder."""

    elide_above: int | None = field(default=None, kw_only=True)
    _locations: dict[Attribute, int] = field(default_factory=dict, init=False)
    _numbers: dict[int, int] = field(default_factory=dict, init=False)

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if self.stream is None or "\n" in text:
            super().print_string(text, indent=indent)
            return
        self._current_column += len(text)
        self.stream.write(text)

    def print_ssa_value(self, value: SSAValue) -> str:
        hint = value.name_hint
        if hint and hint[-1].isdigit() and value not in self._ssa_values:
            # xDSL removes one number from a name, so `x_1` of `x_1_2` would meet the second `x`.
            base = _NUMBERS.sub("", hint)
            if base:
                count = self.ssa_names.get(base, 0)
                self.ssa_names[base] = count + 1
                self._ssa_values[value] = f"{base}_{count}" if count else base
        return super().print_ssa_value(value)

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, FusedLoc) and not self.printing_location:
            number = self._numbers.get(id(attribute))
            if number is None:
                number = self._locations.setdefault(attribute, len(self._locations) + 1)
                self._numbers[id(attribute)] = number
            self.print_string(f"loc(#loc{number})")
            return
        if (
            self.elide_above is not None
            and isinstance(attribute, DenseIntOrFPElementsAttr)
            and len(attribute) > self.elide_above
            and not attribute.is_splat()
        ):
            self.print_string("dense_resource<__elided__> : ")
            super().print_attribute(attribute.type)
            return
        super().print_attribute(attribute)

    def print_locations(self) -> None:
        """Print the definitions of the fused locations that were printed."""
        for location, number in self._locations.items():
            self.print_string(f"\n#loc{number} = ")
            super().print_attribute(location)


def print_module(
    op: Operation,
    stream: IO[str],
    ctx: Context | None = None,
    *,
    elide_above: int | None = None,
    debuginfo: bool = False,
    generic: bool = False,
) -> None:
    """Print `op` as MLIR text; with a context also its resources, unless elided."""
    printer = NeuronPrinter(
        stream, print_generic_format=generic, print_debuginfo=debuginfo, elide_above=elide_above
    )
    printer.print_op(op)
    printer.print_locations()
    if ctx is not None and elide_above is None:
        # A frontend makes ops without a context, so their dialect need not be loaded yet.
        used = [ctx.get_optional_dialect(name) for name in printer._dialect_resources]
        printer.print_metadata([dialect for dialect in used if dialect is not None])
    stream.write("\n")


class OpVerifyError(VerifyException):
    """A verification error with its op."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(message)
        self.op = op


def verify_located(op: Operation, verified: Verified | None = None) -> None:
    """Verify `op` and its contents; raises OpVerifyError with the first invalid op.

    `verified` has the results of earlier verifications.
    """
    _verify(op, Verified() if verified is None else verified)


def _verify(op: Operation, verified: Verified) -> None:
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            for inner in ops_of(block):
                if inner.regions or inner is last or inner._successors:
                    _verify(inner, verified)
                else:
                    _verify_leaf(inner, verified)
            if last is None:
                _attribute(op, block)
    plan_verifier(type(op))
    _attribute(op)


def _verify_leaf(op: Operation, verified: Verified) -> None:
    """Verify an op without regions or successors that is not a terminator."""
    keys = keys_of(op) if getattr(op, "JUDGED_BY_TYPES", False) else None
    right = verified.right
    if keys is not None and keys[0] in right and keys[1] in right:
        return
    plan_verifier(type(op))
    if any(type(operand) is ErasedSSAValue for operand in op.operands):
        _attribute(op)
    try:
        op.verify_()  # the rest of `verify` concerns regions, successors and terminators
    except OpVerifyError:
        raise
    except (VerifyException, ValueError) as error:
        raise OpVerifyError(op, one_line(str(error))) from error
    if keys is not None:
        verified.add(keys, op)


def _attribute(op: Operation, block: Block | None = None) -> None:
    """Verify `op` without the ops inside it, or one of its empty blocks; errors refer to `op`."""
    try:
        if block is None:
            _verify_place(op)
            op.verify_()
        else:
            block.verify()
    except OpVerifyError:
        raise
    except (VerifyException, ValueError) as error:
        raise OpVerifyError(op, one_line(str(error))) from error


def _verify_place(op: Operation) -> None:
    """Check what `op.verify` checks before the op's own rules.

    `op.verify` is not called, because for an invalid op it prints the whole module into the notes
    of the exception.
    """
    if any(isinstance(operand, ErasedSSAValue) for operand in op.operands):
        raise ValueError("Erased SSA value is used by the operation")
    block = op.parent
    region = None if block is None else block.parent
    if op.successors:
        if block is None or region is None:
            raise VerifyException("has successors but does not belong to a block or a region")
        if block.last_op is not op:
            raise VerifyException("has successors but does not terminate its block")
        if any(successor.parent is not region for successor in op.successors):
            raise VerifyException("branches to a block of a different region")
    if block is None or region is None or block.last_op is not op or op.has_trait(IsTerminator):
        return
    if len(region.blocks) > 1:
        raise VerifyException(
            "ends a block of a region with several blocks but is not a terminator"
        )
    if region.parent is not None and not region.parent.has_trait(NoTerminator):
        raise VerifyException("ends the block of a region but is not a terminator")


def one_line(text: str) -> str:
    """xDSL's messages span lines; a diagnostic is one line."""
    return " ".join(part.strip() for part in text.splitlines() if part.strip())

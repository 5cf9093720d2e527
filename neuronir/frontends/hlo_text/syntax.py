"""Parse HLO text to plain records with the lark grammar; syntax errors show a caret."""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.frontends.hlo_text.alike import AlikeLexer, Instruction, Known


@dataclass
class Computation:
    """One computation of the text."""

    name: str
    is_entry: bool
    token: Token
    instructions: list[Instruction] = field(default_factory=list)
    attributes: list[Token] = field(default_factory=list)


@dataclass
class HloText:
    """A whole module of the text."""

    name: str
    attributes: list[Token]
    tables: list[Token]
    computations: list[Computation]


class _Records(Transformer[Token, HloText]):
    """Builds the records while parsing, so that no tree is created."""

    def instruction(self, children: list[Token]) -> Instruction:
        """Return the tokens of an instruction."""
        return Instruction(children)

    def computation(self, children: list[Any]) -> Computation:
        """Collect instructions; the signature repeats the parameters and is ignored."""
        token: Token = children[0]
        is_entry = token.startswith("ENTRY")
        name = token.removeprefix("ENTRY").strip().lstrip("%") if is_entry else token.lstrip("%")
        record = Computation(name, is_entry, token)
        for child in children[1:]:
            if isinstance(child, Instruction):
                record.instructions.append(child)
            elif isinstance(child, Known):
                record.instructions += child.instructions
            elif child.type == "ATTRIBUTE":
                record.attributes.append(child)
        return record

    def start(self, children: list[Any]) -> HloText:
        """Return the module."""
        header: Token = children[0]
        return HloText(
            header.split(None, 1)[1].lstrip("%"),
            [c for c in children[1:] if isinstance(c, Token) and c.type == "ATTRIBUTE"],
            [c for c in children[1:] if isinstance(c, Token) and c.type == "TABLE"],
            [c for c in children[1:] if isinstance(c, Computation)],
        )


_WHAT = {
    "HEADER": "`HloModule <name>`",
    "TABLE": "a table such as FileNames",
    "COMPUTATION": "a computation such as `ENTRY main {`",
    "INSTRUCTION": "an instruction such as `x = f32[] add(a, b)`",
    "SHAPE": "a shape such as `f32[2,3]{1,0}`",
    "TUPLE_SHAPE": "a tuple shape in balanced parentheses",
    "OPCODE": "an opcode and `(`",
    "ARGUMENTS": "operands in balanced parentheses",
    "ATTRIBUTE": "an attribute such as `, dimensions={0}`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "$END": "the end of the text",
    "__ANON_0": "`->`",
    "EQUAL": "`=`",
}


@cache
def _parser(*, alike: bool) -> Lark:
    grammar = files("neuronir.frontends.hlo_text").joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        transformer=_Records(),
        maybe_placeholders=False,
        propagate_positions=False,
        _plugins={"ContextualLexer": AlikeLexer} if alike else {},
    )


def excerpt(text: str, line: int, column: int) -> str:
    """Return the source line with a caret under the column (from 1), cut to 100 columns."""
    lines = text.split("\n")
    source = lines[line - 1] if line <= len(lines) else ""
    start = max(0, column - 60)
    shown = source[start : start + 100].replace("\t", " ")
    return f"    {shown}\n    {' ' * (column - 1 - start)}^"


def error_at(
    code: str, message: str, text: str, filename: str, offset: int, help: str | None = None
) -> NeuronError:
    """Create a user error at an offset of the text."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return NeuronError(
        code,
        message,
        location=SourceLocation(filename, line, column),
        excerpt=excerpt(text, line, column),
        help=help,
    )


def _expected(names: object) -> str:
    known = {_WHAT.get(str(n), str(n)) for n in names} if isinstance(names, (set, list)) else set()
    known.discard("KNOWN")
    return " or ".join(sorted(known)) if known else "something else"


def _syntax_error(error: UnexpectedInput, text: str, filename: str) -> NeuronError:
    if isinstance(error, UnexpectedCharacters):
        offset = error.pos_in_stream or 0
        found = repr(text[offset : offset + 1])
        message = f"syntax error at {found}: expected {_expected(error.allowed)}"
    elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
        offset = error.token.start_pos or 0
        found = repr(text[offset : offset + 20].split("\n")[0])
        message = f"syntax error at {found}: expected {_expected(error.accepts or error.expected)}"
    else:
        offset = len(text.rstrip())
        names = error.expected if isinstance(error, (UnexpectedToken, UnexpectedEOF)) else []
        message = f"unexpected end of the text: expected {_expected(names)}"
    return error_at("NIR_HLO001", message, text, filename, offset)


def parse_text(text: str, filename: str, *, alike: bool = True) -> HloText:
    """Parse HLO text; a syntax error raises NeuronError NIR_HLO001 with line, column and caret.

    `alike` skips lines that are similar to earlier ones, without effect on the result.
    """
    if alike:
        try:
            return _parse(text, alike=True)
        except UnexpectedInput:
            pass  # or the `alike` lexer rejects text that the grammar accepts
    try:
        return _parse(text, alike=False)
    except UnexpectedInput as error:
        raise _syntax_error(error, text, filename) from None


def _parse(text: str, *, alike: bool) -> HloText:
    result = _parser(alike=alike).parse(text)
    assert isinstance(result, HloText)
    return result

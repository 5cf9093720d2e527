"""Lex lines of HLO text that differ only in names without running the grammar again.

A large module repeats the same few hundred instructions. This lexer records the tokens that the
grammar found in an instruction on a line of its own. A line that is equal except for numbered
names, such as `add.17`, has the same tokens, because a token expression that matches one such name
matches all of them. For consecutive known lines the parser gets a single token, KNOWN, with their
instructions. All other text is lexed by the grammar.

A known line must be followed by a new instruction or the end of the computation. If an attribute
follows, the lexer rejects the text, so callers must parse again without this lexer after a syntax
error.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lark import Token
from lark.lexer import ContextualLexer

_NUMBERED = re.compile(r"([A-Za-z_]\w*+\.\d++|\(\d++\))")
"""A name in XLA's form, or the text between the parentheses of a parameter."""
_LONGEST = 2000
"""Characters of a line: longer lines hold the values of a constant and never repeat."""


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a token in similar lines: columns from 0 without names, and names before
    it.
    """

    type: str
    start: int
    names_before_start: int
    end: int
    names_before_end: int


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """The common parts of similar lines. The first name is that of the instruction."""

    places: tuple[Place, ...]
    opcode: str
    is_root: bool
    column: int


class Instruction:
    """An instruction of the text.

    `form` is None if no other line is similar. Otherwise it is the form of line `line` (from 1),
    which has the numbered names `names`, in order.
    """

    __slots__ = ("_text", "_tokens", "form", "is_root", "line", "name", "names", "opcode")

    def __init__(self, tokens: list[Token]) -> None:
        head = tokens[0]
        self.is_root = _is_root(head)
        self.name = (head[4:].lstrip() if self.is_root else head).lstrip("%")
        self.opcode = str(tokens[2])
        self.form: Form | None = None
        self.names: list[str] = []
        self.line = 0
        self._tokens: list[Token] | None = tokens
        self._text = ""

    @classmethod
    def like(cls, form: Form, names: list[str], text: str, line: int) -> "Instruction":
        """Create the instruction of a line with a form and these names."""
        made = object.__new__(cls)
        made.is_root = form.is_root
        made.name = names[0]
        made.opcode = form.opcode
        made.form = form
        made.names = names
        made.line = line
        made._tokens = None
        made._text = text
        return made

    @property
    def tokens(self) -> list[Token]:
        """Name, shape, opcode, arguments, then the attributes."""
        if self._tokens is None:
            assert self.form is not None
            length = (0, *accumulate(len(name) for name in self.names))
            self._tokens = []
            for place in self.form.places:
                start = place.start + length[place.names_before_start]
                text = self._text[start : place.end + length[place.names_before_end]]
                self._tokens.append(Token(place.type, text, line=self.line, column=start + 1))
        return self._tokens


def _is_root(head: str) -> bool:
    return head.startswith("ROOT") and head[4:5].isspace()


class Known(Token):
    """A token for instructions on lines of their own."""

    instructions: list[Instruction]

    @classmethod
    def of(cls, instructions: list[Instruction]) -> "Known":
        """Create the token of these instructions."""
        token = cls("KNOWN", "", line=instructions[0].line, column=1)
        token.instructions = instructions
        return token


class AlikeLexer(ContextualLexer):
    """The grammar's lexer, with a shortcut for lines that are similar to earlier ones."""

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
        """Yield the tokens of the text; the parser consumes each before it requests the next."""
        memo = _Memo(lexer_state.text.text)
        states = parser_state.parse_conf.states
        place = lexer_state.line_ctr
        latest: list[Token] = []  # of the current instruction
        for token in super().lex(lexer_state, parser_state):
            if token.type in ("INSTRUCTION", "RBRACE"):
                memo.learn(latest)
                latest = []
            if token.type != "EQUAL":
                latest.append(token)
            yield token
            if "KNOWN" in states[parser_state.position]:
                known, end = memo.read(place.char_pos, place.line)
                if known:
                    memo.learn(latest)
                    latest = []
                    place.feed(memo.text[place.char_pos : end])
                    yield Known.of(known)


class _Memo:
    """The known lines of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.forms: dict[tuple[str, ...], Form] = {}

    def read(self, start: int, line: int) -> tuple[list[Instruction], int]:
        """Return the instructions in the known lines that follow an offset, and the offset after
        them.

        There are none if the line continues after them.
        """
        text, forms = self.text, self.forms
        found: list[Instruction] = []
        end = text.find("\n", start)
        if end < 0 or text[start:end].strip():
            return found, start
        while True:
            start, line = end + 1, line + 1
            end = text.find("\n", start)
            if not 0 <= end - start <= _LONGEST:
                return found, start
            content = text[start:end]
            pieces = _NUMBERED.split(content)
            form = forms.get(tuple(pieces[::2]))
            if form is None:
                return found, start
            found.append(Instruction.like(form, pieces[1::2], content, line))

    def learn(self, tokens: list[Token]) -> None:
        """Record the tokens of an instruction, if it has a line of its own."""
        if not tokens or tokens[0].type != "INSTRUCTION":
            return
        spans = [_span(token) for token in tokens]
        first, last = spans[0][0], spans[-1][1]
        start = self.text.rfind("\n", 0, first) + 1
        text = self.text[start : self.text.find("\n", last)]
        around = text[: first - start] + text[last - start :]
        if "\n" in text or len(text) > _LONGEST or around.strip():
            return
        pieces = _NUMBERED.split(text)
        made = Instruction(tokens)
        if len(pieces) < 2 or made.name != pieces[1]:
            return
        names = [match.span() for match in _NUMBERED.finditer(text)]
        places: list[Place] = []
        for token, (begin, end) in zip(tokens, spans, strict=True):
            columns = _column(begin - start, names), _column(end - start, names)
            if columns[0] is None or columns[1] is None:
                return
            places.append(Place(token.type, *columns[0], *columns[1]))
        form = Form(tuple(places), made.opcode, made.is_root, first - start + 1)
        self.forms[tuple(pieces[::2])] = form


def _span(token: Token) -> tuple[int, int]:
    assert token.start_pos is not None and token.end_pos is not None
    return token.start_pos, token.end_pos


def _column(column: int, names: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return a column without the names before it, and their number; None within a name."""
    before = 0
    for count, (start, end) in enumerate(names):
        if column <= start:
            return column - before, count
        if column < end:
            return None
        before += end - start
    return column - before, len(names)

"""Lines of HLO text that differ only in names: the grammar reads the first, the others are like it.

A large module is the same few hundred instructions again and again. The lexer here remembers which
tokens the grammar found in an instruction that is a line of its own. A line that is the same but
for numbered names, `add.17`, has the same tokens: whatever of a token's expression takes in one
such name takes in another. Of lines in a row that are known the parser gets one token, KNOWN, with
their instructions; everything else is lexed as the grammar says. Behind a line that is known must
come a new instruction or the end of the computation. Where an attribute comes the text is refused;
so whoever gets a syntax error with this lexer has to parse without it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lark import Token
from lark.lexer import ContextualLexer

_NUMBERED = re.compile(r"([A-Za-z_]\w*+\.\d++|\(\d++\))")
"""A name as XLA makes them, or what is between the parentheses of a parameter."""
_LONGEST = 2000
"""Characters of a line: longer ones hold the numbers of a constant and are like no other."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a token is in lines that are alike: columns from 0 without the names, names before."""

    type: str
    start: int
    names_before_start: int
    end: int
    names_before_end: int


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """What lines that are alike have in common. The first of the names is the instruction's."""

    places: tuple[Place, ...]
    opcode: str
    is_root: bool
    column: int


class Instruction:
    """An instruction. `form` is None where no other line is like its line; else that is `line`
    (from 1), with the numbered names `names`, in order."""

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
        """The instruction of a line that has a form and these names."""
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
    """A token that stands for instructions in lines of their own."""

    instructions: list[Instruction]

    @classmethod
    def of(cls, instructions: list[Instruction]) -> "Known":
        """The token of these instructions."""
        token = cls("KNOWN", "", line=instructions[0].line, column=1)
        token.instructions = instructions
        return token


class AlikeLexer(ContextualLexer):
    """The grammar's lexer, but for lines that are like earlier ones."""

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
        """The tokens of the text. The parser takes in each before the next is asked for."""
        memo = _Memo(lexer_state.text.text)
        states = parser_state.parse_conf.states
        place = lexer_state.line_ctr
        latest: list[Token] = []  # of the instruction that is being read
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
    """The lines of one text that are known."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.forms: dict[tuple[str, ...], Form] = {}

    def read(self, start: int, line: int) -> tuple[list[Instruction], int]:
        """The instructions in the known lines behind the line that ends at an offset, and the
        offset behind them; none if there is more in that line."""
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
        """Remember the tokens of an instruction, if it is a line of its own."""
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
    """A column without the names before it, and how many these are; None within a name."""
    before = 0
    for count, (start, end) in enumerate(names):
        if column <= start:
            return column - before, count
        if column < end:
            return None
        before += end - start
    return column - before, len(names)

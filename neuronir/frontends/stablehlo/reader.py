"""Read MLIR text at a position; errors show the line and a caret."""

import re
from bisect import bisect_right
from typing import NoReturn

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text.syntax import error_at

_SPACE = re.compile(r"(?:\s++|//[^\n]*+)*+")
WORD = re.compile(r"[A-Za-z_][\w$.]*+")
STRING = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.S)
VALUE = re.compile(r"%([\w$.\-]++)(?:#(\d+))?")
SYMBOL = re.compile(r'@(?:([\w$.\-]++)|"([^"\\]*+(?:\\.[^"\\]*+)*+)")')
INTEGER = re.compile(r"-?\d++")
_NESTED = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|->|[<(\[{]|[>)\]}]', re.S)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))", re.S)
_SIMPLE = {"n": "\n", "t": "\t"}


def unescape(text: str) -> str:
    """Resolve the escapes between the quotes of a string: `\\22` is a byte of UTF-8."""
    if "\\" not in text:
        return text
    data = _ESCAPE.sub(
        lambda m: chr(int(m[1], 16)) if m[1] else _SIMPLE.get(m[2], m[2]),
        text.encode().decode("latin-1"),
    )
    return data.encode("latin-1").decode("utf-8", "replace")


class Reader:
    """A text and a position in it, which is always at the start of a token.

    Methods raise NeuronError with the position; `code` NIR_SHL001 is a syntax error.
    """

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        self.position = 0
        self._lines: list[int] | None = None
        self.advance(0)

    # --- positions and errors

    def fail(
        self,
        message: str,
        position: int | None = None,
        *,
        code: str = "NIR_SHL001",
        help: str | None = None,
    ) -> NoReturn:
        """Raise an error at a position, by default the current one."""
        at = self.position if position is None else position
        raise error_at(code, message, self.text, self.filename, at, help)

    def refail(self, error: NeuronError, position: int, prefix: str = "") -> NoReturn:
        """Raise an error that has no location at a position."""
        self.fail(prefix + error.message, position, code=error.code, help=error.help)

    def expected(self, what: str) -> NoReturn:
        """Raise the syntax error of a text that is something else at the current position."""
        if self.position >= len(self.text):
            end = len(self.text.rstrip())
            self.fail(f"unexpected end of the text: expected {what}", end)
        found = repr(self.text[self.position : self.position + 20].split("\n")[0])
        self.fail(f"syntax error at {found}: expected {what}")

    def line_and_column(self, position: int) -> tuple[int, int]:
        """Return line and column of a position, counted from 1."""
        if self._lines is None:
            self._lines = [0, *(m.end() for m in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, position)
        return line, position - self._lines[line - 1] + 1

    # --- tokens

    def advance(self, end: int) -> None:
        """Go to the first token at or after `end`."""
        match = _SPACE.match(self.text, end)
        assert match is not None
        self.position = match.end()

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read the text that matches a pattern, if it is next."""
        match = pattern.match(self.text, self.position)
        if match is not None:
            self.advance(match.end())
        return match

    def at(self, literal: str) -> bool:
        """Return whether a punctuation is next."""
        return self.text.startswith(literal, self.position)

    def accept(self, literal: str) -> bool:
        """Read a punctuation, if it is next."""
        if not self.text.startswith(literal, self.position):
            return False
        self.advance(self.position + len(literal))
        return True

    def expect(self, literal: str) -> None:
        """Read a punctuation."""
        if not self.accept(literal):
            self.expected(f"`{literal}`")

    def at_word(self, word: str) -> bool:
        """Return whether a whole word is next."""
        match = WORD.match(self.text, self.position)
        return match is not None and match[0] == word

    def accept_word(self, word: str) -> bool:
        """Read a whole word, if it is next."""
        if not self.at_word(word):
            return False
        self.advance(self.position + len(word))
        return True

    def expect_word(self, word: str) -> None:
        """Read a whole word."""
        if not self.accept_word(word):
            self.expected(f"`{word}`")

    def word(self, what: str) -> str:
        """Read any word."""
        match = self.match(WORD)
        return match[0] if match else self.expected(what)

    def string(self) -> str:
        """Read a string in quotes."""
        match = self.match(STRING)
        return unescape(match[1]) if match else self.expected("a string")

    def optional_symbol(self) -> str | None:
        """Read `@name`, if it is next."""
        match = self.match(SYMBOL)
        if match is None:
            return None
        return match[1] if match[1] is not None else unescape(match[2])

    def symbol(self) -> str:
        """Read `@name`."""
        name = self.optional_symbol()
        return self.expected("a symbol such as `@main`") if name is None else name

    def optional_value(self) -> str | None:
        """Read `%name` or `%name#1`, if it is next; return it without the percent sign."""
        match = self.match(VALUE)
        if match is None:
            return None
        return match[1] if match[2] in (None, "0") else f"{match[1]}#{match[2]}"

    def value(self) -> str:
        """Read `%name` or `%name#1`."""
        name = self.optional_value()
        return self.expected("a value such as `%0`") if name is None else name

    def integer(self) -> int:
        """Read a decimal integer."""
        match = self.match(INTEGER)
        return int(match[0]) if match else self.expected("an integer")

    def at_integer(self) -> bool:
        """Return whether a decimal integer is next."""
        return INTEGER.match(self.text, self.position) is not None

    def nested(self) -> str:
        """Read a text in balanced brackets, from the one that is next; return it."""
        start = position = self.position
        depth = 0
        while True:
            match = _NESTED.search(self.text, position)
            if match is None:
                self.fail("unbalanced brackets: the text ends before they are closed", start)
            position = match.end()
            if match[0] in "<([{":
                depth += 1
            elif match[0] in ">)]}":
                depth -= 1
                if depth == 0:
                    self.advance(position)
                    return self.text[start:position]

"""Create errors and locations in the imported text."""

from typing import NoReturn

from lark import Token
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr

from neuronir._xdsl import trusted
from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.frontends.hlo_text.syntax import excerpt


class Source:
    """A text and the name of its file."""

    def __init__(self, text: str, filename: str) -> None:
        self._text = text
        self._filename = filename
        self._file = StringAttr(filename)
        self._columns: dict[int, IntAttr] = {}

    def fail(
        self, code: str, message: str, token: Token, help: str | None = None, offset: int = 0
    ) -> NoReturn:
        """Raise a user error at a token, or at an offset within it. If the file has no text, the
        error names only the file.
        """
        if not self._text:
            raise NeuronError(code, message, location=self._filename, help=help)
        line, column = token.line or 1, token.column or 1
        before = token[:offset]
        if "\n" in before:
            line, column = line + before.count("\n"), offset - before.rfind("\n")
        else:
            column += offset
        raise NeuronError(
            code,
            message,
            location=SourceLocation(self._filename, line, column),
            excerpt=excerpt(self._text, line, column),
            help=help,
        )

    def refail(
        self, error: NeuronError, instruction: str, token: Token, offset: int = 0
    ) -> NoReturn:
        """Raise an error without a location at a token of an instruction."""
        message = f"instruction '{instruction}': {error.message}"
        self.fail(error.code, message, token, error.help, offset)

    def location(self, name: str, token: Token) -> NameLoc:
        """Return the location of an instruction: its name at the position of a token."""
        return self.location_at(name, token.line or 1, token.column or 1)

    def location_at(self, name: str, line: int, column: int) -> NameLoc:
        """Return the location of an instruction at a line and column, counted from 1."""
        column_attr = self._columns.get(column)
        if column_attr is None:
            column_attr = self._columns[column] = IntAttr(column)
        line_attr = trusted(IntAttr, data=line)
        place = trusted(FileLineColLoc, filename=self._file, line=line_attr, column=column_attr)
        return trusted(NameLoc, desc=trusted(StringAttr, data=name), location=place)

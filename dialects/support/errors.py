"""Define the error that users see: a stable code, the problem, its location, and the remedy."""

from dataclasses import dataclass

from neuronir.dialects.support.printable import printable


@dataclass(frozen=True)
class SourceLocation:
    """A location in a source file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class NeuronError(Exception):
    """A user error.

    `code` is stable (`NCC_EMOD025`, `NIR_...`), `message` says what is wrong and what is supported,
    `location` is a source location (or a text such as an HLO instruction name), `help` says what to
    do, `excerpt` is source text with a caret.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        location: SourceLocation | str | None = None,
        help: str | None = None,
        excerpt: str | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.location = location
        self.help = help
        self.excerpt = excerpt
        super().__init__(self.render())

    def place(self, message: str, location: SourceLocation | str | None) -> None:
        """Add details that a caller knows."""
        self.message, self.location = message, location
        self.args = (self.render(),)

    def render(self) -> str:
        """Format the message as the command-line programs print it."""
        where = f"{self.location}: " if self.location else ""
        text = f"{where}error: [{self.code}] {self.message}"
        if self.excerpt:
            text += f"\n{self.excerpt}"
        if self.help:
            text += f"\nhelp: {self.help}"
        return printable(text, keep="\n\t")  # the text may contain names from files

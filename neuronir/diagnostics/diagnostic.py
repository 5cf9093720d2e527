"""Represent messages with locations, printed as by MLIR and C compilers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from neuronir.dialects.support.diagnostics import Message, Severity
from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.dialects.support.printable import printable

_MAX_LINE = 240


@dataclass(frozen=True)
class Diagnostic:
    """One message; `excerpt` is source text with a caret, made from the sources when absent."""

    severity: Severity
    text: str
    location: SourceLocation | str | None = None
    notes: tuple["Diagnostic", ...] = field(default=())
    help: str | None = None
    excerpt: str | None = None

    @staticmethod
    def from_message(message: Message) -> "Diagnostic":
        """Return a pass's warning or remark."""
        return Diagnostic(message.severity, message.text, message.location)

    @staticmethod
    def from_error(error: NeuronError) -> "Diagnostic":
        """Return a coded error."""
        return Diagnostic(
            "error",
            f"[{error.code}] {error.message}",
            error.location,
            help=error.help,
            excerpt=error.excerpt,
        )

    @property
    def of_computer(self) -> bool:
        """Whether this computer causes the error, and not the model."""
        return self.text.startswith(("[NIR_MEMORY]", "[NIR_DEPTH]", "[NIR_OUTPUT]"))

    def render(self, sources: Mapping[str, str], fallback: str | None = None) -> str:
        """Return the lines to print.

        `sources` maps file names to their text, for the source line and the caret; `fallback` names
        the input if the message has no location.
        """
        where = self.location or fallback
        head = f"{self.severity}: {self.text}"
        lines = [f"{where}: {head}" if where else head]
        excerpt = self.excerpt or source_excerpt(self.location, sources)
        if excerpt:
            lines.append(excerpt.rstrip("\n"))
        if self.help:
            lines.append(f"help: {self.help}")
        for note in self.notes:
            # A note with the same location does not repeat the line.
            lines.append(note.render({} if note.location == self.location else sources))
        return printable("\n".join(lines), keep="\n\t")  # file contents may be unprintable


def source_excerpt(location: SourceLocation | str | None, sources: Mapping[str, str]) -> str | None:
    """Return the source line of `location` with a caret under its column, or None if it is not
    known.
    """
    if not isinstance(location, SourceLocation) or location.file not in sources:
        return None
    lines = sources[location.file].split("\n")
    if not 1 <= location.line <= len(lines):
        return None
    line = lines[location.line - 1].rstrip("\r")
    column = min(max(location.column - 1, 0), len(line))
    # A weight literal can be megabytes long: show the neighbourhood of the caret.
    start = max(0, column - _MAX_LINE // 2) if len(line) > _MAX_LINE else 0
    shown = line[start : start + _MAX_LINE]
    shown = "".join(c if c.isprintable() or c == "\t" else "?" for c in shown)
    # Tabs are kept, so that the caret stays under its column whatever the terminal's tab width.
    indent = "".join("\t" if c == "\t" else " " for c in line[start:column])
    return f"{shown}\n{indent}^"

"""Check messages against the `expected-error {{...}}` comments of a test file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.errors import SourceLocation

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<regex>-re)?"
    r"(?P<where>@(?:[+-]\d+|above|below|unknown))?\s*(?P<count>\d+)?\s*"
    r"\{\{(?P<text>.*?)\}\}(?!\})"
)


@dataclass
class Expected:
    """An expected message: its severity, its line (None for a message without a location) and a
    part of its text.
    """

    severity: str
    line: int | None
    text: str
    written_at: int
    count: int
    pattern: re.Pattern[str] | None

    def accepts(self, severity: str, line: int | None, text: str) -> bool:
        """Return whether a message satisfies the expectation."""
        if severity != self.severity or line != self.line:
            return False
        return bool(self.pattern.search(text)) if self.pattern else self.text in text


def parse_expectations(text: str) -> list[Expected]:
    """Return all expectations of a file.

    `@+N`/`@-N` count lines, `@above`/`@below` skip lines that hold expectations themselves,
    `@unknown` is a message without a location. The text is a substring, unless it starts with `re:`
    or the marker is `expected-error-re`: then it is a regular expression. Raises ValueError for a
    malformed regular expression.
    """
    lines = text.split("\n")
    marked = [bool(_EXPECTED.search(line)) for line in lines]
    found = []
    for number, line in enumerate(lines, start=1):
        for match in _EXPECTED.finditer(line):
            body = match["text"]
            pattern = None
            if body.startswith("re:") or match["regex"]:
                try:
                    pattern = re.compile(body.removeprefix("re:"))
                except re.error as error:
                    raise ValueError(f"line {number}: bad regular expression: {error}") from error
            target = _target_line(match["where"], number, marked)
            count = int(match["count"] or 1)
            found.append(Expected(match["severity"], target, body, number, count, pattern))
    return found


def _target_line(where: str | None, number: int, marked: list[bool]) -> int | None:
    match where:
        case None:
            return number
        case "@unknown":
            return None
        case "@above" | "@below":
            step = -1 if where == "@above" else 1
            line = number + step
            while 1 <= line <= len(marked) and marked[line - 1]:
                line += step
            return line
        case _:
            return number + int(where[1:])


def check_expectations(
    source: str, file: str, diagnostics: Iterable[Diagnostic]
) -> list[Diagnostic]:
    """Return the unexpected messages, and the expectations that no message satisfies.

    Warnings and remarks that were not expected count as well as errors; a note counts only when
    notes are expected on its line (as in MLIR, notes explain another message).
    """
    open_expectations = parse_expectations(source)
    problems = []
    for given in _flatten(diagnostics):
        line = given.location.line if isinstance(given.location, SourceLocation) else None
        text = f"{given.text}\nhelp: {given.help}" if given.help else given.text
        for expected in open_expectations:
            if expected.count > 0 and expected.accepts(given.severity, line, text):
                expected.count -= 1
                break
        else:
            if given.severity != "note":
                problems.append(
                    Diagnostic("error", f"unexpected {given.severity}: {text}", given.location)
                )
    for expected in open_expectations:
        if expected.count > 0:
            place = SourceLocation(file, expected.written_at, 1)
            on = "" if expected.line is None else f" on line {expected.line}"
            problems.append(
                Diagnostic(
                    "error",
                    f'expected {expected.severity} "{expected.text}"{on} was not produced',
                    place,
                )
            )
    return problems


def _flatten(diagnostics: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flatten(diagnostic.notes)

"""Diagnostics as JSON, for errors that are kept and shown again."""

from collections.abc import Mapping
from typing import Any, get_args

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.support.diagnostics import Severity
from neuronir.dialects.support.errors import SourceLocation

_INPUT = ""
"""The file of locations in the model: the model may have another name when they are shown."""


def to_json(diagnostic: Diagnostic, name: str) -> dict[str, Any]:
    """Convert a diagnostic about the model in the file `name` to JSON, without the file's name."""
    where = diagnostic.location
    place: object = where
    if isinstance(where, SourceLocation):
        file = _INPUT if where.file == name else where.file
        place = [file, where.line, where.column]
    return {
        "severity": diagnostic.severity,
        "text": diagnostic.text,
        "location": place,
        "help": diagnostic.help,
        "excerpt": diagnostic.excerpt,
        "notes": [to_json(note, name) for note in diagnostic.notes],
    }


def from_json(found: Mapping[str, Any], name: str) -> Diagnostic:
    """Return the diagnostic of `to_json`, about the model in the file `name`; raises ValueError if
    it is not one.
    """
    try:
        severity: Severity = found["severity"]
        if severity not in get_args(Severity):
            raise ValueError(f"'{severity}' is no severity")
        place = found["location"]
        location: SourceLocation | str | None = None
        if isinstance(place, str):
            location = place
        elif place is not None:
            file, line, column = place
            location = SourceLocation(str(file) or name, int(line), int(column))
        return Diagnostic(
            severity,
            str(found["text"]),
            location,
            tuple(from_json(note, name) for note in found["notes"]),
            _text(found["help"]),
            _text(found["excerpt"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a diagnostic: {error}") from error


def _text(found: object) -> str | None:
    return None if found is None else str(found)

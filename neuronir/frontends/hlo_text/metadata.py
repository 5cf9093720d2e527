"""Decode HLO metadata and the tables of files and stack frames."""

import re

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import i64_attr, string_attr
from neuronir.frontends.hlo_text.attributes import unquote

_FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\{[^{}]*\}|[^\s{}"]+)')
_ROW = re.compile(r"\s*(\d+)\s+(.*)")
_NUMBER = re.compile(r"-?\d+")


def _rows(table: str) -> dict[int, str]:
    rows: dict[int, str] = {}
    for line in table.splitlines()[1:]:
        if match := _ROW.fullmatch(line):
            rows[int(match[1])] = match[2].strip()
    return rows


def _fields(row: str) -> dict[str, int]:
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", row)}


class StackFrames:
    """The tables FileNames, FunctionNames, FileLocations and StackFrames of a module."""

    def __init__(self, tables: list[str]) -> None:
        by_name = {table.split(None, 1)[0]: _rows(table) for table in tables}
        self._files = {n: unquote(row) for n, row in by_name.get("FileNames", {}).items()}
        self._locations = {n: _fields(r) for n, r in by_name.get("FileLocations", {}).items()}
        self._frames = {n: _fields(r) for n, r in by_name.get("StackFrames", {}).items()}

    def source(self, frame: int) -> tuple[str, int] | None:
        """Return the file and line of a stack frame, if the tables have it."""
        location = self._locations.get(self._frames.get(frame, {}).get("file_location_id", -1), {})
        file = self._files.get(location.get("file_name_id", -1))
        line = location.get("line")
        return None if file is None or line is None else (file, line)


class MetadataDecoder:
    """Decode `{op_name="..." source_line=3}` to the dictionary attribute `metadata`."""

    def __init__(self, frames: StackFrames) -> None:
        self._frames = frames
        self._known: dict[str, DictionaryAttr] = {}

    def decode(self, text: str) -> DictionaryAttr:
        """Parse the dictionary of a text; numbers become i64, text in braces is kept."""
        known = self._known.get(text)
        if known is not None:
            return known
        fields: dict[str, Attribute] = {}
        for key, value in _FIELD.findall(text.strip()[1:-1]):
            fields[key] = (
                i64_attr(int(value)) if _NUMBER.fullmatch(value) else string_attr(unquote(value))
            )
        frame = fields.get("stack_frame_id")
        if isinstance(frame, IntegerAttr) and "source_file" not in fields:
            source = self._frames.source(frame.value.data)
            if source is not None:
                fields["source_file"] = StringAttr(source[0])
                fields["source_line"] = i64_attr(source[1])
        result = DictionaryAttr(fields)
        self._known[text] = result
        return result

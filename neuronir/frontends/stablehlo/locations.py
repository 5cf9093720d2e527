"""Locations of MLIR text: names of instructions, and HLO metadata of framework ops."""

import re
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import i64_attr, string_attr
from neuronir.frontends.stablehlo.reader import STRING, Reader, unescape
from neuronir.frontends.stablehlo.records import Location

_ALIAS = re.compile(r"#loc\d*+")
_FILE = re.compile(STRING.pattern + r":(\d++):(\d++)(?:\s*to\s*(?:\d++)?:\d++)?", re.S)
_LAST = re.compile(r"[A-Za-z_]\w*+(?=(?:\[[^/]*\]|\([^/]*\))?:?$)")
MOST_LEVELS = 200
"""Limit of the depth of a location, which may refer to itself by its aliases."""

NAME, FILE, CALL, FUSED = "name", "file", "callsite", "fused"


def optional_location(reader: Reader) -> Location:
    """Read `loc(...)`, if it is next; None if there is none or it is unknown."""
    if not reader.accept_word("loc"):
        return None
    reader.expect("(")
    found = _inner(reader)
    reader.expect(")")
    return found


def _inner(reader: Reader) -> Location:
    if match := reader.match(_ALIAS):
        return match[0]
    if match := reader.match(_FILE):
        return (FILE, unescape(match[1]), int(match[2]), int(match[3]))
    if reader.at('"'):
        name = reader.string()
        child = None
        if reader.accept("("):
            child = _inner(reader)
            reader.expect(")")
        return (NAME, name, child)
    if reader.accept_word("callsite"):
        reader.expect("(")
        callee = _inner(reader)
        reader.expect_word("at")
        caller = _inner(reader)
        reader.expect(")")
        return (CALL, callee, caller)
    if reader.accept_word("fused"):
        if reader.at("<"):
            reader.nested()
        reader.expect("[")
        parts = [_inner(reader)]
        while reader.accept(","):
            parts.append(_inner(reader))
        reader.expect("]")
        return (FUSED, parts)
    if reader.accept_word("unknown"):
        return None
    return reader.expected("a location such as `unknown` or `#loc1`")


@dataclass(frozen=True)
class Origin:
    """The framework's name of an op, or the name of an instruction, and its position in a source
    file.
    """

    name: str = ""
    file: str = ""
    line: int = 0

    @property
    def instruction(self) -> str:
        """Return the name if it is that of an instruction, which has no position in a source
        file.
        """
        return "" if self.file or "/" in self.name else self.name

    @property
    def mnemonic(self) -> str:
        """Return the last part of the framework's name: `dot_general` of `jit(f)/dot_general`."""
        match = _LAST.search(self.name.rsplit("/", 1)[-1])
        return match[0] if match else ""


class Origins:
    """Resolves the locations of a file, whose aliases are defined at its end."""

    def __init__(self, aliases: dict[str, Location]) -> None:
        self._aliases = aliases
        self._known: dict[str, Origin] = {}
        self._metadata: dict[Origin, DictionaryAttr] = {}

    def of(self, location: Location) -> Origin:
        """Return the origin of a location."""
        return self._resolve(location, 0)

    def _resolve(self, location: Location, depth: int) -> Origin:
        if location is None or depth > MOST_LEVELS:
            return Origin()
        if isinstance(location, str):
            found = self._known.get(location)
            if found is None:
                self._known[location] = Origin()  # breaks cycles of aliases
                found = self._resolve(self._aliases.get(location), depth + 1)
                self._known[location] = found
            return found
        kind = location[0]
        if kind == FILE:
            return Origin("", location[1], location[2])
        if kind == NAME:
            child = self._resolve(location[2], depth + 1)
            return Origin(location[1], child.file, child.line)
        if kind == CALL:
            return self._resolve(location[1], depth + 1)
        parts = [self._resolve(part, depth + 1) for part in location[1]]
        place = next((part for part in parts if part.file), Origin())
        return Origin(next((p.name for p in parts if p.name), ""), place.file, place.line)

    def metadata(self, origin: Origin) -> DictionaryAttr | None:
        """Return the attribute `metadata` of HLO, or None if nothing is known."""
        if not origin.name or origin.instruction:
            return None
        found = self._metadata.get(origin)
        if found is None:
            fields: dict[str, Attribute] = {"op_name": string_attr(origin.name)}
            if origin.file:
                fields["source_file"] = string_attr(origin.file)
                fields["source_line"] = i64_attr(origin.line)
            found = self._metadata[origin] = DictionaryAttr(fields)
        return found

"""Describe the origin of an op: its HLO instruction, framework op and position in a file."""

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    DictionaryAttr,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation

from neuronir.dialects.support.errors import SourceLocation

METADATA = "metadata"
"""Name of the HLO metadata (op_name, source_file, ...): a discardable attribute of hlo ops, and in
the dictionary of the location of instructions.
"""


def facts_of(location: Attribute) -> Mapping[str, Attribute]:
    """Return the dictionary of a fused location, `fused<{...}>[...]`; empty for others."""
    if isinstance(location, FusedLoc) and isinstance(location.metadata, DictionaryAttr):
        return location.metadata.data
    return {}


def without_facts(location: LocationAttr) -> LocationAttr:
    """Return the location to which a fused location adds a dictionary."""
    if facts_of(location) and isinstance(location, FusedLoc):
        parts = cast("ArrayAttr[Attribute]", location.locations).data
        return cast(LocationAttr, parts[0])
    return location


def _named(location: Attribute) -> NameLoc | None:
    """Return the first name in a location tree, outermost first."""
    if isinstance(location, NameLoc):
        return location
    if isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        for part in location.locations.data:
            if (found := _named(part)) is not None:
                return found
    if isinstance(location, CallSiteLoc):
        return _named(location.callee)
    return None


def _file(location: Attribute) -> FileLineColLoc | None:
    """Return the first file position in a location tree."""
    if isinstance(location, FileLineColLoc):
        return location
    if isinstance(location, NameLoc):
        return _file(location.location)
    if isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        for part in location.locations.data:
            if (found := _file(part)) is not None:
                return found
    if isinstance(location, CallSiteLoc):
        return _file(location.callee)
    return None


def source_name(op: Operation) -> str:
    """Return the name of the HLO instruction of an op, or the empty string."""
    named = _named(op.location)
    return "" if named is None else named.desc.data


def framework_name(op: Operation) -> str:
    """Return the framework's name of the op (HLO metadata `op_name`), or the empty string."""
    metadata = op.attributes.get(METADATA) or facts_of(op.location).get(METADATA)
    if isinstance(metadata, DictionaryAttr):
        name = metadata.data.get("op_name")
        if isinstance(name, StringAttr):
            return name.data
    return ""


def file_line_col(op: Operation) -> SourceLocation | None:
    """Return the position of the op in the input file, if known."""
    found = _file(op.location)
    if found is None:
        return None
    return SourceLocation(found.filename.data, found.line.data, found.column.data)


def inherit(new_op: Operation, from_op: Operation) -> None:
    """Copy location and metadata to a replacement op, unless it already has them."""
    if isinstance(new_op.location, UnknownLoc):
        new_op.location = from_op.location
    metadata = from_op.attributes.get(METADATA)
    if metadata is not None and METADATA not in new_op.attributes:
        new_op.attributes[METADATA] = metadata

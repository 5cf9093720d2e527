"""Resolve an operation's location attribute to a position in a file."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation

from neuronir.dialects.support.errors import SourceLocation


@dataclass(frozen=True)
class Place:
    """Where an operation comes from.

    `name` is the name nearest to the file position (an HLO instruction). `origins` are further
    locations: the parts of a fused operation, and the callers of an inlined function.
    """

    location: SourceLocation | None = None
    name: str | None = None
    origins: tuple[tuple[str, SourceLocation], ...] = ()


def _leaves(attr: Attribute, text: str, name: str | None) -> Iterator[tuple[str, Place]]:
    match attr:
        case FileLineColLoc():
            where = SourceLocation(attr.filename.data, attr.line.data, attr.column.data)
            yield text, Place(where, name)
        case NameLoc():
            inner = list(_leaves(attr.location, text, name or attr.desc.data))
            yield from inner or [(text, Place(None, name or attr.desc.data))]
        case CallSiteLoc():
            yield from _leaves(attr.callee, text, name)
            yield from _leaves(attr.caller, "called from here", None)
        case FusedLoc():
            parts = attr.locations
            for part in parts.data if isinstance(parts, ArrayAttr) else ():
                yield from _leaves(part, text, name)
                text, name = "fused with this", None
        case _:
            return


def place_of(op: Operation | Attribute) -> Place:
    """Resolve a location attribute, or that of `op`; an op without one takes its parent's."""
    if isinstance(op, Attribute):
        return _resolve(op)
    current: Operation | None = op
    while current is not None:
        found = _resolve(current.location)
        if found.location is not None:
            return found
        current = current.parent_op()
    return _resolve(op.location)


def _resolve(attr: Attribute) -> Place:
    leaves = list(_leaves(attr, "", None))
    if not leaves:
        return Place()
    first = leaves[0][1]
    origins = tuple((text, leaf.location) for text, leaf in leaves[1:] if leaf.location is not None)
    return Place(first.location, first.name, origins)

"""Record in its location what an instruction was lowered from: an op, its FLOPs and its group.

The location is a fused location with a dictionary, as in MLIR:

    loc(fused<{opcode = "dot", flops = 4194304 : i64, group = "h + t"}>["h"("mlp.hlo":6:3)])

`opcode` is the opcode of the HLO op or the kind of its composite, `flops` the FLOPs that it
represents however it is executed, `group` the ops that were lowered together ("h + t"), and
`metadata` the HLO metadata (`op_name`, `source_file`, `source_line`). Locations are no part of the
program; the printer shows them on demand (`--mlir-print-debuginfo`).
"""

from collections.abc import Callable

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    FusedLoc,
    IntegerAttr,
    LocationAttr,
    NameLoc,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation

from neuronir.dialects.nc.instruction import Source
from neuronir.dialects.support.identity import by_identity
from neuronir.dialects.support.location import METADATA, facts_of, without_facts

_Facts = dict[str, Attribute]


def origin(
    location: LocationAttr, opcode: str, flops: Attribute | None, metadata: Attribute | None
) -> FusedLoc:
    """Return the location of instructions for an op at `location`."""
    facts: _Facts = {"opcode": StringAttr(opcode)}
    if flops is not None:
        facts["flops"] = flops
    if metadata is not None:
        facts[METADATA] = metadata
    return FusedLoc(ArrayAttr([location]), DictionaryAttr(facts))


def in_group(group: str) -> Callable[[LocationAttr], LocationAttr]:
    """Return a function that adds a group of ops, "a + b", to locations."""
    attribute = StringAttr(group)
    return by_identity(lambda location: _changed(location, {"group": attribute}))


def repeated(count: int) -> Callable[[LocationAttr], LocationAttr]:
    """Return a function that multiplies the FLOPs of locations by `count`."""

    def change(location: LocationAttr) -> LocationAttr:
        flops = facts_of(location).get("flops")
        if not isinstance(flops, IntegerAttr):
            return location
        return _changed(location, {"flops": IntegerAttr(flops.value.data * count, i64)})

    return by_identity(change)


def of_op_alone(location: LocationAttr) -> LocationAttr:
    """Return a location without FLOPs and group, for an instruction added to those of an op."""
    facts = facts_of(location)
    kept = {name: facts[name] for name in ("opcode", METADATA) if name in facts}
    return (
        FusedLoc(ArrayAttr([without_facts(location)]), DictionaryAttr(kept)) if kept else location
    )


def source_of(op: Operation) -> Source:
    """Return the origin of an instruction.

    The name is that of the HLO instruction, or the position `file:line:column`, without folders, of
    an instruction or op of a handwritten program.
    """
    return _source(op.location)


@by_identity
def _source(location: LocationAttr) -> Source:
    facts, place = facts_of(location), without_facts(location)
    name, file, line, framework = "", "", 0, ""
    if isinstance(place, NameLoc):
        name = place.desc.data
    elif isinstance(place, FileLineColLoc):
        written = place.filename.data.rsplit("/", 1)[-1]
        name = f"{written}:{place.line.data}:{place.column.data}"
    metadata = facts.get(METADATA)
    if isinstance(metadata, DictionaryAttr):
        framework = _text(metadata.data.get("op_name"))
        file = _text(metadata.data.get("source_file"))
        line_attr = metadata.data.get("source_line")
        line = line_attr.value.data if isinstance(line_attr, IntegerAttr) else 0
    flops = facts.get("flops")
    useful = flops.value.data if isinstance(flops, IntegerAttr) else 0
    opcode, group = _text(facts.get("opcode")), _text(facts.get("group"))
    return Source(name, framework, file, line, opcode, useful, group)


def _changed(location: LocationAttr, facts: _Facts) -> LocationAttr:
    return FusedLoc(
        ArrayAttr([without_facts(location)]), DictionaryAttr({**facts_of(location), **facts})
    )


def _text(attr: Attribute | None) -> str:
    return attr.data if isinstance(attr, StringAttr) else ""

"""Print a module as lines, each with the source ops that it comes from."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    ModuleOp,
    NameLoc,
)
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir._xdsl import NeuronPrinter
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.origin import source_of
from neuronir.dialects.support.location import (
    METADATA,
    file_line_col,
    framework_name,
    without_facts,
)
from neuronir.dialects.support.walking import walk
from neuronir.explore.names import Names
from neuronir.targets.encoding.disassembler import located_lines

LONGEST = 2000
"""Limit of the characters of a line; the rest is cut off."""
ELIDED = 16
"""Limit of the elements of a constant that is printed whole."""


@dataclass(frozen=True)
class SourceOp:
    """An op of the model: its name, its opcode, the framework's name, and its location in a
    file.
    """

    name: str
    opcode: str = ""
    framework: str = ""
    place: str = ""


@dataclass(frozen=True)
class Line:
    """A line of IR. `sources` are the names of the source ops of the op that begins on it,
    `group` those of the ops that were lowered together with it. `rest` is what was cut off, so
    that lines compare as a whole.
    """

    text: str
    sources: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    rest: str = field(default="", repr=False)


@dataclass(frozen=True)
class Snapshot:
    """A module between two passes: its lines, and its number of ops."""

    lines: tuple[Line, ...] = ()
    ops: int = 0


@dataclass(eq=False, repr=False)
class _Printer(NeuronPrinter):
    """Print values by given names, omit HLO metadata, and record where each op begins."""

    names: Names = field(default_factory=Names, kw_only=True)
    places: list[tuple[int, Operation]] = field(default_factory=list, kw_only=True)

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self.names[value]
        self.print_string(f"%{name}")
        return name

    def print_op_attributes(
        self,
        attributes: Mapping[str, Attribute],
        *,
        reserved_attr_names: Iterable[str] = (),
        print_keyword: bool = False,
    ) -> bool:
        return super().print_op_attributes(
            attributes,
            reserved_attr_names=(*reserved_attr_names, METADATA),
            print_keyword=print_keyword,
        )

    def print_op(self, op: Operation) -> None:
        assert self.stream is not None
        self.places.append((self.stream.tell(), op))
        super().print_op(op)


def take_snapshot(module: ModuleOp, names: Names) -> Snapshot:
    """Return the lines of a module, after updating the names of its values."""
    names.update(module)
    stream = StringIO()
    printer = _Printer(stream, elide_above=ELIDED, names=names)
    printer.print_op(module)
    texts = stream.getvalue().split("\n")
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    owners: dict[int, Operation] = {}
    for position, op in printer.places:
        owners.setdefault(bisect_right(starts, position) - 1, op)
    lines = tuple(_line(text, owners.get(number)) for number, text in enumerate(texts))
    return Snapshot(lines, len(printer.places) - 1)


def of_program(program: Program) -> Snapshot:
    """Return the instruction streams of a program; the group of a line is that of its source."""
    lines = []
    count = 0
    for text, source in located_lines(program):
        if source is None:
            lines.append(Line(text))
            continue
        count += 1
        sources = (source.name,) if source.name else ()
        group = source.group.split(" + ") if source.group else ()
        lines.append(Line(text, sources, tuple(name for name in group if name not in sources)))
    return Snapshot(tuple(lines), count)


def _line(text: str, op: Operation | None) -> Line:
    rest = text[LONGEST:]
    if rest:
        text = f"{text[:LONGEST]} ..."
    if op is None:
        return Line(text, rest=rest)
    sources = tuple(dict.fromkeys(source_names(op)))
    group = source_of(op).group
    others = group.split(" + ") if group else ()
    return Line(text, sources, tuple(name for name in others if name not in sources), rest)


def source_names(op: Operation) -> Iterator[str]:
    """Yield the names of the source ops of an op: those in its location, else its position in a
    file.
    """
    named = list(_names_in(op.location))
    if named:
        yield from named
    elif (place := _place(op)) != "":
        yield place


def _names_in(location: Attribute) -> Iterator[str]:
    """Yield the outermost names of a location, through fused locations and calls."""
    if isinstance(location, NameLoc):
        yield location.desc.data
    elif isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        for part in location.locations.data:
            yield from _names_in(part)
    elif isinstance(location, CallSiteLoc):
        yield from _names_in(location.callee)


def _place(op: Operation) -> str:
    """Return `file:line:column` without folders, or the empty string."""
    found = file_line_col(op)
    if found is None:
        return ""
    column = f":{found.column}" if isinstance(without_facts(op.location), FileLineColLoc) else ""
    return f"{found.file.rsplit('/', 1)[-1]}:{found.line}{column}"


def source_ops(module: ModuleOp) -> list[SourceOp]:
    """Return the source ops of a module, in program order, each name once."""
    found: dict[str, SourceOp] = {}
    for op in walk(module):
        for name in source_names(op):
            if name not in found:
                found[name] = SourceOp(name, op.name, framework_name(op), _place(op))
    return list(found.values())

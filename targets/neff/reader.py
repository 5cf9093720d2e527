"""Read a NEFF from any source; every defect is reported as a `neff is invalid: ...` error."""

import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Item, Program
from neuronir.dialects.support.output import Buffer, input_error
from neuronir.targets.encoding.codec import DecodeError
from neuronir.targets.encoding.encoding import SHARED, decode_streams
from neuronir.targets.neff.archive import read_archive
from neuronir.targets.neff.check import check_program
from neuronir.targets.neff.header import HEADER_SIZE, Header, invalid, unpack_header
from neuronir.targets.neff.schema import (
    Record,
    sources_from,
    variable_from,
)
from neuronir.targets.neff.writer import FORMAT, FORMAT_VERSION, PIPELINE_FORMAT, SUBGRAPH
from neuronir.targets.registry import installed_encoding

Decoder = Callable[[dict[Engine, bytes], list[str]], dict[str, dict[Engine, list[Item]]]]
"""Instruction files and the names of functions to their streams."""


@dataclass(frozen=True)
class Neff:
    """A file that has been read: header, program, and the size in bytes of each member."""

    header: Header
    program: Program
    members: dict[str, int]
    encoding: str
    control_flow: bool


def read_neff(path: str | os.PathLike[str]) -> Program:
    """Return the program in a file; raises NIR_NEFF0xx `neff is invalid: ...` if it cannot be
    trusted.
    """
    return load_neff(path).program


def load_neff(path: str | os.PathLike[str]) -> Neff:
    """Everything in the file."""
    return parse_neff(open_neff(path), os.fspath(path))


def open_neff(path: str | os.PathLike[str]) -> Buffer:
    """Return the bytes of a file; raises NIR_INPUT if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return _contents(stream)
    except OSError as error:
        raise input_error(path, error) from error


def _contents(stream: BinaryIO) -> Buffer:
    """Return the file in memory; a plain file is mapped, so that constants are copied only once."""
    size = os.fstat(stream.fileno()).st_size
    if size == 0:
        return stream.read()
    return memoryview(mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ))


def parse_neff(raw: Buffer, path: str | None = None) -> Neff:
    """Parse the bytes of a file."""
    header, data = checked(raw, path)
    return neff_of(header, read_archive(data, path), path)


def neff_of(header: Header, members: dict[str, memoryview], path: str | None = None) -> Neff:
    """Build the contents of a file from its header and the members of its archive."""
    top = Record.parse(_member(members, "neff.json", path), "neff.json", path)
    if top.text("format") == PIPELINE_FORMAT:
        raise invalid(9, "it holds a pipeline over several cores, not a program for one", path)
    if top.text("format") != FORMAT:
        raise top.wrong("format")
    version = top.integer("version")
    if version > FORMAT_VERSION:
        raise invalid(3, f"its format version is {version}, known is {FORMAT_VERSION}", path)
    definition = Record.parse(_member(members, f"{SUBGRAPH}/def.json", path), "def.json", path)
    encoding = top.record("encoding")
    program = _program(top, definition, members, path)
    check_program(program, path)
    return Neff(
        header,
        program,
        {name: len(member) for name, member in members.items()},
        f"{encoding.text('name')} {encoding.integer('version')}",
        encoding.value.get("control_flow") is True,
    )


def checked(raw: Buffer, path: str | None) -> tuple[Header, memoryview]:
    """Return the header and the archive of a file, after checking size and hash."""
    view = memoryview(raw)
    header = unpack_header(bytes(view[:HEADER_SIZE]), path)
    data = view[HEADER_SIZE:]
    if len(data) != header.data_size:
        what = "truncated" if len(data) < header.data_size else "too long"
        raise invalid(
            2, f"it is {what}: {len(data)} bytes of data, its header says {header.data_size}", path
        )
    if header.sign([data]).hash != header.hash:
        raise invalid(4, "its contents do not match its hash; the file is damaged", path)
    return header, data


def _member(members: dict[str, memoryview], name: str, path: str | None) -> bytes:
    if name not in members:
        raise invalid(5, f"its archive lacks '{name}'", path)
    return bytes(members[name])


def _decoder(top: Record, path: str | None) -> Decoder:
    """Return the decoder of the instruction files: the shared one, or that of the target for
    another format.
    """
    format_ = top.record("encoding").value.get("format", SHARED)
    if format_ == SHARED:
        return decode_streams
    machine = top.text("machine")
    encoding = installed_encoding(machine, str(format_))
    if encoding is None:
        reason = f"its instructions are in the format '{format_}', which no installed target has"
        raise invalid(7, f"{reason}; install the package of target '{machine}'", path)
    return encoding.decode


def _program(
    top: Record, definition: Record, members: dict[str, memoryview], path: str | None
) -> Program:
    functions = top.texts("functions")
    if len(set(functions)) != len(functions):
        raise top.wrong("functions")
    metadata = top.record("metadata")
    variables = [
        variable_from(Record(entry, f"def.json: variable {i}", path), members)
        for i, entry in enumerate(definition.list("var"))
    ]
    files: dict[Engine, bytes] = {}
    for engine in (e for e in Engine if not e.is_dma):
        name = f"{SUBGRAPH}/{engine.name.lower()}.bin"
        if name in members:
            files[engine] = bytes(members[name])
    try:
        streams = _decoder(top, path)(files, functions)
    except DecodeError as error:
        raise invalid(7, str(error), path) from error
    return Program(
        top.text("machine"),
        top.text("entry"),
        streams,
        variables,
        sources_from(_member(members, f"{SUBGRAPH}/sources.json", path), path),
        {key: metadata.text(key) for key in metadata.value},
        top.integer("semaphores"),
    )

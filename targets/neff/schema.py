"""Read and write the JSON parts of a NEFF with types: variables, queues and sources."""

import json
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.instruction import Program, Source, Variable
from neuronir.dialects.nc.items import instructions_of
from neuronir.targets.neff.header import invalid

KINDS = ("input", "output", "constant", "scratch", "spill")
MAX_BYTES = 1 << 42
"""No variable starts or ends beyond this address, on any machine."""


class Record:
    """A JSON object with typed access to fields; raises NIR_NEFF006 for a wrong one."""

    def __init__(self, value: Any, what: str, path: str | None = None) -> None:
        self.what = what
        self.path = path
        if not isinstance(value, dict):
            raise invalid(6, f"{what} is not an object", path)
        self.value: dict[str, Any] = value

    @staticmethod
    def parse(data: bytes, what: str, path: str | None) -> "Record":
        """Parse the JSON object in `data`."""
        return Record(parse_json(data, what, path), what, path)

    def wrong(self, key: str) -> Exception:
        """Create the error for a field that is missing or out of range."""
        return invalid(6, f"{self.what}: '{key}' is missing or wrong", self.path)

    def integer(self, key: str, low: int = 0, high: int = MAX_BYTES) -> int:
        """Return an integer from `low` to `high`."""
        value = self.value.get(key)
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(key)
        return value

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.value.get(key)
        if not isinstance(value, str):
            raise self.wrong(key)
        return value

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        return [t if isinstance(t, str) else self._raise(key) for t in self.list(key)]

    def integers(self, key: str) -> tuple[int, ...]:
        """Return a list of integers of at most MAX_BYTES."""
        return tuple(
            i if type(i) is int and abs(i) <= MAX_BYTES else self._raise(key)
            for i in self.list(key)
        )

    def list(self, key: str) -> list[Any]:
        """Return a list of anything."""
        value = self.value.get(key)
        if not isinstance(value, list):
            raise self.wrong(key)
        return value

    def record(self, key: str) -> "Record":
        """Return an object."""
        return Record(self.value.get(key), f"{self.what}: '{key}'", self.path)

    def _raise(self, key: str) -> Any:
        raise self.wrong(key)


def parse_json(data: bytes, what: str, path: str | None) -> Any:
    """Parse the JSON value in `data`."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise invalid(6, f"{what} is not JSON ({error})", path) from error


def to_json(value: Any) -> bytes:
    """Return compact JSON in canonical spelling."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def variable_record(variable: Variable, number: int, file_name: str | None) -> dict[str, Any]:
    """Return a `var` entry of def.json; `type` uses the public words if there are any."""
    return {
        "name": variable.name,
        "var_id": number,
        "type": variable.kind,
        "size": variable.size,
        "address": variable.address,
        "shape": variable.shape,
        "dtype": variable.dtype.name.lower(),
        "strides": variable.strides,
        "index": variable.index,
        "file_name": file_name,
    }


def variable_from(record: Record, members: Mapping[str, memoryview]) -> Variable:
    """Return the variable of a `var` entry, with its bytes from the archive."""
    kind, dtype = record.text("type"), record.text("dtype").upper()
    size, address = record.integer("size"), record.integer("address")
    shape, strides = record.integers("shape"), record.integers("strides")
    name = record.text("name")
    if kind not in KINDS:
        raise record.wrong("type")
    if dtype not in DType.__members__:
        raise record.wrong("dtype")
    if min((*shape, 0)) < 0 or (strides and len(strides) != len(shape)):
        raise record.wrong("shape")
    data = None
    if record.value.get("file_name") is not None:
        file_name = record.text("file_name")
        if file_name not in members:
            raise invalid(5, f"its archive lacks '{file_name}'", record.path)
        data = bytes(members[file_name])
    if (kind == "constant") != (data is not None):
        raise record.wrong("file_name")
    if data is not None and len(data) != size:
        raise invalid(
            6, f"constant '{name}' has {len(data)} bytes, its size is {size}", record.path
        )
    if kind in ("input", "output"):
        _check_reach(record, shape, strides, DType[dtype].size, size)
    index = record.integer("index", -1)
    return Variable(name, kind, size, address, shape, DType[dtype], strides, index, data)


def _check_reach(
    record: Record, shape: tuple[int, ...], strides: tuple[int, ...], element: int, size: int
) -> None:
    """Check that the user-visible array is inside the variable."""
    if 0 in shape:
        return
    count = 1
    for extent in shape:
        count *= extent
    if min((*strides, 0)) < 0:
        raise record.wrong("strides")
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=False))
    if count * element > size or last + element > size:
        raise record.wrong("size")


def queue_records(program: Program) -> dict[str, Any]:
    """Return the `dma_queue` part of def.json: the owner of each queue, and its stored
    transfers.
    """
    queues: dict[str, Any] = {}
    for streams in program.streams.values():
        for items in streams.values():
            for item in instructions_of(items):
                if not item.engine.is_dma:
                    continue
                name, owner = item.engine.name.lower(), item.trigger.name.lower()
                queue = queues.setdefault(name, {"type": "data", "owner": owner, "transfers": 0})
                queue["transfers"] += 1
    return queues


def sources_json(sources: list[Source]) -> bytes:
    """Return the source map: one row per source."""
    return to_json([astuple(source) for source in sources])


def sources_from(data: bytes, path: str | None) -> list[Source]:
    """Return the rows of a source map."""
    rows = parse_json(data, "sources.json", path)
    types = [str, str, str, int, str, int, str]
    if not isinstance(rows, list) or not all(
        isinstance(row, list) and [type(cell) for cell in row] == types for row in rows
    ):
        raise invalid(6, "sources.json is malformed", path)
    return [Source(*row) for row in rows]

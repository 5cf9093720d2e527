"""The cases as files: graphs and reference outputs that TensorFlow made, for where it is absent.

`python -m tests.frontends.tensorflow.stored` writes cases.zip anew; it needs TensorFlow (the extra
`tf-test`).
"""

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.support.npz import pack, unpack

Array = NDArray[Any]
PATH = Path(__file__).with_name("cases.zip")
_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Stored:
    """A graph, its inputs and what TensorFlow computes; `numbers` is whether values count."""

    name: str
    graph: bytes
    inputs: list[tuple[str, Array]]
    outputs: list[tuple[str, Array]]
    numbers: bool


@cache
def _archive() -> zipfile.ZipFile:
    return zipfile.ZipFile(PATH)


@cache
def names() -> tuple[str, ...]:
    """The names of all cases."""
    return tuple(n.removesuffix(".pb") for n in _archive().namelist() if n.endswith(".pb"))


def load(name: str) -> Stored:
    """One case."""
    with np.load(io.BytesIO(_archive().read(f"{name}.npz"))) as stored:
        entries = {key: stored[key] for key in stored.files}
    given, found = (
        [(str(n), unpack(entries, f"{kind}{i}")) for i, n in enumerate(entries[f"{kind}_names"])]
        for kind in ("arg", "out")
    )
    graph = _archive().read(f"{name}.pb")
    return Stored(name, graph, given, found, bool(entries["numbers"]))


def _packed(cases: Sequence[Any]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for case in cases:
            made = case.make()
            entries: dict[str, Array] = {"numbers": np.array(case.numbers)}
            for kind, values in (("arg", made.inputs), ("out", made.outputs)):
                entries[f"{kind}_names"] = np.array([n for n, _ in values])
                for i, (_, array) in enumerate(values):
                    entries |= pack(f"{kind}{i}", array)
            _put(archive, f"{case.name}.pb", made.graph)
            _put(archive, f"{case.name}.npz", _npz(entries))
    return stream.getvalue()


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED, 9)


def _npz(entries: Mapping[str, Array]) -> bytes:
    """An uncompressed npz (the archive around it is compressed), the same bytes each time."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in entries.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.asarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _TIME), data.getvalue())
    return stream.getvalue()


if __name__ == "__main__":
    from tests.frontends.tensorflow.cases import all_cases

    PATH.write_bytes(_packed(all_cases()))

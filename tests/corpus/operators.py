"""The archive `jax_ops.tar.xz`: small programs of one operator each, from jax's own tests."""

import io
import json
import tarfile
from functools import cache

import numpy as np

from neuronir.dialects.support.npz import numbered, pack
from tests.corpus import CORPUS, Array, draw
from tests.oracle import run_xla

ARCHIVE = CORPUS / "jax_ops.tar.xz"


@cache
def _members() -> dict[str, bytes]:
    """All files of the archive by name: 13 MB, unpacked once in each process."""
    with tarfile.open(ARCHIVE) as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        return {name: file.read() for name, file in files.items() if file is not None}


def names() -> list[str]:
    """Return the names of the programs, in the order of their files."""
    return [n.removesuffix(".hlo") for n in sorted(_members()) if n.endswith(".hlo")]


def text_of(name: str) -> str:
    """Return the HLO text of a program."""
    return _members()[f"{name}.hlo"].decode()


@cache
def _drawn(name: str) -> dict[str, Array]:
    args = draw(json.loads(_members()[f"{name}.json"])["args"])
    outputs = run_xla(text_of(name), args)
    entries: dict[str, Array] = {}
    for kind, arrays in (("arg", args), ("out", outputs)):
        for i, array in enumerate(arrays):
            entries |= pack(f"{kind}{i}", array)
    return entries


def entries_of(name: str) -> dict[str, Array]:
    """Return the arguments arg{i} and XLA's outputs out{i} of a program, as in an npz file.

    The few programs with large arrays are stored with the rules of their arguments only: XLA runs
    them now.
    """
    if f"{name}.npz" not in _members():
        return dict(_drawn(name))
    with np.load(io.BytesIO(_members()[f"{name}.npz"])) as stored:
        return {key: stored[key] for key in stored.files}


def args_of(name: str) -> list[Array]:
    """Return the arguments of a program, in order."""
    return numbered(entries_of(name), "arg")

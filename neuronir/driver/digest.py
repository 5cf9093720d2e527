"""The digest of the weights of a model, made while the compile goes on."""

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from neuronir.dialects.support.npz import Array
from neuronir.dialects.support.output import Buffer


def digest_of(pieces: Iterable[Buffer]) -> str:
    """SHA-256 of pieces, each behind its length, in hexadecimal digits."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


class Digest:
    """The digest of arrays by name: names, types and bytes in the order of the names.

    A thread computes it, which needs the interpreter only between two arrays.
    """

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        pool = ThreadPoolExecutor(1)
        self._found = pool.submit(digest_of, _pieces(dict(arrays)))
        pool.shutdown(wait=False)  # when it has done this

    def text(self) -> str:
        """The digest, when it is there."""
        return self._found.result()


def _pieces(arrays: Mapping[str, Array]) -> Iterable[Buffer]:
    for name, array in sorted(arrays.items()):
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        yield from (name.encode(), str(array.dtype).encode(), raw.data)

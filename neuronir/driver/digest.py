"""Compute digests of the inputs of a program."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from neuronir.dialects.hlo.resources import key_of
from neuronir.dialects.support.npz import Array
from neuronir.dialects.support.output import Buffer


def digest_of(pieces: Iterable[Buffer]) -> str:
    """Return the SHA-256 of pieces, each prefixed with its length, in hexadecimal digits."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def digest_of_weights(arrays: Mapping[str, Array]) -> str:
    """Return the digest of arrays by name: names, types, shapes and, for large arrays, a sample.

    The sample distinguishes checkpoints without reading all of them, which would take a tenth of a
    compile. The bytes in a program are hashed with its container.
    """
    return digest_of(_pieces(arrays))


def _pieces(arrays: Mapping[str, Array]) -> Iterator[Buffer]:
    for name, array in sorted(arrays.items()):
        yield name.encode()
        yield key_of(array).encode()

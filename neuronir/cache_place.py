"""Where the compile cache is, and how large it may become."""

import os
from contextlib import suppress
from pathlib import Path

from neuronir.cache import FOLDER_VARIABLE, LIMIT_BYTES, Cache, Store
from neuronir.cache_remote import RemoteCache
from neuronir.dialects.support.errors import NeuronError

LIMIT_VARIABLE = "NEURONIR_CACHE_LIMIT"
"""The environment variable with the largest size of the cache, such as `500M`."""


def find_cache(place: str | None) -> Store | None:
    """The cache in the folder or URL `place`, else where the environment says, else the user's own.

    None where the environment says that there is none, or no folder of the user is known. Raises
    NeuronError if LIMIT_VARIABLE is no size, or nothing opens the URL.
    """
    place = os.environ.get(FOLDER_VARIABLE) if place is None else place
    limit = LIMIT_BYTES
    if text := os.environ.get(LIMIT_VARIABLE):
        limit = size_of(text, LIMIT_VARIABLE)
    if place is None:
        with suppress(RuntimeError):
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
            return Cache(Path(base) / "neuronir", limit)
        return None
    scheme, mark, rest = place.partition("://")
    if mark and scheme not in ("file", "local"):
        return RemoteCache.at(place)
    return Cache(Path(rest if mark else place), limit) if place else None


_UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}


def size_of(text: str, what: str) -> int:
    """The bytes of a size such as `500M` or `8GiB` (powers of 1024); NIR_CACHE001 if it is none,
    with `what` as the name of the option."""
    number, unit = text.strip(), ""
    stem = number.lower().removesuffix("b").removesuffix("i")
    if stem[-1:] in _UNITS:
        number, unit = stem[:-1], stem[-1]
    elif number.lower().endswith("b"):
        number = number[:-1]
    if not number.strip().isdecimal():
        raise NeuronError(
            "NIR_CACHE001",
            f"{what}: '{text}' is not a size",
            help="write bytes, or a number with K, M, G or T, such as 500M",
        )
    return int(number) << _UNITS.get(unit, 0)

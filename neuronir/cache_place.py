"""Find the compile cache and its size limit."""

import os
from contextlib import suppress
from pathlib import Path

from neuronir.cache import FOLDER_VARIABLE, LIMIT_BYTES, Cache, Store
from neuronir.cache_remote import RemoteCache
from neuronir.dialects.support.errors import NeuronError

LIMIT_VARIABLE = "NEURONIR_CACHE_LIMIT"
"""The environment variable with the size limit of the cache, such as `500M`."""


def find_cache(place: str | None) -> Store | None:
    """Return the cache at `place`, else the one in the environment, else the user's default.

    `place` is a folder or URL. Returns None if the environment disables the cache, or if the user
    has no known folder. Raises NeuronError if LIMIT_VARIABLE is not a size, or if nothing can open
    the URL.
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
    """Parse a size such as `500M` or `8GiB` (powers of 1024); raises NIR_CACHE001 if invalid.

    `what` is the name of the option.
    """
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

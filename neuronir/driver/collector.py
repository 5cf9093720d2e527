"""Python's cyclic collector during a compile: IR is cycles that stay, so it looks for little."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 500_000
"""So many new objects that are still there make a collection worth its time."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect seldom inside; what rewriting leaves behind is bounded (about 100 MB)."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)

"""Python's cyclic collector during a compile: IR is cycles that stay, so it looks for little."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 500_000
"""So many new objects that are still there make a collection worth its time."""

_unseen = 0
"""New objects of compiles that are over, at which the collector has not looked."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect seldom inside; what rewriting leaves behind is bounded (about 100 MB).

    What is new at the end is old from then on: it is looked at with all that is old, or where
    another compile begins and there is much of it, not at once.
    """
    global _unseen
    if _unseen > _OBJECTS:
        gc.collect()
        _unseen = 0
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        if before[0] < _OBJECTS and gc.get_freeze_count() == 0:
            _unseen += gc.get_count()[0]
            gc.freeze()  # with this all objects leave the young generations
            gc.unfreeze()  # and with this they are in the oldest
        gc.set_threshold(*before)

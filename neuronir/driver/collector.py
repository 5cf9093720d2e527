"""Tune Python's cyclic garbage collector for compiles: IR consists of live cycles."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 500_000
"""The number of new live objects after which a collection is worth its time."""

_SHARE = 4
"""A collection waits until a quarter of all blocks are new objects, as Python's own rule for old
objects has it: it visits everything that is alive, in a large process for seconds.
"""

_unseen = 0
"""New objects of finished compiles that were not collected yet."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Collect rarely in this context; garbage of rewrites is bounded (about 100 MB).

    At the end all new objects become old. They are collected with the old generation, or when
    another compile starts and there are many.
    """
    global _unseen
    if _unseen > max(_OBJECTS, sys.getallocatedblocks() // _SHARE):
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

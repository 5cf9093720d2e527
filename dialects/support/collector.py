"""Tune Python's cyclic garbage collector for compiles and runs: IR consists of live cycles."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

_OBJECTS = 4_000_000
"""The number of new live objects after which a compile or run is collected.

Almost all new objects are alive. With 500,000, bert_base_b8 takes 73 s of processor time, not 62 s,
in as much memory; hf_resnet50 takes 12.7 s, not 11.0 s, in 234 MB, not 262 MB.
"""

_LEFT = 500_000
"""The number of objects left by finished compiles and runs after which they are collected."""

_SHARE = 4
"""A collection waits until a quarter of all blocks are new objects, as Python's own rule for old
objects has it: it visits everything that is alive, in a large process for seconds.
"""

Kind = Literal["compiles", "runs"]

_left: dict[Kind, int] = {"compiles": 0, "runs": 0}
"""New objects of finished compiles and of finished runs that were not collected yet."""


def collect_leftovers(*kinds: Kind) -> None:
    """Collect what finished `compiles` or `runs` have left, if it is much.

    A run does not ask for what compiles have left: the one before it has left its module.
    """
    if sum(_left[kind] for kind in kinds) > max(_LEFT, sys.getallocatedblocks() // _SHARE):
        gc.collect()
        _left.update({"compiles": 0, "runs": 0})


@contextmanager
def few_collections(kind: Kind = "compiles") -> Iterator[None]:
    """Collect rarely in this context, a compile or a run.

    At the end all new objects become old. They are collected with the old generation, or by
    `collect_leftovers`.
    """
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        if before[0] < _OBJECTS and gc.get_freeze_count() == 0:
            _left[kind] += gc.get_count()[0]
            gc.freeze()  # with this all objects leave the young generations
            gc.unfreeze()  # and with this they are in the oldest
        gc.set_threshold(*before)

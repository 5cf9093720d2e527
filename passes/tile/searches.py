"""Keep what a search of groups finds, for later searches of the same ops in less room.

A compile tries tiles for several sizes of room. Most sets of ops fit in all of them with the same
loops, and what needs too much of the largest room does so in the others.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.ir import Block

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.contents import contents_of_block
from neuronir.passes.tile.group import Loop
from neuronir.passes.tile.times import Times

Found = dict[frozenset[int], tuple[tuple[Loop, ...], Times] | None]
"""The fastest loops of sets of ops that fit, by the numbers of the ops; None if none fits."""

Numbers = tuple[frozenset[int], ...]
"""The numbers of the ops of a search: those to group, those that recompute values of other groups,
and those whose results may stay in SBUF.
"""


@dataclass
class Search:
    """What was found in `room` bytes of a partition, the least room so far."""

    machine: Machine
    contents: list[Hashable]
    ops: Numbers
    room: int
    found: Found = field(default_factory=dict)


_SEARCHES: ContextVar[list[Search] | None] = ContextVar("searches", default=None)


@contextmanager
def searches_kept() -> Iterator[None]:
    """Keep searches while the context is active."""
    token = _SEARCHES.set([])
    try:
        yield
    finally:
        _SEARCHES.reset(token)


def found_before(block: Block, machine: Machine, ops: Numbers, room: int) -> Found:
    """Return what was found for `ops` of an equal block in at least as much room (bytes).

    What the search finds is to be added.
    """
    searches = _SEARCHES.get()
    if searches is None:
        return {}
    contents = contents_of_block(block)
    for search in searches:
        same = search.machine is machine and search.ops == ops and search.contents == contents
        if same and search.room >= room:
            search.room = room
            return search.found
    searches.append(Search(machine, contents, ops, room))
    return searches[-1].found

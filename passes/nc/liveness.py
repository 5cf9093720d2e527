"""Compute the live ranges of buffers in the linear order of a block."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.nc.listing import Buffer, Node

ALIGNMENT = 8
"""SBUF and PSUM buffers are aligned to this many bytes: the largest element has 8."""


def rounded(size: int) -> int:
    """Round `size` bytes up to the alignment of buffers."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(slots=True)
class Life:
    """The positions (both inclusive) in the linear order between which a buffer is live."""

    first: int
    last: int


def lifetimes(order: Sequence[Node], buffers: Sequence[Buffer]) -> dict[int, Life]:
    """Return live ranges by buffer key, from the first to the last access; constants live to the
    end.
    """
    lives: dict[int, Life] = {}
    for place, node in enumerate(order):
        for access in node.accesses:
            life = lives.get(access.buffer)
            if life is None:
                lives[access.buffer] = Life(place, place)
            else:
                life.last = place
    for key, life in lives.items():
        if buffers[key].role == "constant" and buffers[key].space != Space.HBM:
            life.last = len(order)
    return lives


def deep_lifetimes(order: Sequence[Node], buffers: Sequence[Buffer]) -> tuple[dict[int, Life], int]:
    """Return live ranges where positions count instructions in loops, and the number of positions.

    A buffer that is allocated outside a loop and used in it is live in the whole loop.
    """
    lives: dict[int, Life] = {}
    places = 0

    def walk(nodes: Sequence[Node]) -> None:
        nonlocal places
        for node in nodes:
            if node.record is not None:
                for access in node.accesses:
                    life = lives.get(access.buffer)
                    if life is None:
                        lives[access.buffer] = Life(places, places)
                    elif life.last < places:
                        life.last = places
                places += 1
                continue
            begin = places
            walk(node.body)
            end = max(places - 1, begin)
            for key in node.touched:
                if not node.loop <= buffers[key].loop <= node.last_loop:
                    life = lives.setdefault(key, Life(begin, end))
                    life.first, life.last = min(life.first, begin), max(life.last, end)

    walk(order)
    for key, life in lives.items():
        if buffers[key].role == "constant" and buffers[key].space != Space.HBM:
            life.last = places
    return lives, places


def peak(
    lives: dict[int, Life], buffers: Sequence[Buffer], keys: Iterable[int], length: int
) -> tuple[int, int]:
    """Return (bytes, position) of the maximum per partition that the buffers `keys` take."""
    change = [0] * (length + 2)
    for key in keys:
        life = lives[key]
        size = rounded(buffers[key].size)
        change[life.first] += size
        change[life.last + 1] -= size
    best, where, now = 0, 0, 0
    for place in range(length + 1):
        now += change[place]
        if now > best:
            best, where = now, place
    return best, where


def clipped(lives: dict[int, Life], first: int, last: int) -> dict[int, Life]:
    """Restrict live ranges to positions `first` to `last`."""
    return {
        k: Life(max(life.first, first), min(life.last, last))
        for k, life in lives.items()
        if life.first <= last and life.last >= first
    }


def stream_buffers(order: Sequence[Node], buffers: Sequence[Buffer]) -> dict[int, int]:
    """Return the stream buffers that one DMA of this block fills from constants or inputs.

    The result maps keys to positions. Buffers with other uses are allocated like any other buffer.
    In a loop, a buffer with a fixed position in the ring may be filled again, ahead of the next
    iteration.
    """
    writers: dict[int, list[int]] = {}
    for place, node in enumerate(order):
        for access in node.accesses:
            buffer = buffers[access.buffer]
            again = node.record is None and buffer.ring >= 0
            if access.write and buffer.role == "stream" and not again:
                writers.setdefault(access.buffer, []).append(place)
    out: dict[int, int] = {}
    for key, places in writers.items():
        node = order[places[0]]
        sources = (buffers[a.buffer] for a in node.accesses if not a.write)
        steady = all(b.space == Space.HBM and b.role in ("constant", "input") for b in sources)
        if len(places) == 1 and steady and node.record and node.record.opcode == "dma":
            out[key] = places[0]
    return out


def fixed_in_ring(buffers: Iterable[Buffer]) -> dict[int, tuple[int, int]]:
    """Return the buffers with a fixed position in the ring: key -> (first byte, end)."""
    return {b.key: (b.ring, b.ring + rounded(b.size)) for b in buffers if b.ring >= 0}


SBUF_HELP = "bytes per partition to plan with; 0: those of the machine"
"""Describes the option of passes that `usable_sbuf` takes."""


def usable_sbuf(machine: Machine, override: int) -> int:
    """Return the bytes per partition available to buffers."""
    return override or machine.sbuf_usable_partition_bytes

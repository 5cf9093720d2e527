"""Choose the pages to spill by Belady's rule: evict the page with the furthest next use.

A page is a buffer, or a part of a buffer if no instruction accesses two parts. After an eviction,
each part with its own users returns as a separate page when they need it. Unused parts do not
return.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.structure import AllocOp
from neuronir.passes.nc.listing import Access, Buffer, Node
from neuronir.passes.nc.liveness import rounded
from neuronir.passes.nc.spill_extent import Written

NEVER = 1 << 62
LEAST = 2048
"""Bytes per partition of a part: shorter rows cost DMA more time than the smaller transfer saves
(docs/hardware.md section 2.5).
"""

Touch = tuple[int, Access]
"""The position of an instruction, and its accesses."""
_Piece = tuple[int, int, list[Touch]]


@dataclass(eq=False, slots=True)
class Page:
    """Bytes `low` to `high` of each partition of buffer `key`, from one eviction to the next.

    `touches` are all accesses after the first one; those up to position `last` find the page on the
    chip. For a page that returns, `begin` is the position of its first use, `parent` the page from
    which it was split, and `extent` the bytes and partitions that were written before, or None.
    """

    number: int
    key: int
    low: int
    high: int
    touches: list[Touch]
    places: list[int] = field(init=False)
    parent: "Page | None" = None
    extent: tuple[int, int, int] | None = None
    begin: int = -1
    last: int = -1

    def __post_init__(self) -> None:
        self.places = [place for place, _ in self.touches]

    @property
    def bytes(self) -> int:
        """Return the bytes per partition of its buffer."""
        return rounded(self.high - self.low)

    @property
    def resident(self) -> list[Touch]:
        """Return the accesses that find it on the chip before it is evicted."""
        return self.touches[: bisect_right(self.places, self.last)]

    @property
    def dirty(self) -> bool:
        """Return whether its parent has data of it that HBM does not have."""
        return self.extent is not None and any(
            a.write and a.low < self.high and self.low < a.high
            for _, a in (self.parent.resident if self.parent is not None else ())
        )

    @property
    def moved(self) -> int:
        """Return the bytes that are reloaded."""
        return 0 if self.extent is None else (self.extent[1] - self.extent[0]) * self.extent[2]

    def next_after(self, place: int) -> int:
        """Return the position of the next use; NEVER if there is none."""
        at = bisect_right(self.places, place)
        return self.places[at] if at < len(self.places) else NEVER


@dataclass(slots=True)
class Plan:
    """Pages in order of creation, and the bytes in use at each position."""

    pages: list[Page]
    taken: list[int]

    def moved(self, sources: Mapping[int, object]) -> int:
        """Return the bytes stored and loaded; buffers in `sources` are only loaded."""
        back = [page for page in self.pages if page.parent is not None]
        loads = sum(page.moved for page in back)
        return loads + sum(p.moved for p in back if p.dirty and p.key not in sources)

    @property
    def empty(self) -> bool:
        """Return whether nothing is spilled."""
        return all(page.parent is None for page in self.pages)


class Planner:
    """Apply Belady's rule to the buffers of a function, except `streams`.

    Pages are limited to the given bytes of each partition. `grains` has two values for each
    divisible buffer: parts start and end at multiples of the first value after the second.
    """

    def __init__(
        self,
        order: Sequence[Node],
        buffers: Sequence[Buffer],
        streams: set[int],
        capacity: int,
        grains: Mapping[int, tuple[int, int]],
    ) -> None:
        self.order = order
        self.buffers = buffers
        self.capacity = capacity
        self.grains = grains
        self.touches: dict[int, list[Touch]] = {}
        for place, node in enumerate(order):
            for access in node.accesses:
                key = access.buffer
                if buffers[key].space == Space.SBUF and key not in streams:
                    self.touches.setdefault(key, []).append((place, access))
        self.writes = {k: [t for t in v if t[1].write] for k, v in self.touches.items()}
        self.pages: list[Page] = []
        self.current: dict[int, list[Page]] = {}

    def plan(self) -> Plan:
        """Visit the function once."""
        for key, touches in self.touches.items():
            pieces = self._pieces(key, touches)
            if len(pieces) == 1:
                pieces = [(0, self.buffers[key].size, touches)]
            self.current[key] = [self._page(key, *piece) for piece in pieces]
        resident: dict[Page, int] = {}  # and the position of its next use
        taken: list[int] = []
        total = 0
        for place, node in enumerate(self.order):
            now = {self._page_of(a) for a in node.accesses if a.buffer in self.touches}
            for page in [p for p, following in resident.items() if following == NEVER]:
                total -= page.bytes
                del resident[page]
            for page in sorted(now, key=lambda p: p.number):
                if page not in resident:
                    total += page.bytes
                    page.begin = place
                resident[page] = page.next_after(place)
                page.last = place
            while total > self.capacity:
                others = [p for p in resident if p not in now and resident[p] != NEVER]
                others.sort(key=lambda p: (-resident[p], -p.bytes, p.number))
                victim = next((p for p in others if self._evict(p, place)), None)
                if victim is None:
                    break
                total -= victim.bytes
                del resident[victim]
            taken.append(total)
        return Plan(self.pages, taken)

    def _page(self, key: int, low: int, high: int, touches: list[Touch]) -> Page:
        page = Page(len(self.pages), key, low, high, touches)
        self.pages.append(page)
        return page

    def _page_of(self, access: Access) -> Page:
        pages = self.current[access.buffer]
        return next(p for p in pages if p.low <= access.low and access.high <= p.high)

    def _pieces(self, key: int, touches: list[Touch]) -> list[_Piece]:
        """Return the parts of a buffer that these users need; no part is shared with others."""
        if key not in self.grains:
            return [(0, self.buffers[key].size, touches)]
        grain, base = self.grains[key]
        size = self.buffers[key].size
        out: list[_Piece] = []
        for touch in sorted(touches, key=lambda t: (t[1].low, t[1].high)):
            low = max(0, base + (touch[1].low - base) // grain * grain)
            high = min(size, base + -((base - touch[1].high) // grain) * grain)
            if out and (low < out[-1][1] or out[-1][1] - out[-1][0] < LEAST):
                before = out[-1]
                out[-1] = (before[0], max(before[1], high), [*before[2], touch])
            else:
                out.append((low, high, [touch]))
        if len(out) > 1 and out[-1][1] - out[-1][0] < LEAST:
            short = out.pop()
            out[-1] = (out[-1][0], short[1], [*out[-1][2], *short[2]])
        return [(low, high, sorted(t, key=lambda t: t[0])) for low, high, t in out]

    def _evict(self, page: Page, place: int) -> bool:
        """Evict a page; return False if its written bytes have gaps, which a store would read."""
        if not isinstance(self.buffers[page.key].op, AllocOp):
            return False
        future = page.touches[bisect_right(page.places, place) :]
        whole = (page.low, page.high, future)
        for pieces in (self._pieces(page.key, future), [whole]):
            found = [Written.before(self.writes[page.key], place, *piece[:2]) for piece in pieces]
            if not all(written.whole for written in found):
                continue
            others = [p for p in self.current[page.key] if p is not page]
            for piece, written in zip(pieces, found, strict=True):
                child = self._page(page.key, *piece)
                child.parent, child.extent = page, written.extent
                others.append(child)
            self.current[page.key] = others
            return True
        return False

"""Track exactly which instruction last wrote each byte of a memory.

A memory holds the visible writes, each under the *region* that it covered. A read finds the writes
that it overlaps, newest first: usually a single one that covers it. If there are several, the
visible part of each is computed once (flow_paint.py).
"""

from collections.abc import Iterable

from neuronir.dialects.nc.footprint import Shape
from neuronir.passes.nc.flow_contents import Painter
from neuronir.passes.nc.flow_paint import UNWRITTEN, Region, Write

_PAGE = 4096  # page size in bytes for the region index
_PAGES = 64  # regions with more pages are compared with all others
_LINE = 64  # regions up to this size in bytes are also indexed by lines of this size
_FEW = 8  # visible writes up to which no index is used

_WIDE, _LARGE, _SMALL, _SINGLE = range(4)
_ALL = (0,)  # the only key of wide regions

_Index = dict[int, dict[int, None]]


class FlowMemory:
    """One memory, or one buffer of it.

    Regions are numbered. Those with a visible write are indexed by page; small ones by line, too,
    and small ones in one partition by line and partition: a load may write thousands of elements of
    a page one by one.
    """

    __slots__ = (
        "live",
        "painter",
        "regions",
        "lows",
        "highs",
        "numbers",
        "known",
        "ranges",
        "keys",
        "finer",
        "equal",
        "indexed",
        "count",
        "changed",
        "widened",
        "answers",
    )

    def __init__(self, painter: Painter) -> None:
        self.painter = painter
        self.live: dict[int, Write] = {}
        self.regions: list[Region] = []
        self.lows: list[int] = []  # the bounding bytes of the regions
        self.highs: list[int] = []
        # regions by partitions, address and identity of the shape, which the region keeps alive
        self.numbers: dict[tuple[int, int, int, int], int] = {}
        self.known: list[dict[int, int]] = []  # by two regions: how they overlap
        self.ranges: list[range] = []  # the pages of each region
        self.keys: list[tuple[Iterable[int], ...]] = []  # of each region, when first needed
        self.finer: list[_Index] = [{}, {}, {}, {}]  # the regions of this size or smaller, by key
        self.equal: list[_Index] = [{}, {}, {}, {}]  # the regions of this size, by key
        self.indexed = False  # whether there were more than _FEW visible writes
        self.count = 0  # of writes
        self.changed: dict[int, int] = {}  # the last write of each page
        self.widened = 0  # the last write of more pages than are indexed
        self.answers: dict[int, tuple[int, tuple[int, int, int]]] = {}  # of reads, and their count

    def number(self, region: Region) -> int:
        """Return the number of a region in this memory."""
        return self.place(region.start, region.stop, region.address, region.shape)

    def place(self, start: int, stop: int, address: int, shape: Shape) -> int:
        """Return the number of a region: partitions `start` to `stop`, and a shape at an address.

        Equal shapes that are not the same object make regions that cover each other.
        """
        key = (start, stop, address, id(shape))
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.regions)
            region = Region(start, stop, address, shape)
            low, high = region.low, region.high
            self.regions.append(region)
            self.lows.append(low)
            self.highs.append(high)
            self.known.append({})
            pages = range(low // _PAGE, (high - 1) // _PAGE + 1)
            self.ranges.append(pages)
            self.keys.append(())
        return number

    def _keys(self, number: int) -> tuple[Iterable[int], ...]:
        """Return where a region is indexed; the last one is that of its own size."""
        found = self.keys[number]
        if not found:
            found = self.keys[number] = self._located(self.regions[number], self.ranges[number])
        return found

    @staticmethod
    def _located(region: Region, pages: range) -> tuple[Iterable[int], ...]:
        keys: list[Iterable[int]] = [_ALL]
        if len(pages) <= _PAGES:
            keys.append(pages)
            if region.high - region.low <= _LINE:
                lines = range(region.low // _LINE, (region.high - 1) // _LINE + 1)
                keys.append(lines)
                if region.stop - region.start == 1:
                    keys.append([line << 8 | region.start for line in lines])
        return tuple(keys)

    def clear(self) -> None:
        """Drop all writes."""
        self.live.clear()
        if self.indexed:
            for index in (*self.finer, *self.equal):
                index.clear()
            self.indexed = False
        self.answers.clear()

    def _near(self, number: int) -> "dict[int, None] | dict[int, Write]":
        """Return the regions of visible writes that may overlap one."""
        if not self.indexed:
            return self.live
        keys = self._keys(number)
        size = len(keys) - 1
        if size == _WIDE:
            return self.live
        some = []
        for kind in range(size + 1):
            index = (self.finer if kind == size else self.equal)[kind]
            if index:
                some += [there for key in keys[kind] if (there := index.get(key))]
        if len(some) < 2:
            return some[0] if some else _NONE
        found: dict[int, None] = {}
        for there in some:
            found.update(there)
        return found

    def _index(self, number: int) -> None:
        """Add a region to the index."""
        keys = self._keys(number)
        size = len(keys) - 1
        for kind in range(1, size + 1):
            index = self.finer[kind]
            for key in keys[kind]:
                index.setdefault(key, {})[number] = None
        index = self.equal[size]
        for key in keys[size]:
            index.setdefault(key, {})[number] = None

    def _forget(self, number: int) -> None:
        """Remove a region from the index."""
        keys = self._keys(number)
        size = len(keys) - 1
        for kind in range(1, size + 1):
            index = self.finer[kind]
            for key in keys[kind]:
                del index[key][number]
        index = self.equal[size]
        for key in keys[size]:
            del index[key][number]

    def _lie(self, a: int, b: int) -> int:
        """Return how two regions overlap: 0 disjoint, 1 overlapping, 2 if `a` covers `b`."""
        how = self.known[a].get(b)
        if how is None:
            one, other = self.regions[a], self.regions[b]
            how = 0
            if (
                self.lows[a] < self.highs[b]
                and self.lows[b] < self.highs[a]
                and one.start < other.stop
                and other.start < one.stop
                and self.painter.meet(one, other)
            ):
                how = 2 if one.covers(other) else 1
            self.known[a][b] = how
        return how

    def write(self, number: int, write: Write, *, moved: bool = False) -> None:
        """Record a write.

        The writes that it covers are dropped, unless it is one of those that were `moved` together
        with what was visible below them: reads find the newest ones first in any case.
        """
        self.count = count = self.count + 1
        pages = self.ranges[number]
        if len(pages) > _PAGES:
            self.widened = count
        else:
            for page in pages:
                self.changed[page] = count
        live = self.live
        if not moved and (len(live) > 1 or (live and number not in live)):
            self._hide(number)
        if self.indexed:
            if number not in live:
                self._index(number)
        elif len(live) > _FEW:
            self.indexed = True
            for k in (*live, number):
                self._index(k)
        live[number] = write

    def _hide(self, number: int) -> None:
        """Remove the writes that a region covers, except one to the same region."""
        live, lows, highs, regions = self.live, self.lows, self.highs, self.regions
        low, high = lows[number], highs[number]
        start, stop = regions[number].start, regions[number].stop
        gone = [
            k
            for k in self._near(number)
            if lows[k] >= low
            and highs[k] <= high
            and regions[k].start >= start
            and regions[k].stop <= stop
            and k != number
            and self._lie(number, k) == 2
        ]
        for k in gone:
            del live[k]
            if self.indexed:
                self._forget(k)

    def seen(self, number: int) -> list[tuple[Region, Write]]:
        """Return the writes that a read overlaps, oldest first."""
        live, regions, known = self.live, self.regions, self.known
        lows, highs = self.lows, self.highs
        low, high = lows[number], highs[number]
        found = []
        for k in self._near(number):
            if lows[k] < high and highs[k] > low:
                how = known[k].get(number)
                if how or (how is None and self._lie(k, number)):
                    found.append((live[k].time, k))
        return [(regions[k], live[k]) for _, k in sorted(found)]

    def read(self, number: int) -> tuple[int, int, int]:
        """Return the contents of a read: (value, partitions, offset of the read in it).

        If the read covers several values, the tuple is (a number below UNWRITTEN for the
        combination, 0, 1 + the number of the area that was never written).
        """
        answer = self.answers.get(number)
        if answer is not None and self._holds(number, answer[0]):
            return answer[1]
        found = self._read(number)
        self.answers[number] = self.count, found
        return found

    def _holds(self, number: int, count: int) -> bool:
        """Return whether nothing near a region was written during this many last writes."""
        pages = self.ranges[number]
        if len(pages) > _PAGES or self.widened > count:
            return self.count == count
        changed = self.changed
        for page in pages:
            if changed.get(page, 0) > count:
                return False
        return True

    def _read(self, number: int) -> tuple[int, int, int]:
        live, known = self.live, self.known
        newest, latest = -1, -1
        lows, highs = self.lows, self.highs
        low, high = lows[number], highs[number]
        for k in self._near(number):
            if lows[k] >= high or highs[k] <= low:
                continue
            time = live[k].time
            if time > latest:
                how = known[k].get(number)
                if how or (how is None and self._lie(k, number)):
                    newest, latest = k, time
        if newest < 0:
            return UNWRITTEN, 0, 0
        best = live[newest]
        if self._lie(newest, number) == 2:
            if best.byte is None or best.value == UNWRITTEN:
                return best.value, 0, 0
            read = self.regions[number]
            return best.value, read.start - best.partition, read.address - best.byte
        parts, gap = self.painter.parts(self.regions[number], self.seen(number))
        if len(parts) == 1 and gap < 0 and self.painter.fills(parts[0][3], self.regions[number]):
            value, partition, byte, _ = parts[0]
            return value, partition, byte
        return UNWRITTEN - 1 - self.painter.content(parts), 0, gap + 1

    def read_but(self, number: int, gap: int) -> tuple[int, int, int]:
        """Return the same for a read whose bytes in the area `gap` do not matter."""
        read = self.regions[number]
        hidden = [
            (region, Write(0, UNWRITTEN, 0, None)) for region in self.painter.regions(read, gap)
        ]
        parts, _ = self.painter.parts(read, [*self.seen(number), *hidden])
        return UNWRITTEN - 1 - self.painter.content(parts), 0, gap + 1

    def final(self) -> tuple[tuple[int, ...], ...]:
        """Return the final contents: every remaining write, and the earlier writes that it
        overlaps.
        """
        out: list[tuple[int, ...]] = []
        for k, write in self.live.items():
            region = self.regions[k]
            byte = 0 if write.byte is None else region.address - write.byte
            earlier = sorted(
                (self.live[other].value, self.regions[other].address)
                for other in self._near(k)
                if self.live[other].time < write.time and self._lie(k, other)
            )
            order = (n for pair in earlier for n in pair)
            shape = self.painter.shape(region)
            out.append((region.address, shape, write.value, byte, *order))
        return tuple(sorted(out))


_NONE: dict[int, None] = {}

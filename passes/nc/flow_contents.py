"""Number the contents of reads that find several values, so that programs can be compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from neuronir.dialects.nc.footprint import Shape, shapes_overlap
from neuronir.passes.nc.flow_paint import (
    UNWRITTEN,
    Area,
    Region,
    TooLarge,
    Write,
    paint,
    solid,
    union,
)


@dataclass(slots=True)
class Painter:
    """Numbers contents that consist of several values; shared by the compared programs."""

    contents: dict[tuple[tuple[int, ...], ...], int] = field(default_factory=dict)
    areas: dict[Area, int] = field(default_factory=dict)
    listed: list[Area] = field(default_factory=list)  # by number
    unions: dict[tuple[int, ...], int] = field(default_factory=dict)
    shapes: dict[tuple[int, Shape], int] = field(default_factory=dict)
    known: dict[tuple[int, int], int] = field(default_factory=dict)  # by identity of the shape
    kept: list[Shape] = field(default_factory=list)
    meeting: dict[tuple[int, int, int], bool] = field(default_factory=dict)
    """Whether shapes at a distance share a byte, by identities."""
    painted: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)
    unpainted: dict[tuple[int, ...], int] = field(default_factory=dict)
    """Numbers of writes in reads that are too large to be painted."""

    def shape(self, region: Region) -> int:
        """Return a number for a region's shape, independent of its position."""
        extent = region.stop - region.start
        number = self.known.get((extent, id(region.shape)))
        if number is None:
            key = (extent, region.shape)
            number = self.shapes.setdefault(key, len(self.shapes))
            self.known[(extent, id(region.shape))] = number
            self.kept.append(region.shape)
        return number

    def meet(self, one: Region, other: Region) -> bool:
        """Return whether two regions with common partitions, whose hulls overlap, share a byte."""
        mine, theirs = one.shape, other.shape
        if not mine.dims and not theirs.dims:
            return True
        away = other.address - one.address
        key = (id(mine), id(theirs), away)
        found = self.meeting.get(key)
        if found is None:
            self.kept += (mine, theirs)
            found = self.meeting[key] = shapes_overlap(mine, theirs, away)
        return found

    def parts(
        self, read: Region, seen: list[tuple[Region, Write]]
    ) -> tuple[tuple[tuple[int, ...], ...], int]:
        """Return the parts that a read finds, as (value, partitions, offset, area) in order.

        Also returns the number of the area that was never written (-1 if none). `seen` are the
        overlapping writes, oldest first. Contents written in pieces are joined to one part.
        """
        key = [self.shape(read)]
        for region, _ in seen:
            key += (
                self.shape(region),
                region.start - read.start,
                region.address - read.address,
            )
        areas = self.painted.get(tuple(key))
        if areas is None:
            regions = [region for region, _ in seen]
            try:
                found = paint(read, regions)
            except TooLarge:
                found = [*(((n, -1, b""),) for n in self._unpainted(read, regions)), ()]
            areas = tuple(-1 if not a else self.area(a) for a in found)
            self.painted[tuple(key)] = areas
        parts: dict[tuple[int, int, int], list[int]] = {}
        for (_, write), area in zip(seen, areas, strict=False):
            if area >= 0 and write.value != UNWRITTEN:
                byte = 0 if write.byte is None else read.address - write.byte
                partition = 0 if write.byte is None else read.start - write.partition
                parts.setdefault((write.value, partition, byte), []).append(area)
        whole = sorted((*part, self._union(numbers)) for part, numbers in parts.items())
        return tuple(whole), areas[-1]

    def _unpainted(self, read: Region, writes: Sequence[Region]) -> list[int]:
        """Return a number for each write, oldest first: its region, and the newer ones that hide
        parts of it.

        Writes that are disjoint have the same numbers in any order.
        """
        places = [(self.shape(w), w.start - read.start, w.address - read.address) for w in writes]
        out = []
        for place, newer in zip(places, self._hiding(writes), strict=True):
            key = (*place, *(n for other in sorted(places[j] for j in newer) for n in other))
            out.append(self.unpainted.setdefault(key, len(self.unpainted)))
        return out

    def _hiding(self, writes: Sequence[Region]) -> Iterator[list[int]]:
        """Yield the newer writes that share bytes with each one."""
        edges = np.array([(w.low, w.high, w.start, w.stop) for w in writes], np.int64).T
        low, high, start, stop = edges
        for i, write in enumerate(writes):
            near = (low[i + 1 :] < write.high) & (high[i + 1 :] > write.low)
            near &= (start[i + 1 :] < write.stop) & (stop[i + 1 :] > write.start)
            found = (np.flatnonzero(near) + i + 1).tolist()
            yield [j for j in found if self.meet(write, writes[j])]

    def content(self, parts: tuple[tuple[int, ...], ...]) -> int:
        """Return a number for the contents of a read."""
        return self.contents.setdefault(parts, len(self.contents))

    def area(self, area: Area) -> int:
        """Return a number for an area."""
        number = self.areas.get(area)
        if number is None:
            number = self.areas[area] = len(self.listed)
            self.listed.append(area)
        return number

    def fills(self, area: int, read: Region) -> bool:
        """Return whether an area is all of a read."""
        try:
            (all_of_it,) = paint(read, [])
        except TooLarge:
            return False
        return self.listed[area] == all_of_it

    def _union(self, numbers: list[int]) -> int:
        """Return the index of the union of several disjoint areas."""
        if len(numbers) == 1:
            return numbers[0]
        key = tuple(sorted(numbers))
        found = self.unions.get(key)
        if found is None:
            found = self.unions[key] = self.area(union([self.listed[n] for n in key]))
        return found

    def regions(self, read: Region, area: int) -> list[Region]:
        """Return the bytes of an area of a read."""
        known = self.listed[area]
        return [
            solid(read.start + start, read.start + stop, read.low + first, read.low + last)
            for start, stop, runs in known
            for first, last in np.frombuffer(runs, np.int64).reshape(2, -1).T.tolist()
        ]

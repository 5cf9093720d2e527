"""Track which bytes of a part of a buffer were written, so that a store saves only those."""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.passes.nc.listing import Access


@dataclass(slots=True)
class Written:
    """The extent of writes: bytes `low` to `high` of the partitions up to `stop`, and the total.

    If the position of a write depends on a loop iteration, its whole range counts.
    """

    low: int = 0
    high: int = 0
    stop: int = 0
    written: int = 0

    @staticmethod
    def before(writes: Sequence[tuple[int, Access]], place: int, low: int, high: int) -> "Written":
        """Return the bytes between `low` and `high` that the writes up to a position have
        written.
        """
        out = Written()
        for at, access in writes:
            if at > place or access.low >= high or access.high <= low:
                continue
            first, last = max(access.low, low), min(access.high, high)
            spanned = (last - first) * (access.stop - access.start)
            inside = (first, last) == (access.low, access.high)
            if inside and access.fixed:
                written = access.pattern.bytes
            else:  # how much of a partial write with gaps is inside is unknown
                written = spanned if inside or access.solid else 0
            out.note(first, last, access.stop, written)
        return out

    def note(self, low: int, high: int, stop: int, written: int) -> None:
        """Add a write of this many bytes between `low` and `high` of the partitions up to
        `stop`.
        """
        if self.stop:
            low, high, stop = min(low, self.low), max(high, self.high), max(stop, self.stop)
        self.low, self.high, self.stop = low, high, stop
        self.written += written

    @property
    def whole(self) -> bool:
        """Return False if the writes leave gaps, which a store of the extent would read."""
        return self.written >= (self.high - self.low) * self.stop

    @property
    def extent(self) -> tuple[int, int, int] | None:
        """Return the low byte, the high byte and the partitions; None if nothing was written."""
        return (self.low, self.high, self.stop) if self.stop else None

"""What of a part of a buffer has been written: the bytes that a store has to save."""

from collections.abc import Sequence
from dataclasses import dataclass

from neuronir.passes.nc.listing import Access


@dataclass(slots=True)
class Written:
    """What writes span: bytes `low` to `high` of the partitions up to `stop`, and the bytes that
    they write in all; of a write whose place depends on a loop's round, all that it spans."""

    low: int = 0
    high: int = 0
    stop: int = 0
    written: int = 0

    @staticmethod
    def before(writes: Sequence[tuple[int, Access]], place: int, low: int, high: int) -> "Written":
        """What the writes up to a place have written between the bytes `low` and `high`."""
        out = Written()
        for at, access in writes:
            if at > place or access.low >= high or access.high <= low:
                continue
            first, last = max(access.low, low), min(access.high, high)
            spanned = (last - first) * (access.stop - access.start)
            inside = (first, last) == (access.low, access.high)
            if inside and access.fixed:
                written = access.pattern.bytes
            else:  # of a part of one with gaps nobody knows how much lies in it
                written = spanned if inside or access.solid else 0
            out.note(first, last, access.stop, written)
        return out

    def note(self, low: int, high: int, stop: int, written: int) -> None:
        """A write of so many bytes between `low` and `high` of the partitions up to `stop`."""
        if self.stop:
            low, high, stop = min(low, self.low), max(high, self.high), max(stop, self.stop)
        self.low, self.high, self.stop = low, high, stop
        self.written += written

    @property
    def whole(self) -> bool:
        """False where the writes leave gaps, which a store of what they span would read."""
        return self.written >= (self.high - self.low) * self.stop

    @property
    def extent(self) -> tuple[int, int, int] | None:
        """The low byte, the high byte and the partitions; None where nothing was written."""
        return (self.low, self.high, self.stop) if self.stop else None

"""Follow accesses whose address contains a register, exactly among those with the same registers.

The distance of two accesses with the same registers is known, although their addresses are not.
Such accesses of one part of a memory therefore share a *frame*: a memory with addresses relative to
the registers, which lies over the other one. As soon as any other access may touch these bytes, the
contents of the frame become one write of all bytes that they may have touched.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from neuronir.passes.nc.flow_memory import FlowMemory
from neuronir.passes.nc.flow_paint import UNWRITTEN, Region, Write, solid
from neuronir.passes.nc.flow_values import Frame, Terms, Values


@dataclass(slots=True)
class Frames:
    """The frames of a program.

    Accesses are added by `add` while the program is prepared; `frame_of` returns the frame of one
    behind `settle`. While the program runs, `enter` closes the frames that an access ends.
    """

    values: Values
    regions: dict[tuple[int, Terms], dict[tuple[int, int, int, int], None]] = field(
        default_factory=dict
    )
    of: dict[tuple[int, Terms, tuple[int, int, int, int]], Frame] = field(default_factory=dict)
    open: dict[int, list[Frame]] = field(default_factory=dict)
    memories: dict[int, FlowMemory] = field(default_factory=dict)

    def add(self, memory: FlowMemory, terms: Terms, region: Region) -> None:
        """Note an access, whose registers may have any values, to `region` of `memory`."""
        self.memories[id(memory)] = memory
        self.regions.setdefault((id(memory), terms), {})[_box(region)] = None

    def settle(self) -> None:
        """Make the frames: one for accesses that may touch each other, directly or by others."""
        for (key, terms), boxes in self.regions.items():
            below = self.memories[key]
            for group in _groups(list(boxes)):
                starts, stops, lows, highs = zip(*group, strict=True)
                region = solid(min(starts), max(stops), min(lows), max(highs))
                frame = Frame(below, terms, region, FlowMemory(self.values.painter))
                for box in group:
                    self.of[key, terms, box] = frame

    def frame_of(self, memory: FlowMemory, terms: Terms, region: Region) -> Frame:
        """Return the frame of an access that was added."""
        return self.of[id(memory), terms, _box(region)]

    def write(self, frame: Frame, number: int, write: Write, registers: Mapping[int, int]) -> None:
        """Record a write in a frame."""
        if not frame.values:
            frame.values = _values(frame, registers)
            self.open.setdefault(id(frame.below), []).append(frame)
        frame.memory.write(number, write)

    def enter(
        self,
        memory: FlowMemory,
        region: Region,
        frame: Frame | None,
        registers: Mapping[int, int],
        time: Callable[[], int],
    ) -> None:
        """Close the frames of `memory` that an access to `region` may touch, except its own one."""
        for other in list(self.open.get(id(memory), ())):
            own = other is frame and other.values == _values(other, registers)
            if not own and other.region.meets(region):
                self.close(other, time())

    def close(self, frame: Frame, time: int) -> None:
        """Write the contents of a frame to the memory below, as one value."""
        below = frame.below
        number = below.number(frame.region)
        contents = (n for write in frame.memory.final() for n in (len(write), *write))
        kind = self.values.signature(("frame",))
        key = (kind, *frame.values, *below.read(number), *contents)
        value = 8 * self.values.value(key)
        below.write(number, Write(time, value, frame.region.start, frame.region.address))
        self._drop(frame)

    def close_all(self, time: Callable[[], int]) -> None:
        """Close all frames, in the order of their addresses in each memory."""
        for frames in list(self.open.values()):
            for frame in sorted(frames, key=lambda f: (f.region.start, f.region.low)):
                self.close(frame, time())

    def clear(self, memories: Iterable[FlowMemory]) -> None:
        """Drop the frames over these memories."""
        for memory in memories:
            for frame in list(self.open.get(id(memory), ())):
                self._drop(frame)

    def _drop(self, frame: Frame) -> None:
        frame.memory.clear()
        frame.values = ()
        self.open[id(frame.below)].remove(frame)


def _values(frame: Frame, registers: Mapping[int, int]) -> tuple[int, ...]:
    found = sorted((registers.get(symbol, UNWRITTEN), c) for symbol, c in frame.terms)
    return tuple(n for pair in found for n in pair)


def _box(region: Region) -> tuple[int, int, int, int]:
    return region.start, region.stop, region.low, region.high


def _groups(boxes: Sequence[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    """Return the boxes in groups that do not meet each other."""
    groups: list[list[tuple[int, int, int, int]]] = []
    for box in sorted(boxes, key=lambda b: b[2]):
        met = [g for g in groups if any(_meet(box, other) for other in g)]
        groups = [g for g in groups if g not in met]
        groups.append([box, *(b for g in met for b in g)])
    return groups


def _meet(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]

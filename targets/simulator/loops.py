"""Report the innermost loops of a program: the time per iteration on each resource.

A loop of the compiler becomes a loop in the stream of each engine that has work in it. These are
matched by function, trip counts and order.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from neuronir.targets.simulator.attribution import resource_times
from neuronir.targets.simulator.timing_code import CallTo, Code, LoopBegin, Op, ProgramCode, Step


@dataclass(slots=True)
class LoopLoad:
    """An innermost loop: the trip counts of its nest, outermost first, and the ns per iteration of
    each resource.
    """

    function: str
    trip_counts: tuple[int, ...]
    load_ns: dict[str, float] = field(default_factory=dict)
    sources: set[int] = field(default_factory=set)

    @property
    def busiest(self) -> str:
        """Return the resource with the largest load."""
        return max(sorted(self.load_ns), key=lambda name: self.load_ns[name], default="")


def loop_loads(code: ProgramCode) -> list[LoopLoad]:
    """Return all innermost loops, in the order of the program text."""
    found: dict[str, list[LoopLoad]] = {}
    for stream in code.codes:
        merged = found.setdefault(stream.function, [])
        cursor = 0
        for loop in _innermost(stream, code.machine.dma_engines):
            at = next(
                (
                    i
                    for i in range(cursor, len(merged))
                    if merged[i].trip_counts == loop.trip_counts
                ),
                None,
            )
            if at is None:
                merged.insert(cursor, loop)
                cursor += 1
                continue
            for name, time in loop.load_ns.items():
                merged[at].load_ns[name] = merged[at].load_ns.get(name, 0.0) + time
            merged[at].sources |= loop.sources
            cursor = at + 1
    return [loop for loops in found.values() for loop in loops]


def _innermost(code: Code, dma_engines: int) -> list[LoopLoad]:
    loops = []
    for pc, step in enumerate(code.steps):
        if not isinstance(step, LoopBegin):
            continue
        body = list(_called(code.steps[pc + 1 : step.end]))
        if any(isinstance(s, LoopBegin) for s in body):
            continue
        trips = tuple(trip for _, trip in code.enclosing[step.end])
        loop = LoopLoad(code.function, trips)
        for s in body:
            if isinstance(s, Op):
                loop.sources.add(s.instruction.source)
                for name, time in resource_times(s, dma_engines).items():
                    loop.load_ns[name] = loop.load_ns.get(name, 0.0) + time
        loops.append(loop)
    return loops


def _called(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps, with calls replaced by the steps of the callees."""
    for step in steps:
        if isinstance(step, CallTo):
            yield from _called(step.code.steps)
        else:
            yield step

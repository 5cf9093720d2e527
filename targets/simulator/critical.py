"""Find the critical path of a recorded run: the op for which the run waited at each moment.

The path goes back from the last result. Before an instruction started, the run waited for its last
predecessor: the instruction that incremented its semaphore, the previous one on its engine, or the
previous transfer in its queue. Each moment of the run belongs to one instruction, so the times of
all ops add up to the time of the run.
"""

from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import TRANSFER, tick


def critical_path(result: TimingResult) -> dict[int, float] | None:
    """Return the time in ns on the critical path by source; None for a run without a recording."""
    recording = result.recording
    if recording is None:
        return None
    ops, numbers = result.code.ops, recording.ops
    found: dict[int, float] = {}
    if not numbers:
        return found
    before, ahead = _predecessors(result)
    maker = dict((consumer, producer) for producer, consumer in recording.flows)
    seen_ns = tick(result.machine.semaphore_latency_ns)
    place = max(range(len(numbers)), key=lambda i: max(recording.results[i], recording.ends[i]))
    until = result.total_ns
    while True:
        op = ops[numbers[place]]
        start = recording.starts[place]
        queued = ahead.get(place, -1)
        if queued >= 0 and start < recording.ends[queued] <= until:
            # It was behind another transfer of its queue.
            start = recording.ends[queued]
            following = queued
        else:
            following = _released_by(result, place, before.get(place, -1), maker, seen_ns)
        if following < 0:
            start = 0.0
        source = op.instruction.source
        found[source] = found.get(source, 0.0) + until - start
        if following < 0:
            return found
        place, until = following, start


def _predecessors(result: TimingResult) -> tuple[dict[int, int], dict[int, int]]:
    """Return the interval before each one on its engine, and before each transfer in its queue."""
    recording = result.recording
    assert recording is not None
    before: dict[int, int] = {}
    ahead: dict[int, int] = {}
    last: dict[int, int] = {}
    moved: dict[int, int] = {}
    for place, (number, stream) in enumerate(zip(recording.ops, recording.streams, strict=True)):
        if stream in last:
            before[place] = last[stream]
        last[stream] = place
        op = result.code.ops[number]
        if op.kind == TRANSFER:
            queue = int(op.instruction.engine)
            if queue in moved:
                ahead[place] = moved[queue]
            moved[queue] = place
    return before, ahead


def _released_by(
    result: TimingResult, place: int, before: int, maker: dict[int, int], seen_ns: float
) -> int:
    """Return the last predecessor of an interval: on its engine, or by semaphore; -1 if there is
    none.
    """
    recording = result.recording
    assert recording is not None
    free = -1.0
    if before >= 0:
        free = recording.starts[before] + result.code.ops[recording.ops[before]].issue
    other = maker.get(place, -1)
    if other >= 0 and recording.results[other] + seen_ns > free:
        return other
    return before

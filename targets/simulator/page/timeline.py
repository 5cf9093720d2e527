"""The instructions of a recorded run as columns of integers, for the timeline of a page."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.targets.simulator.attribution import ENGINES
from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import TRANSFER
from neuronir.targets.simulator.timing_state import Recording
from neuronir.targets.simulator.trace import operands_text

UNITS = 10
"""Times on the page are integers, in units of 1 / UNITS ns."""

MOST = 200_000
"""The largest number of slices on a page; for a longer run, slices that are close together are
joined.
"""

Ints = NDArray[np.int64]


@dataclass
class _Slices:
    """Columns, one entry a slice. `place` is the recorded interval, `count` how many it stands
    for, `busy` the time of these."""

    track: Ints
    begin: Ints
    end: Ints
    op: Ints
    source: Ints
    place: Ints
    count: Ints
    busy: Ints

    def take(self, order: Ints) -> "_Slices":
        return _Slices(*(column[order] for column in vars(self).values()))


def timeline_data(result: TimingResult) -> dict[str, Any]:
    """Return tracks, instructions and slices of a run made with `record=True`.

    A track is an engine or a DMA queue. A transfer has two slices, as in a trace: its trigger on
    the track of its engine and its bytes on that of its queue. Columns are sorted by track, then
    time; `begin` holds differences. `cause` is the slice that a slice waited for last, -1 if none.
    """
    recording = result.recording
    if recording is None:
        raise ValueError("the run was not recorded: use simulate_timing(..., record=True)")
    tracks, slices = _slices(result, recording)
    joined, quantum = _joined(slices)
    order = np.lexsort((joined.end, joined.begin, joined.track))
    joined = joined.take(order)
    starts = np.searchsorted(joined.track, np.arange(len(tracks) + 1))
    # Where nothing was joined an interval has one slice of its own work.
    cause = np.full(len(joined.place), -1)
    if quantum == 0:
        cause = _causes(recording, joined)
    return {
        "units": UNITS,
        "quantum": quantum,
        "tracks": tracks,
        "starts": starts.tolist(),
        "begin": np.diff(joined.begin, prepend=0).tolist(),
        "length": (joined.end - joined.begin).tolist(),
        "op": joined.op.tolist(),
        "count": joined.count.tolist() if quantum else [],
        "busy": joined.busy.tolist() if quantum else [],
        "cause": cause.tolist() if quantum == 0 else [],
        "ops": [
            [op.instruction.opcode, operands_text(op.instruction), op.instruction.source]
            for op in result.code.ops
        ],
        "executed": len(recording.ops),
    }


def _slices(result: TimingResult, recording: Recording) -> tuple[list[str], _Slices]:
    """Return the names of the tracks, and all slices: first those of work, then those of
    triggers.
    """
    ops = result.code.ops
    numbers = np.array(recording.ops, np.int64)
    engines = [s.engine for s in result.streams]
    queues = sorted({op.instruction.engine for op in ops if op.kind == TRANSFER})
    tracks = [f"{ENGINES[e]} ({e.name})" for e in engines]
    tracks += [f"queue {q.name.lower()}" for q in queues]
    at = {engine: i for i, engine in enumerate([*engines, *queues])}
    own = np.array([at[op.instruction.engine] for op in ops], np.int64)
    starter = np.array([at[op.instruction.stream] for op in ops], np.int64)
    source = np.array([op.instruction.source for op in ops], np.int64)
    issue = np.array([op.issue for op in ops])
    begins, ends = _units(recording.begins), _units(recording.ends)
    triggers = np.flatnonzero(np.array([op.kind == TRANSFER for op in ops])[numbers])
    started = np.array(recording.starts)[triggers]
    every = np.concatenate([np.arange(len(numbers)), triggers])
    op = numbers[every]
    begin = np.concatenate([begins, _units(started)])
    end = np.concatenate([ends, _units(started + issue[op[len(numbers) :]])])
    track = np.concatenate([own[numbers], starter[numbers[triggers]]])
    ones = np.ones(len(op), np.int64)
    return tracks, _Slices(track, begin, end, op, source[op], every, ones, end - begin)


def _units(times: Any) -> Ints:
    units: Ints = np.rint(np.array(times) * UNITS).astype(np.int64)
    return units


def _joined(slices: _Slices) -> tuple[_Slices, int]:
    """Return at most MOST slices, and the width of a bin (0 if nothing was joined).

    Slices of one track and source that begin in the same bin are joined to one slice.
    """
    quantum = 0
    found = slices
    while len(found.op) > MOST and quantum < int(slices.end.max()):
        quantum = 2 * quantum or UNITS * 64
        key = (slices.track, slices.begin // quantum, slices.source)
        order = np.lexsort((slices.begin, *key[::-1]))
        sorted_ = slices.take(order)
        keys = np.stack([k[order] for k in key])
        first = np.flatnonzero(np.r_[True, (np.diff(keys) != 0).any(axis=0)])
        found = sorted_.take(first)
        found.end = np.maximum.reduceat(sorted_.end, first)
        found.count = np.add.reduceat(sorted_.count, first)
        found.busy = np.add.reduceat(sorted_.busy, first)
    return found, quantum


def _causes(recording: Recording, slices: _Slices) -> Ints:
    """Return the slice that each slice waited for last; for a transfer, the wait of its trigger."""
    maker = np.full(len(recording.ops), -1)
    for producer, consumer in recording.flows:
        maker[consumer] = producer
    # The later slice of an interval is its work (a transfer's bytes follow their trigger).
    slice_of = np.full(len(recording.ops) + 1, -1)
    order = np.lexsort((slices.begin,))
    slice_of[slices.place[order]] = order
    cause: Ints = slice_of[maker[slices.place]]
    return cause

"""Write a timeline of a recorded run as Chrome trace JSON, for Perfetto and chrome://tracing.

There is a track for each engine and DMA queue, and slices are named by the HLO op. A transfer has
two slices: one for its bytes on the track of its queue, and one for its trigger on the track of the
engine that starts it. Arrows go from the instruction that raised a semaphore to the one that it let
start; counters show memory in use and HBM traffic. Times of the trace are in us.
"""

import json
from collections.abc import Iterator
from typing import Any, TextIO

from neuronir.dialects.nc.enums import Activation, AluOp
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.targets.simulator.attribution import ENGINES
from neuronir.targets.simulator.occupancy import Occupancy
from neuronir.targets.simulator.timing import TimingResult
from neuronir.targets.simulator.timing_code import TRANSFER, Op

_PROCESS = 0
_BINS = 500  # of the HBM traffic counter

Event = dict[str, Any]


def write_trace(result: TimingResult, file: TextIO) -> None:
    """Write the trace of a run made with `record=True`."""
    file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
    for i, event in enumerate(trace_events(result)):
        file.write(("," if i else "") + json.dumps(event, separators=(",", ":")) + "\n")
    file.write("]}\n")


def trace_events(result: TimingResult) -> Iterator[Event]:
    """Return the events of the trace; raises ValueError if the run was not recorded."""
    recording = result.recording
    if recording is None:
        raise ValueError("the run was not recorded: use simulate_timing(..., record=True)")
    yield _meta("process_name", 0, f"NeuronCore ({result.machine.name})")
    for stream in result.streams:
        label = f"{ENGINES[stream.engine]} ({stream.engine.name})"
        yield from _track(int(stream.engine), label)
    for queue in sorted({op.instruction.engine for op in result.code.ops if op.kind == TRANSFER}):
        yield from _track(int(queue), f"queue {queue.name.lower()}")
    args = [_arguments(op, result) for op in result.code.ops]
    names = [_name(op, result) for op in result.code.ops]
    for place in range(len(recording.ops)):
        number = recording.ops[place]
        op = result.code.ops[number]
        begin, end = recording.begins[place], recording.ends[place]
        common: Event = {
            "name": names[number],
            "cat": op.instruction.opcode,
            "pid": _PROCESS,
            "args": args[number],
            "ph": "X",
        }
        yield {
            **common,
            "tid": int(op.instruction.engine),
            "ts": begin / 1e3,
            "dur": (end - begin) / 1e3,
        }
        if op.kind == TRANSFER:
            yield {
                **common,
                "cat": "trigger",
                "tid": int(op.instruction.trigger),
                "ts": recording.starts[place] / 1e3,
                "dur": op.issue / 1e3,
            }
    yield from _flows(result)
    yield from _counters(result)


def _meta(name: str, tid: int, value: str) -> Event:
    return {"name": name, "ph": "M", "pid": _PROCESS, "tid": tid, "args": {"name": value}}


def _track(tid: int, label: str) -> Iterator[Event]:
    yield _meta("thread_name", tid, label)
    yield {**_meta("thread_sort_index", tid, ""), "args": {"sort_index": tid}}


def _name(op: Op, result: TimingResult) -> str:
    sources = result.program.sources
    source = op.instruction.source
    name = sources[source].name if source < len(sources) else ""
    return name or op.instruction.opcode


def _arguments(op: Op, result: TimingResult) -> Event:
    i = op.instruction
    out: Event = {"opcode": i.opcode, "operands": operands_text(i)}
    sources = result.program.sources
    if i.source < len(sources):
        source = sources[i.source]
        if source.framework:
            out["framework_op"] = source.framework
        if source.opcode:
            out["hlo_opcode"] = source.opcode
        if source.file:
            out["source"] = f"{source.file}:{source.line}"
    if op.cost.flops:
        out["flops"] = op.cost.flops
    if op.kind == TRANSFER:
        out["bytes"] = op.cost.bytes
        out["descriptors"] = op.cost.descriptors
    return out


def operands_text(i: Instruction) -> str:
    """Format operands like a profiler: type@memory+address[strides][sizes] and parameters."""
    parts = [f"dst={_pattern(ap)}" for ap in i.dst if ap is not None]
    parts += [f"src={_pattern(ap)}" for ap in i.src if ap is not None]
    for name, value in i.params.items():
        if name == "func":
            parts.append(f"func={Activation(int(value)).name.lower()}")
        elif name in ("op", "op0", "op1"):
            parts.append(f"{name}={AluOp(int(value)).name.lower()}")
        else:
            parts.append(f"{name}={value}")
    parts += [f"S[{w.semaphore}]>={w.value.const}{'+..' if w.value.terms else ''}" for w in i.waits]
    parts += [f"S[{u.semaphore}]+={u.amount}@complete" for u in i.updates]
    return " ".join(parts)


def _pattern(ap: AccessPattern) -> str:
    strides = ",".join(str(stride) for stride, _ in ap.free)
    sizes = ",".join(str(size) for _, size in ap.free)
    more = "+.." if ap.address.terms else ""
    at = f"{ap.space.name.lower()}+0x{ap.address.const:x}{more}"
    rows = f"{ap.start}:{ap.start + ap.partitions}"
    return f"{ap.dtype.name.lower()}@{at}[{rows}][{strides}][{sizes}]"


def _flows(result: TimingResult) -> Iterator[Event]:
    recording = result.recording
    assert recording is not None
    for number, (producer, consumer) in enumerate(recording.flows):
        # An arrow is bound to the slice that contains its ends.
        end = max(recording.begins[producer], recording.ends[producer] - 1.0)
        common: Event = {"name": "semaphore", "cat": "semaphore", "id": number, "pid": _PROCESS}
        yield {**common, "ph": "s", "tid": _engine(result, producer), "ts": end / 1e3}
        begin = recording.begins[consumer] / 1e3
        yield {**common, "ph": "f", "bp": "e", "tid": _engine(result, consumer), "ts": begin}


def _engine(result: TimingResult, place: int) -> int:
    """Return the engine or queue of a recorded interval."""
    assert result.recording is not None
    return int(result.code.ops[result.recording.ops[place]].instruction.engine)


def _counters(result: TimingResult) -> Iterator[Event]:
    recording = result.recording
    assert recording is not None
    ops = result.code.ops
    for space, points in Occupancy(recording, ops, result.machine).levels().items():
        name = f"{space.name} bytes per partition"
        for time, level in points:
            yield _counter(name, time, {"bytes": level})
    width = result.total_ns / _BINS
    if not width:
        return
    read, written = [0.0] * (_BINS + 1), [0.0] * (_BINS + 1)
    for place in range(len(recording.ops)):
        op = ops[recording.ops[place]]
        if op.kind == TRANSFER:
            begin, end = recording.begins[place], recording.ends[place]
            first = min(_BINS - 1, int(begin / width))
            last = min(_BINS - 1, max(first, int(end / width)))
            share = 1.0 / (last - first + 1) / width
            for at in range(first, last + 1):
                read[at] += op.cost.hbm_read_bytes * share
                written[at] += op.cost.hbm_write_bytes * share
    for at in range(_BINS + 1):
        values = {"read": round(read[at], 3), "write": round(written[at], 3)}
        yield _counter("HBM GB/s", at * width, values)


def _counter(name: str, time: float, values: dict[str, float]) -> Event:
    return {"name": name, "ph": "C", "pid": _PROCESS, "ts": time / 1e3, "args": values}

"""An nc function written out round by round, and a slow, plain check of its synchronisation."""

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.footprint import accesses, overlaps
from neuronir.dialects.nc.instruction import AccessPattern, Instruction
from neuronir.passes.nc.listing import Node, functions, list_function, variables

COMPUTE = 5
_SPAN = 1 << 14


@dataclass
class Event:
    """One instruction in one round of the loops around it; addresses are absolute."""

    node: Node
    record: Instruction
    env: list[int]
    touched: list[tuple[AccessPattern, int, bool, int]]  # pattern, address, write, memory


def trace(module: ModuleOp, *, placed: bool) -> list[Event]:
    """All instructions of main in program order; unplaced buffers are memories of their own."""
    kinds = variables(module)
    main = next(f for f in functions(module) if f.sym_name.data == "main")
    events: list[Event] = []
    _run(list_function(main, kinds, placed=placed).nodes, [0] * 128, events, placed)
    return events


def _run(
    nodes: list[Node],
    env: list[int],
    events: list[Event],
    placed: bool,
) -> None:
    for node in nodes:
        if node.record is None:
            for number in range(node.trip_count):
                env[node.level] = number
                _run(node.body, env, events, placed)
            env[node.level] = 0
        else:
            record = node.record
            touched = []
            for (_, p, write), access in zip(accesses(record), node.accesses, strict=True):
                memory = int(p.space) if placed else 100 + access.buffer
                touched.append((p, p.address.at(env), write, memory))
            events.append(Event(node, record, list(env), touched))


def conflicting(a: Event, b: Event) -> bool:
    """Whether the order of two events matters."""
    for pa, aa, wa, ma in a.touched:
        for pb, ab, wb, mb in b.touched:
            # Most pairs are far apart; no pattern of these tests spans more than this.
            if not (wa or wb) or ma != mb or (abs(aa - ab) > _SPAN and ma != Space.HBM):
                continue
            if overlaps(pa, pb, aa, ab):
                return True
    return False


def check_synchronised(module: ModuleOp) -> None:
    """Assert that waits alone keep every conflicting pair in order and that semaphores are sane."""
    events = trace(module, placed=True)
    started: list[int] = []  # bit sets of events known to be complete
    done: list[int] = []
    last: dict[int, int] = {}  # by stream
    computed: dict[int, int] = {}  # by compute engine, its last event
    earlier: dict[int, int] = {}  # by compute engine, all its events so far
    posts: dict[int, list[tuple[int, int]]] = {}  # by semaphore: (value reached, event)
    for j, event in enumerate(events):
        engine, stream = int(event.record.engine), int(event.record.stream)
        known = started[last[stream]] if stream in last else 0
        for wait in event.record.waits:
            value = wait.value.at(event.env)
            if value <= 0:
                continue
            reached = [e for v, e in posts.get(wait.semaphore, ()) if v >= value]
            assert reached, f"event {j} waits for {wait.semaphore} >= {value}: never reached before"
            known |= done[reached[0]]
        started.append(known)
        if engine < COMPUTE:
            complete = known | earlier.get(engine, 0) | 1 << j
            if engine in computed:
                complete |= done[computed[engine]]
            computed[engine] = j
            earlier[engine] = earlier.get(engine, 0) | 1 << j
        else:
            complete = known | 1 << j
        done.append(complete)
        for update in event.record.updates:
            sequence = posts.setdefault(update.semaphore, [])
            if sequence:
                before = sequence[-1][1]
                if engine < COMPUTE:
                    assert int(events[before].record.engine) == engine, "semaphore of two engines"
                else:
                    assert known >> before & 1, f"two transfers on semaphore {update.semaphore}"
            sequence.append(((sequence[-1][0] if sequence else 0) + update.amount, j))
        last[stream] = j
    for j, event in enumerate(events):
        engine = int(event.record.engine)
        for i in range(j):
            other = int(events[i].record.engine)
            if engine == other and engine < COMPUTE:
                continue
            if not started[j] >> i & 1 and conflicting(events[i], event):
                raise AssertionError(
                    f"event {j} ({event.node.op}) may overtake event {i} ({events[i].node.op})"
                )


def check_memory(module: ModuleOp) -> None:
    """Assert that every read sees the bytes of its own buffer: no other has written there since."""
    events = trace(module, placed=True)
    keyed = []
    for event in events:
        keys = [a.buffer for a in event.node.accesses]
        keyed.append(list(zip(event.touched, keys, strict=True)))
    for j, now in enumerate(keyed):
        for (p, address, write, memory), key in now:
            if write or p.space == Space.HBM:
                continue
            own = False
            for i in range(j - 1, -1, -1):
                for (q, other, wrote, where), owner in keyed[i]:
                    if not wrote or where != memory or not overlaps(p, q, address, other):
                        continue
                    if owner == key:
                        own = True
                    else:
                        raise AssertionError(f"event {i} overwrites what event {j} reads")
                if own:
                    break

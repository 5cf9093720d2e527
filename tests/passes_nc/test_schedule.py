"""The list scheduler on hand-made work."""

from dataclasses import replace

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Engine
from neuronir.passes.nc.list_schedule import Work, list_schedule
from neuronir.passes.nc.psum import PsumDemand
from neuronir.passes.nc.run_ahead import Demand
from neuronir.targets.trn1.machine import TRN1


def test_nothing_starts_early_beside_what_waits_for_a_bank() -> None:
    """4 and 5 get ready together; 4, the more urgent one, has to wait for the only bank."""
    works = [
        Work(Engine.DVE, 100.0, 100.0),
        Work(Engine.PE, 10.0, 10.0),
        Work(Engine.DVE, 2000.0, 2000.0),
        Work(Engine.ACT, 1000.0, 1000.0),
        Work(Engine.PE, 10.0, 10.0),
        Work(Engine.PE, 10.0, 10.0),
        Work(Engine.ACT, 5000.0, 5000.0),
    ]
    predecessors = [{}, {}, {}, {1: True, 2: True}, {0: True}, {0: True}, {4: True}]
    psum = PsumDemand(
        Demand(
            touches={1: [0], 3: [0], 4: [1], 6: [1]},
            uses={0: 2, 1: 2},
            size={0: 1, 1: 1},
            rank={0: 1, 1: 4},
            last={0: 3, 1: 6},
            live=np.array([0, 1, 1, 1, 1, 1, 1]),
            limit=1,
        )
    )
    start = list_schedule(works, predecessors, TRN1, window=100, psum=psum)
    for j, found in enumerate(predecessors):
        assert all(start[j] >= start[i] + works[i].issue for i in found)
    assert start[4] >= start[3] + works[3].latency


def test_what_waits_for_a_small_transfer_does_not_wait_for_large_ones_of_other_queues() -> None:
    """Triggers follow each other in the stream of SP; what moves they do not wait for."""
    works = [
        Work(Engine.SP, 350.0, 9000.0, dma=4000.0, transfer=True),
        Work(Engine.SP, 350.0, 2080.0, dma=50.0, transfer=True),
        Work(Engine.SP, 350.0, 6000.0, dma=4000.0, transfer=True),
        Work(Engine.ACT, 100.0, 100.0),
        Work(Engine.DVE, 100.0, 100.0),
    ]
    start = list_schedule(works, [{}, {}, {}, {1: True}, {2: True}], TRN1, window=100)
    assert start[:3] == [0.0, 700.0, 350.0]
    assert start[3] == 700.0 + 2080.0 + TRN1.semaphore_latency_ns
    assert start[4] == 4000.0 + 6000.0 + TRN1.semaphore_latency_ns


def test_a_spread_row_comes_when_its_reader_waits_for_nothing_else() -> None:
    """1 is spread by PE for 3, which waits for 0: it goes between the products 2 and 4, neither
    before all others nor in its turn behind them."""
    works = [
        Work(Engine.ACT, 150.0, 150.0),
        Work(Engine.PE, 10.0, 10.0),
        Work(Engine.PE, 200.0, 200.0),
        Work(Engine.DVE, 100.0, 100.0),
        Work(Engine.PE, 200.0, 200.0),
    ]
    predecessors = [{}, {}, {}, {0: True, 1: True}, {}]
    start = list_schedule(works, predecessors, TRN1, window=100, spreads={1})
    assert start[2] == 0.0
    assert start[1] == 200.0
    assert start[4] == 210.0


def test_a_spread_row_waits_for_nobody_that_waits_for_its_bank() -> None:
    """Its reader's other operand comes by the second of two banks; 3 may not keep both."""
    works = [
        Work(Engine.PE, 10.0, 10.0),
        Work(Engine.PE, 10.0, 10.0),
        Work(Engine.ACT, 10.0, 10.0),
        Work(Engine.PE, 10.0, 10.0),
        Work(Engine.DVE, 10.0, 10.0),
        Work(Engine.ACT, 10.0, 10.0),
    ]
    predecessors = [{}, {}, {1: True}, {}, {0: True, 2: True}, {3: True, 4: True}]
    psum = PsumDemand(
        Demand(
            touches={0: [0], 1: [1], 2: [1], 3: [2], 4: [0], 5: [2]},
            uses={0: 2, 1: 2, 2: 2},
            size={0: 1, 1: 1, 2: 1},
            rank={0: 0, 1: 1, 2: 3},
            last={0: 4, 1: 2, 2: 5},
            live=np.array([1, 2, 2, 2, 2, 1]),
            limit=2,
        )
    )
    start = list_schedule(works, predecessors, TRN1, window=100, psum=psum, spreads={0})
    for j, found in enumerate(predecessors):
        assert all(start[j] >= start[i] + works[i].issue for i in found)


def test_a_load_starts_when_the_window_reaches_it() -> None:
    """The queue of 4 is idle from the beginning, but it is two positions behind 2, which starts at
    2000 ns: a load that is ready before does not start before, and takes no memory until then."""
    works = [Work(Engine.DVE, 1000.0, 1000.0) for _ in range(4)]
    works.insert(4, Work(Engine.SP, 350.0, 2080.0, dma=50.0, transfer=True))
    free: list[dict[int, bool]] = [{} for _ in works]
    start = list_schedule(works, free, TRN1, window=2, moves=True)
    assert start == [0.0, 1000.0, 2000.0, 3000.0, 2000.0]
    assert list_schedule(works, free, TRN1, window=100, moves=True)[4] == 0.0
    assert list_schedule(works, free, TRN1, window=2)[4] == 0.0  # only a replay of this order


def _rounds(count: int) -> tuple[list[Work], list[dict[int, bool]], Demand]:
    """Return iterations of a load (SP), arithmetic (DVE) and a store (ACT), each of which waits for
    the one before; each iteration has two buffers of 100 bytes.
    """
    works: list[Work] = []
    predecessors: list[dict[int, bool]] = []
    touches: dict[int, list[int]] = {}
    uses: dict[int, int] = {}
    for k in range(count):
        i, a, b = 3 * k, 2 * k, 2 * k + 1
        works += [
            Work(Engine.SP, 100.0, 2000.0, transfer=True),
            Work(Engine.DVE, 1000.0, 1000.0),
            Work(Engine.ACT, 1000.0, 1000.0),
        ]
        predecessors += [{}, {i: True}, {i + 1: True}]
        touches |= {i: [a], i + 1: [a, b], i + 2: [b]}
        uses |= {a: 2, b: 2}
    live = np.array([100, 200, 100] * count)
    size = dict.fromkeys(uses, 100)
    rank = {key: 3 * (key // 2) + key % 2 for key in uses}
    last = {key: rank[key] + 1 for key in uses}
    return works, predecessors, Demand(touches, uses, size, rank, last, live, 0)


@pytest.mark.parametrize("limit", [200, 300, 400, 600, 5000])
def test_instructions_run_ahead_where_their_buffers_fit(limit: int) -> None:
    """In order of start times, no more is live than the limit; more room takes less time."""
    works, predecessors, demand = _rounds(20)
    found = []
    for most in (200, limit):
        sbuf = replace(demand, limit=most)
        start = list_schedule(works, predecessors, TRN1, window=60, sbuf=sbuf, moves=True)
        order = sorted(range(len(works)), key=lambda i: (start[i], i))
        place = {i: n for n, i in enumerate(order)}
        for j, before in enumerate(predecessors):
            assert all(place[i] < place[j] for i in before)
        ends: dict[int, list[int]] = {}
        for i, keys in demand.touches.items():
            for key in keys:
                ends.setdefault(key, []).append(place[i])
        live = [sum(min(p) <= n <= max(p) for p in ends.values()) * 100 for n in range(len(works))]
        assert max(live) <= most
        found.append(max(s + w.latency for s, w in zip(start, works, strict=True)))
    assert found[1] <= found[0]
    if limit >= 600:  # the load of an iteration overlaps the work of the others
        assert found[1] < found[0] / 1.5


def test_buffers_that_exceed_the_limit_in_program_order_are_used_in_that_order() -> None:
    """No room at all: nothing runs ahead, and nothing waits forever."""
    works, predecessors, demand = _rounds(5)
    start = list_schedule(works, predecessors, TRN1, window=60, sbuf=demand, moves=True)
    assert sorted(range(len(works)), key=lambda i: (start[i], i)) == list(range(len(works)))

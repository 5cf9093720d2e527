"""The list scheduler on hand-made work."""

import numpy as np

from neuronir.dialects.nc.enums import Engine
from neuronir.passes.nc.list_schedule import Work, list_schedule
from neuronir.passes.nc.psum import PsumDemand
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
        first={1: [0], 4: [1]},
        touches={1: [0], 3: [0], 4: [1], 6: [1]},
        uses={0: 2, 1: 2},
        size={0: 1, 1: 1},
        rank={0: 1, 1: 4},
        last={0: 3, 1: 6},
        live=np.array([0, 1, 1, 1, 1, 1, 1], np.int32),
        banks=1,
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
        first={0: [0], 1: [1], 3: [2]},
        touches={0: [0], 1: [1], 2: [1], 3: [2], 4: [0], 5: [2]},
        uses={0: 2, 1: 2, 2: 2},
        size={0: 1, 1: 1, 2: 1},
        rank={0: 0, 1: 1, 2: 3},
        last={0: 4, 1: 2, 2: 5},
        live=np.array([1, 2, 2, 2, 2, 1], np.int32),
        banks=2,
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

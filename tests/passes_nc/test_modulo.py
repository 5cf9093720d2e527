"""Modulo schedules: dependences and engines hold at every interval for which one is found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import get_machine
from neuronir.passes.nc.list_schedule import Work, delay
from neuronir.passes.nc.modulo import Edge, load, modulo_schedule

TRN1 = get_machine("trn1")
ENGINES = (int(Engine.PE), int(Engine.ACT), int(Engine.DVE), int(Engine.POOL))


@st.composite
def bodies(draw: st.DrawFn) -> tuple[list[Work], list[Edge]]:
    """Up to 24 instructions and their dependences, some of them on a later round."""
    n = draw(st.integers(2, 24))
    works = []
    for _ in range(n):
        issue = float(draw(st.integers(50, 2000)))
        latency = issue + draw(st.integers(0, 500))
        works.append(Work(draw(st.sampled_from(ENGINES)), issue, latency))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(1, 2))
    edges = [
        Edge(a, b, 0 if a < b else distance, True)
        for a, b, distance in draw(st.lists(pairs, max_size=2 * n))
    ]
    return works, edges


@settings(max_examples=200, deadline=None)
@given(bodies(), st.floats(1.0, 3.0))
def test_what_is_found_is_a_schedule(body: tuple[list[Work], list[Edge]], slack: float) -> None:
    """No dependence is broken and no engine does two things at once."""
    works, edges = body
    interval = slack * max(load(works).values())
    start = modulo_schedule(works, edges, interval, TRN1)
    if start is None:
        return
    assert min(start) == 0
    for e in edges:
        wait = delay(works[e.before], works[e.after], e.data, TRN1)
        assert start[e.after] + e.distance * interval >= start[e.before] + wait - 1e-3
    for engine in ENGINES:
        spans = sorted(
            (s % interval, w.issue) for s, w in zip(start, works, strict=True) if w.engine == engine
        )
        for (first, width), (second, _) in zip(spans, spans[1:], strict=False):
            assert first + width <= second + 1e-3
        if spans:
            assert spans[-1][0] + spans[-1][1] <= spans[0][0] + interval + 1e-3


def test_a_full_engine_is_scheduled_at_its_load() -> None:
    """Independent instructions of odd lengths fill an engine without gaps at the shortest interval;
    what is placed first leaves holes that are too narrow, and moves."""
    rng = np.random.default_rng(0)
    works = [Work(ENGINES[1], float(n), float(n) + 200) for n in rng.integers(100, 900, 20)]
    works += [Work(ENGINES[2], w.issue / 2, w.latency) for w in works]
    edges = [Edge(i, i + 20, 0, True) for i in range(20)]
    edges += [Edge(i + 20, i, 2, True) for i in range(20)]
    assert modulo_schedule(works, edges, max(load(works).values()), TRN1) is not None


def test_a_recurrence_bounds_the_interval() -> None:
    """An instruction that waits for itself, a round before, takes its latency."""
    works = [Work(ENGINES[1], 100.0, 400.0), Work(ENGINES[2], 900.0, 900.0)]
    again = [Edge(0, 0, 1, True)]
    assert modulo_schedule(works, again, 900.0, TRN1) is not None
    slow = [Work(ENGINES[1], 100.0, 4000.0), works[1]]
    assert modulo_schedule(slow, again, 900.0, TRN1) is None
    assert modulo_schedule(slow, [Edge(0, 0, 5, True)], 900.0, TRN1) is not None


@pytest.mark.parametrize("interval", [1500.0, 2100.0])
def test_a_cycle_of_two(interval: float) -> None:
    """Two that wait for each other take the sum of both waits."""
    works = [Work(ENGINES[1], 500.0, 1000.0), Work(ENGINES[2], 500.0, 900.0)]
    edges = [Edge(0, 1, 0, True), Edge(1, 0, 1, True)]
    needed = sum(delay(works[e.before], works[e.after], True, TRN1) for e in edges)
    assert (modulo_schedule(works, edges, interval, TRN1) is not None) == (interval >= needed)

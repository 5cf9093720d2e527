"""The cyclic collector around a compile."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from neuronir.dialects.support import collector
from neuronir.dialects.support.collector import collect_leftovers, few_collections


@pytest.fixture(autouse=True)
def usual_thresholds() -> Iterator[None]:
    """Those of Python, not those of the tests."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


class Cycle:
    """Something that only the collector frees."""

    def __init__(self) -> None:
        self.me = self


def test_nothing_is_collected_when_a_compile_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "_left", {"compiles": 0, "runs": 0})
    runs: list[str] = []
    gc.callbacks.append(lambda phase, info: runs.append(phase))
    try:
        with few_collections():
            kept = [Cycle() for _ in range(5_000)]
        assert gc.get_count()[0] < 1_000
        assert not runs
    finally:
        gc.callbacks.pop()
    assert gc.get_freeze_count() == 0
    assert len(kept) == 5_000


def test_what_compiles_leave_behind_is_collected_when_it_is_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collector, "_LEFT", 20_000)
    monkeypatch.setattr(collector, "_left", {"compiles": 0, "runs": 0})
    monkeypatch.setattr("sys.getallocatedblocks", lambda: 80_000)
    with few_collections():
        dead = weakref.ref(Cycle())
        kept: list[list[int]] = [[] for _ in range(12_000)]
    collect_leftovers("compiles", "runs")
    assert dead() is not None
    with few_collections():
        more: list[list[int]] = [[] for _ in range(12_000)]
        assert dead() is not None
    collect_leftovers("compiles", "runs")
    assert dead() is None
    assert len(kept) == len(more)


def test_a_large_process_is_not_searched_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is alive is a hundred times what compiles have left."""
    monkeypatch.setattr(collector, "_LEFT", 20_000)
    monkeypatch.setattr(collector, "_left", {"compiles": 20_000, "runs": 4_000})
    monkeypatch.setattr("sys.getallocatedblocks", lambda: 2_400_000)
    runs: list[str] = []
    gc.callbacks.append(lambda phase, info: runs.append(phase))
    try:
        collect_leftovers("compiles", "runs")
    finally:
        gc.callbacks.pop()
    assert not runs


def test_thresholds_are_put_back_and_an_outer_compile_decides() -> None:
    before = gc.get_threshold()
    with few_collections():
        with few_collections():
            pass
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


def test_a_run_collects_what_runs_have_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """But not what the compile before it has made."""
    monkeypatch.setattr(collector, "_LEFT", 20_000)
    monkeypatch.setattr("sys.getallocatedblocks", lambda: 80_000)
    monkeypatch.setattr(collector, "_left", {"compiles": 0, "runs": 0})
    kept: list[list[int]] = []
    with few_collections():
        dead = weakref.ref(Cycle())
        kept += [[] for _ in range(30_000)]
    collect_leftovers("runs")
    assert dead() is not None
    for _ in range(3):
        with few_collections("runs"):
            kept += [[] for _ in range(9_000)]
        assert dead() is not None
        collect_leftovers("runs")
    assert dead() is None

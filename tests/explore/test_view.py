"""The view of a recording: rows, folding, cursor, search, and what is chosen."""

from pathlib import Path

import pytest

from neuronir.driver import CompileOptions
from neuronir.explore.align import rows_of
from neuronir.explore.record import Recording, explore
from neuronir.explore.view import View

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def recording() -> Recording:
    return explore(str(ROOT / "examples" / "bert_tiny.hlo"), "trn1", CompileOptions(tiling="never"))


@pytest.fixture
def view(recording: Recording) -> View:
    found = View(recording)
    found.show(next(n for n, s in enumerate(recording.steps) if s.name == "hlo-auto-cast"))
    return found


def rows_in_view(view: View) -> list[int]:
    """All rows, those of folded runs too."""
    return [row for e in view.entries for row in ([e] if isinstance(e, int) else range(e[0], e[1]))]


def test_folding_hides_only_unchanged_rows(view: View) -> None:
    assert view.rows == rows_of(view.step.before, view.step.after)
    assert rows_in_view(view) == list(range(len(view.rows)))
    folds = [entry for entry in view.entries if not isinstance(entry, int)]
    assert folds
    for first, last in folds:
        for row in range(first, last):
            before, after = (view.line(row, side) for side in (0, 1))
            assert before == after is not None
    view.toggle_folding()
    assert view.entries == list(range(len(view.rows)))


def test_choosing_a_fold_opens_it(view: View) -> None:
    at = next(k for k, entry in enumerate(view.entries) if not isinstance(entry, int))
    entry = view.entries[at]
    assert not isinstance(entry, int)
    view.cursor = at
    view.choose()
    assert set(range(*entry)) <= set(view.entries)
    assert view.entries[view.cursor] == entry[0]


def test_chosen_lines_are_never_folded(view: View) -> None:
    folded = next(e for e in view.entries if not isinstance(e, int))
    line = view.line(folded[0] + 1, 0)
    assert line is not None and line.sources
    view.choose_sources(line.sources)
    shown = {view.line(e, 0) for e in view.entries}
    assert {x for x in view.step.before.lines if view.sameness(x) == 2} <= shown


def test_changes_are_visited_in_order(view: View) -> None:
    starts = [
        k
        for k, entry in enumerate(view.entries)
        if view.is_change(entry) and (k == 0 or not view.is_change(view.entries[k - 1]))
    ]
    assert len(starts) > 2 and view.cursor == starts[0]
    seen = [view.cursor]
    for _ in starts[1:]:
        view.move_to_change(1)
        seen.append(view.cursor)
    assert seen == starts
    view.move_to_change(1)
    assert view.cursor == starts[-1]
    view.move_to_change(-1)
    assert view.cursor == starts[-2]


def test_a_search_visits_every_line(view: View) -> None:
    wanted = [row for row in range(len(view.rows)) if _has(view, row, "hlo.dot")]
    view.move(-len(view.entries))
    view.search("HLO.dot")
    seen = []
    for _ in wanted:
        entry = view.entries[view.cursor]
        assert isinstance(entry, int)
        seen.append(entry)
        view.move_to_hit(1)
    assert seen == wanted
    assert view.entries[view.cursor] == wanted[0]
    view.move_to_hit(-1)
    assert view.entries[view.cursor] == wanted[-1]
    view.search("nothing like this")
    assert view.entries[view.cursor] == wanted[-1]


def _has(view: View, row: int, text: str) -> bool:
    lines = (view.line(row, side) for side in (0, 1))
    return any(line is not None and text in line.text for line in lines)


def test_steps_that_change_an_op(recording: Recording, view: View) -> None:
    view.choose_sources(("dot_general.21",))
    seen = []
    while view.at < len(recording.steps) - 1:
        at = view.at
        view.go_touching(1)
        if view.at == at:
            break
        seen.append(view.step.name)
    assert seen[:2] == ["hlo-assign-layouts", "lower-hlo-to-nc"] and seen[-2:] == [
        "nc-synchronise",
        "(encode)",
    ]
    assert "hlo-cse" not in seen
    for name in seen:
        assert name in view.describe()


def test_the_cursor_stays_in_bounds(view: View) -> None:
    view.move(10**6)
    assert view.cursor == len(view.entries) - 1
    view.move(-(10**6))
    assert view.cursor == 0
    view.show(len(view.steps) - 1)
    view.go(1)
    assert view.at == len(view.steps) - 1

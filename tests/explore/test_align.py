"""Aligned rows hold both snapshots, in order."""

from hypothesis import given
from hypothesis import strategies as st

from neuronir.explore.align import changed_lines, hunks_of, rows_of
from neuronir.explore.snapshot import Line, Snapshot

LINES = st.builds(
    Line,
    st.sampled_from(["a", "b", "c", "}"]),
    st.sampled_from([(), ("p",), ("q",), ("p", "q")]),
)
SNAPSHOTS = st.lists(LINES, max_size=14).map(lambda lines: Snapshot(tuple(lines)))


@given(SNAPSHOTS, SNAPSHOTS)
def test_rows_hold_both_sides(before: Snapshot, after: Snapshot) -> None:
    rows = rows_of(before, after)
    assert [i for i, _ in rows if i is not None] == list(range(len(before.lines)))
    assert [j for _, j in rows if j is not None] == list(range(len(after.lines)))


@given(SNAPSHOTS, SNAPSHOTS)
def test_what_is_between_hunks_is_equal(before: Snapshot, after: Snapshot) -> None:
    i = j = 0
    for hunk in hunks_of(before, after):
        assert before.lines[i : hunk.i1] == after.lines[j : hunk.j1]
        assert before.lines[hunk.i1 : hunk.i2] != after.lines[hunk.j1 : hunk.j2]
        anchored = [(before.lines[hunk.i1 + a], after.lines[hunk.j1 + b]) for a, b in hunk.anchors]
        assert all(one.sources == other.sources for one, other in anchored)
        assert list(hunk.anchors) == sorted(hunk.anchors)
        i, j = hunk.i2, hunk.j2
    assert before.lines[i:] == after.lines[j:]


def test_equal_snapshots_have_no_hunks() -> None:
    lines = (Line("a"), Line("b"))
    assert hunks_of(Snapshot(lines), Snapshot(lines)) == []


def test_lines_of_one_source_stand_side_by_side() -> None:
    before = Snapshot((Line("dot", ("d",)), Line("tanh", ("t",)), Line("add", ("a",))))
    after = Snapshot(
        (
            Line("load", ("d",)),
            Line("matmul", ("d",)),
            Line("act", ("t",)),
            Line("store"),
            Line("plus", ("a",)),
        )
    )
    assert rows_of(before, after) == [(0, 0), (None, 1), (1, 2), (None, 3), (2, 4)]
    assert changed_lines(before, after) == (3, 5)

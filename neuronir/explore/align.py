"""Align the lines of two snapshots: first equal lines, then lines of the same source ops."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from neuronir.explore.snapshot import Line, Snapshot


@dataclass(frozen=True)
class Hunk:
    """Lines `before[i1:i2]` that became `after[j1:j2]`.

    `anchors` are pairs of lines of the same source ops, as offsets from `i1` and `j1`, ascending.
    """

    i1: int
    i2: int
    j1: int
    j2: int
    anchors: tuple[tuple[int, int], ...] = ()


Row = tuple[int | None, int | None]
"""A line before and a line after that stand side by side; one may be missing."""


def hunks_of(before: Snapshot, after: Snapshot) -> list[Hunk]:
    """Return what changed between two snapshots, in order."""
    if before is after:
        return []
    a, b = before.lines, after.lines
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    numbers: dict[Line, int] = {}
    left = [numbers.setdefault(x, len(numbers)) for x in a[start : len(a) - end]]
    right = [numbers.setdefault(x, len(numbers)) for x in b[start : len(b) - end]]
    found = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, False).get_opcodes():
        if tag != "equal":
            i1, i2, j1, j2 = i1 + start, i2 + start, j1 + start, j2 + start
            found.append(Hunk(i1, i2, j1, j2, tuple(_anchors(a[i1:i2], b[j1:j2]))))
    return found


def changed_lines(before: Snapshot, after: Snapshot) -> tuple[int, int]:
    """Return the numbers of lines that were removed and added."""
    hunks = hunks_of(before, after)
    return sum(h.i2 - h.i1 for h in hunks), sum(h.j2 - h.j1 for h in hunks)


def _anchors(before: Sequence[Line], after: Sequence[Line]) -> list[tuple[int, int]]:
    """Return the starts of runs of lines of the same source ops, and the lines of equal runs."""
    left, right = _runs(before), _runs(after)
    matcher = SequenceMatcher(
        None, [key for key, _, _ in left], [key for key, _, _ in right], False
    )
    found = []
    for i, j, size in matcher.get_matching_blocks():
        for (_, first, many), (_, other, more) in zip(
            left[i : i + size], right[j : j + size], strict=True
        ):
            pairs = range(min(many, more)) if many == more else range(1)
            found += [(first + at, other + at) for at in pairs]
    return found


def _runs(lines: Sequence[Line]) -> list[tuple[Hashable, int, int]]:
    """Return runs of lines of the same source ops: the key, the first line, the number of lines.

    A line without source ops is a run of one line and matches no other run.
    """
    found: list[tuple[Hashable, int, int]] = []
    for number, line in enumerate(lines):
        key: Hashable = line.sources or object()
        if found and found[-1][0] == key:
            found[-1] = (key, found[-1][1], found[-1][2] + 1)
        else:
            found.append((key, number, 1))
    return found


def rows_of(before: Snapshot, after: Snapshot) -> list[Row]:
    """Return the aligned rows of two snapshots."""
    rows: list[Row] = []
    i = j = 0
    for hunk in hunks_of(before, after):
        rows += zip(range(i, hunk.i1), range(j, hunk.j1), strict=True)
        i, j = hunk.i1, hunk.j1
        ends = [*((hunk.i1 + di, hunk.j1 + dj) for di, dj in hunk.anchors), (hunk.i2, hunk.j2)]
        for at, other in ends:
            rows += _padded(i, at, j, other)
            i, j = at, other
    rows += zip(range(i, len(before.lines)), range(j, len(after.lines)), strict=True)
    return rows


def _padded(i1: int, i2: int, j1: int, j2: int) -> list[Row]:
    """Return rows of two ranges, side by side from their first lines on."""
    most = max(i2 - i1, j2 - j1)
    return [
        (i1 + at if i1 + at < i2 else None, j1 + at if j1 + at < j2 else None) for at in range(most)
    ]

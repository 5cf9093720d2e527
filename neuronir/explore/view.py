"""Step through a recording: the rows in view, the cursor, the chosen source ops, and a search."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from neuronir.explore.align import Row, hunks_of, rows_of
from neuronir.explore.record import Recording, Step
from neuronir.explore.snapshot import Line

AROUND = 3
"""Unchanged rows that stay in view around a change."""

Entry = int | tuple[int, int]
"""An entry on a line of the view: a row, or a folded run of rows `[first, last)`."""


@dataclass
class View:
    """The state of the terminal application, without the terminal."""

    recording: Recording
    at: int = 0
    chosen: tuple[str, ...] = ()
    query: str = ""
    folding: bool = True
    cursor: int = 0
    rows: list[Row] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    _opened: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.touched = [_touched(step) for step in self.recording.steps]
        self.sources = {source.name: source for source in self.recording.sources}
        changed = (n for n, step in enumerate(self.steps) if step.changed and step.before.lines)
        self.show(next(changed, 0))

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of the recording."""
        return self.recording.steps

    @property
    def step(self) -> Step:
        """The step in view."""
        return self.steps[self.at]

    def show(self, number: int) -> None:
        """Show a step, from its first line of a chosen source op or its first change on."""
        self.at = number
        step = self.step
        self.rows = rows_of(step.before, step.after)
        gone = {i for h in hunks_of(step.before, step.after) for i in range(h.i1, h.i2)}
        new = {j for h in hunks_of(step.before, step.after) for j in range(h.j1, h.j2)}
        self.changed = [i in gone or j in new for i, j in self.rows]
        self._opened.clear()
        self.fold()
        same = (n for n, entry in enumerate(self.entries) if self._is_same(entry))
        first = next(same, None)
        if first is None:
            first = next((n for n, e in enumerate(self.entries) if self.is_change(e)), 0)
        self.cursor = first

    def go(self, by: int) -> None:
        """Show the next (1) or the previous (-1) step."""
        if 0 <= self.at + by < len(self.steps):
            self.show(self.at + by)

    def go_touching(self, by: int) -> None:
        """Show the next or the previous step that changes lines of the chosen source ops."""
        to = self.at + by
        while 0 <= to < len(self.steps) and not self.touches(to):
            to += by
        if 0 <= to < len(self.steps):
            self.show(to)

    def touches(self, number: int) -> bool:
        """Return whether a step changes lines of the chosen source ops."""
        return not self.touched[number].isdisjoint(self.chosen)

    def fold(self) -> None:
        """Fold runs of unchanged rows; the cursor stays on its row where that is in view."""
        here = self.entries[self.cursor] if self.cursor < len(self.entries) else 0
        shown = self._shown()
        self.entries = []
        n = 0
        while n < len(self.rows):
            end = n
            while end < len(self.rows) and end not in shown:
                end += 1
            if end - n > 1:
                self.entries.append((n, end))
                n = end
            else:
                self.entries.append(n)
                n += 1
        row = here if isinstance(here, int) else here[0]
        self.cursor = next((k for k, e in enumerate(self.entries) if _holds(e, row)), 0)

    def _shown(self) -> Collection[int]:
        """Return the rows that are not folded."""
        if not self.folding or not any(self.changed):
            return range(len(self.rows))
        shown = set(self._opened)
        for n in range(len(self.rows)):
            if self.changed[n]:
                shown.update(range(n - AROUND, n + AROUND + 1))
            elif self._is_same(n):
                shown.add(n)
        return shown

    def toggle_folding(self) -> None:
        """Fold unchanged rows, or show all."""
        self.folding = not self.folding
        self.fold()

    def line(self, entry: Entry, side: int) -> Line | None:
        """Return the line of an entry before (0) or after (1) the pass."""
        if not isinstance(entry, int):
            return None
        at = self.rows[entry][side]
        snapshot = self.step.after if side else self.step.before
        return None if at is None else snapshot.lines[at]

    def is_change(self, entry: Entry) -> bool:
        """Return whether an entry is a changed row."""
        return isinstance(entry, int) and self.changed[entry]

    def sameness(self, line: Line) -> int:
        """Return 2 for a line of a chosen source op, 1 for one lowered together with it, else 0."""
        if not self.chosen:
            return 0
        if any(name in self.chosen for name in line.sources):
            return 2
        return int(any(name in self.chosen for name in line.group))

    def _is_same(self, entry: Entry) -> bool:
        lines = (self.line(entry, side) for side in (0, 1))
        return any(line is not None and self.sameness(line) == 2 for line in lines)

    def move(self, by: int) -> None:
        """Move the cursor by some lines."""
        self.cursor = max(0, min(self.cursor + by, len(self.entries) - 1))

    def move_to_change(self, by: int) -> None:
        """Move the cursor to the first line of the next (1) or the previous (-1) change."""
        entries, to = self.entries, self.cursor
        while 0 <= to < len(entries) and self.is_change(entries[to]):
            to += by
        while 0 <= to < len(entries) and not self.is_change(entries[to]):
            to += by
        if not 0 <= to < len(entries):
            return
        while by < 0 < to and self.is_change(entries[to - 1]):
            to -= 1
        self.cursor = to

    def choose(self, side: int = 1) -> None:
        """Choose the source ops of the line under the cursor, or none if they are chosen already.

        A folded run opens. If `side` has no line, the line of the other side is used.
        """
        if not self.entries:
            return
        entry = self.entries[self.cursor]
        if not isinstance(entry, int):
            self._opened.update(range(*entry))
            self.fold()
            return
        line = self.line(entry, side) or self.line(entry, 1 - side)
        assert line is not None
        found = line.sources or line.group
        self.choose_sources(() if found == self.chosen else found)

    def choose_sources(self, names: Sequence[str]) -> None:
        """Choose source ops by name."""
        self.chosen = tuple(names)
        self.fold()

    def hits(self, entry: int) -> bool:
        """Return whether a row has the text of the search on either side."""
        lines = (self.line(entry, side) for side in (0, 1))
        return any(line is not None and self.query in line.text.lower() for line in lines)

    def search(self, text: str) -> None:
        """Search for a text, from the cursor's line on."""
        self.query = text.lower()
        self.move_to_hit(0)

    def move_to_hit(self, by: int) -> None:
        """Move the cursor to the next (1) or previous (-1) line with the text of the search; 0
        counts the cursor's own line too. A folded run opens.
        """
        if not self.query or not self.entries:
            return
        entry, size = self.entries[self.cursor], len(self.rows)
        here = entry if isinstance(entry, int) else entry[0]
        for k in range(abs(by), size + 1):
            row = (here + k * (by or 1)) % size
            if self.hits(row):
                self._opened.add(row)
                self.fold()
                self.cursor = self.entries.index(row)
                return

    def describe(self) -> str:
        """Return the chosen source ops, or the source op at the cursor."""
        if self.chosen:
            passes = [s.name for n, s in enumerate(self.steps) if self.touches(n)]
            names = "; ".join(map(self._source_text, self.chosen[:4]))
            return f"Source op {names}\nChanged by {', '.join(passes) or 'no pass'}"
        entry = self.entries[self.cursor] if self.entries else (0, 0)
        lines = [line for side in (1, 0) if (line := self.line(entry, side)) is not None]
        found = dict.fromkeys(name for line in lines for name in line.sources)
        if not found:
            return "No source op"
        return f"Line of {'; '.join(map(self._source_text, found))}"

    def _source_text(self, name: str) -> str:
        source = self.sources.get(name)
        if source is None:
            return name
        rest = [t for t in (source.opcode, source.framework, source.place) if t and t != name]
        return f"{name} ({', '.join(rest)})" if rest else name


def _holds(entry: Entry, row: int) -> bool:
    return entry == row if isinstance(entry, int) else entry[0] <= row < entry[1]


def _touched(step: Step) -> frozenset[str]:
    """Return the source ops of the lines that a step removes or adds."""
    if not step.before.lines:
        return frozenset()
    found: set[str] = set()
    for hunk in hunks_of(step.before, step.after):
        for line in (*step.before.lines[hunk.i1 : hunk.i2], *step.after.lines[hunk.j1 : hunk.j2]):
            found.update(line.sources)
    return frozenset(found)

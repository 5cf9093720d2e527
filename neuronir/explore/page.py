"""A recording as one self-contained HTML file: passes on the left, two panes of IR on the right."""

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Any

from neuronir.dialects.support.diagnostics import warning
from neuronir.explore.align import Hunk, hunks_of
from neuronir.explore.record import Recording, Step
from neuronir.explore.snapshot import Line, Snapshot
from neuronir.explore.texts import delta_text, note_of, time_text
from neuronir.targets.simulator.page.frame import fill, packed


def explore_page(recording: Recording, most: int) -> str:
    """Return the page of a recording.

    The first phase with which the page would have more than `most` different lines of IR and all
    later phases are left out; a warning names them. A line takes about 23 bytes of the page.
    """
    steps, lines = _within(recording.steps, most)
    data = {
        "sources": [[s.name, s.opcode, s.framework, s.place] for s in recording.sources],
        **_lines_data(recording, lines),
        "steps": _steps_data(steps, lines),
    }
    parts = {
        "title": escape(f"Passes of {recording.model} on {recording.target}"),
        "note": escape(note_of(recording)),
        "phases": _phase_links(steps),
        "passes": _pass_list(steps),
        "data": packed(data),
    }
    return fill(
        "explore.html",
        parts,
        ("unpack.js", "explore_text.js", "explore.js"),
        "",
        styles=("page.css", "explore.css"),
        package=__package__,
    )


def _within(steps: Sequence[Step], most: int) -> tuple[list[Step], dict[Line, int]]:
    """Return the steps of the first phases that together have at most `most` different lines, and
    the numbers of these lines.
    """
    kept: list[Step] = []
    lines: dict[Line, int] = {}
    phases = [list(group) for _, group in groupby(steps, key=lambda step: step.phase)]
    for number, group in enumerate(phases):
        more = dict(lines)
        for snapshot in _snapshots(group):
            for line in snapshot.lines:
                more.setdefault(line, len(more))
        if len(more) > most and kept:
            left = ", ".join(dict.fromkeys(g[0].phase for g in phases[number:]))
            warning(
                f"the page has {len(lines)} different lines of IR, and more than {most} with phase "
                f"'{group[0].phase}': left out: {left} (use --phases, or --max-lines)"
            )
            break
        kept += group
        lines = more
    return kept, lines


def _snapshots(steps: Sequence[Step]) -> list[Snapshot]:
    """Return the snapshots of steps, without repetitions of equal neighbours."""
    found: list[Snapshot] = []
    for step in steps:
        for snapshot in (step.before, step.after):
            if not found or found[-1] is not snapshot:
                found.append(snapshot)
    return found


def _lines_data(recording: Recording, lines: dict[Line, int]) -> dict[str, Any]:
    """Return the texts of all lines, and the numbers of their source ops and groups."""
    at = {source.name: number for number, source in enumerate(recording.sources)}

    def numbers(names: tuple[str, ...]) -> list[int]:
        return [at[name] for name in names if name in at]

    return {
        "texts": [line.text for line in lines],
        "own": [numbers(line.sources) for line in lines],
        "group": [numbers(line.group) for line in lines],
    }


def _steps_data(steps: Sequence[Step], lines: dict[Line, int]) -> list[dict[str, Any]]:
    """Return the steps, each as its changes to the result of the previous step.

    `lead` are changes before the step that belong to no pass.
    """
    found = []
    last = Snapshot()
    for step in steps:
        found.append(
            {
                "phase": step.phase,
                "name": step.name,
                "text": step.text,
                "about": step.about,
                "failed": step.failed,
                "lead": _changes(last, step.before, lines),
                "hunks": _changes(step.before, step.after, lines),
            }
        )
        last = step.after
    return found


def _changes(before: Snapshot, after: Snapshot, lines: dict[Line, int]) -> list[list[Any]]:
    return [_hunk_data(hunk, after, lines) for hunk in hunks_of(before, after)]


def _hunk_data(hunk: Hunk, after: Snapshot, lines: dict[Line, int]) -> list[Any]:
    new = [lines[line] for line in after.lines[hunk.j1 : hunk.j2]]
    return [hunk.i1, hunk.i2, new, [offset for pair in hunk.anchors for offset in pair]]


def _phase_links(steps: Sequence[Step]) -> str:
    names = dict.fromkeys(step.phase for step in steps)
    return " ".join(f'<a href="#phase-{escape(name)}">{escape(name)}</a>' for name in names)


def _pass_list(steps: Sequence[Step]) -> str:
    """Return the list of phases and passes, each pass a button."""
    found: list[str] = []
    numbered = groupby(enumerate(steps), key=lambda entry: entry[1].phase)
    for phase, entries in numbered:
        buttons = "".join(f"<li>{_button(number, step)}</li>" for number, step in entries)
        name = escape(phase)
        found.append(f'<h2 id="phase-{name}">{name}</h2><ol>{buttons}</ol>')
    return "".join(found)


def _button(number: int, step: Step) -> str:
    kind = "failed" if step.failed else "" if step.changed else "same"
    counts = delta_text(step)
    return (
        f'<button type="button" class="pass {kind}" data-step="{number}" '
        f'title="{escape(step.summary)}"><span class="name">{escape(step.name)}</span>'
        f'<span class="mark" aria-hidden="true"></span>'
        f'<span class="time">{time_text(step)}</span><span class="ops">{escape(counts)}</span>'
        "</button>"
    )

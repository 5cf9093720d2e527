"""Short texts about a recording and its steps, for the page, the list and the terminal."""

from neuronir.driver.phases import PHASES
from neuronir.explore.record import Recording, Step


def note_of(recording: Recording) -> str:
    """Return the line that says how the model was compiled and how it went."""
    passes = [s for s in recording.steps if s.before.lines and s.phase != PHASES[-1]]
    changed = sum(step.changed for step in passes)
    total = sum(step.seconds for step in passes)
    text = f"{recording.options}: {len(passes)} passes in {total:,.2f} s, {changed} changed the IR"
    if recording.failure is not None:
        first = recording.failure.diagnostic.text.splitlines()[0]
        text += f"; the compile failed: {first}"
    return text


def delta_text(step: Step) -> str:
    """Return the numbers of ops before and after a step, and their difference."""
    if step.failed:
        return "failed"
    if not step.changed:
        return "no change"
    a, b = step.before.ops, step.after.ops
    if not step.before.lines:
        return f"{b:,} ops"
    return f"{a:,} → {b:,} ops ({b - a:+,})" if a != b else f"{a:,} ops (±0)"


def time_text(step: Step) -> str:
    """Return the wall time of a step, empty for reading the model."""
    if not step.before.lines:
        return ""
    ms = step.seconds * 1e3
    return f"{ms:,.0f} ms" if ms >= 100 else f"{ms:.1f} ms"

"""Counts that passes report (`hlo-find-composites: gelu_exact 12`), beside the frozen passes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

Counts = Counter[tuple[str, str]]
"""How often each counter of each pass was recorded."""

_LOCK = Lock()
_COUNTS: Counts = Counter()
_gains = False


def record(pass_name: str, key: str, n: int = 1) -> None:
    """Add `n` to the counter `key` of a pass; a zero is recorded too, so that the key shows."""
    with _LOCK:
        _COUNTS[(pass_name, key)] += n


def reset(gains: bool = False) -> None:
    """Forget all counts of this process. With `gains`, passes also measure their gains from now on,
    by comparing with the program without them, which takes time.
    """
    global _gains
    with _LOCK:
        _COUNTS.clear()
        _gains = gains


def gains() -> bool:
    """Return whether passes should measure their gains, which takes time."""
    return _gains


@contextmanager
def collected(counts: Counts) -> Iterator[None]:
    """Add what is recorded inside this block to `counts`, and not to the counts of the process."""
    with _LOCK:
        before = Counter(_COUNTS)
        _COUNTS.clear()
    try:
        yield
    finally:
        with _LOCK:
            counts.update(_COUNTS)
            _COUNTS.clear()
            _COUNTS.update(before)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Discard the counts of a trial inside this block, in which no gains are measured."""
    global _gains
    wanted, _gains = _gains, False
    try:
        with collected(Counter()):
            yield
    finally:
        _gains = wanted


def add(counts: Counts) -> None:
    """Add collected counts to those of the process."""
    with _LOCK:
        _COUNTS.update(counts)


def snapshot() -> dict[str, dict[str, int]]:
    """Return the counts so far as `{pass name: {key: count}}`, in alphabetical order."""
    with _LOCK:
        items = sorted(_COUNTS.items())
    result: dict[str, dict[str, int]] = {}
    for (pass_name, key), n in items:
        result.setdefault(pass_name, {})[key] = n
    return result

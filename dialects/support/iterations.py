"""Limit the iterations of loops that data may never end, where a program is executed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from neuronir.dialects.support.errors import NeuronError

MOST_ITERATIONS = 1_000_000
"""The default limit of one run of a loop whose condition depends on data."""

_LIMIT: ContextVar[int] = ContextVar("iterations", default=MOST_ITERATIONS)


@contextmanager
def at_most_iterations(limit: int) -> Iterator[None]:
    """Change the limit while the context is active."""
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def count_iteration(count: int) -> int:
    """Return `count` + 1; raise NIR_SIM036 if that many iterations exceed the limit."""
    if count >= _LIMIT.get():
        raise NeuronError(
            "NIR_SIM036",
            f"a loop has not ended after {count} iterations",
            help="its condition may never become false for these inputs; neuron-sim run has "
            "--max-iterations",
        )
    return count + 1

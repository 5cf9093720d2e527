"""Give up the lowering of a program with too many instructions."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.ir import Operation

from neuronir.dialects.support.errors import NeuronError

_MOST: ContextVar[int | None] = ContextVar("neuronir_most_instructions", default=None)


class GivenUp(NeuronError):
    """A program has more than `most` instructions; `ops` are those that were emitted so far."""

    def __init__(self, most: int, ops: list[Operation]) -> None:
        text = f"the program has more than {most} instructions"
        super().__init__("NCC_EBVF030", text, help="use a smaller batch")
        self.ops = ops


@contextmanager
def giving_up(most: int) -> Iterator[None]:
    """Raise GivenUp in a lowering that emits more than `most` instructions in this context."""
    token = _MOST.set(most)
    try:
        yield
    finally:
        _MOST.reset(token)


def most_instructions() -> int | None:
    """Return the limit of this context, or None."""
    return _MOST.get()

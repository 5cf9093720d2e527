"""Walk the items of streams."""

from collections.abc import Iterable, Iterator

from neuronir.dialects.nc.instruction import Instruction, Item, Loop


def instructions_of(items: Iterable[Item]) -> Iterator[Instruction]:
    """Return all instructions in the text of a stream, including loop bodies, without calls."""
    for item in items:
        if isinstance(item, Instruction):
            yield item
        elif isinstance(item, Loop):
            yield from instructions_of(item.body)

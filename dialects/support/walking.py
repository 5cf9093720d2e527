"""Walk over ops with fewer calls than xDSL's iterators."""

from collections.abc import Iterator

from xdsl.ir import Block, Operation


def ops_of(block: Block) -> Iterator[Operation]:
    """Yield the ops of a block in order; the current op may be removed."""
    op = block._first_op
    while op is not None:
        following = op._next_op
        yield op
        op = following


def walk(op: Operation) -> Iterator[Operation]:
    """Yield `op` and all ops in it, each before those in its regions, like `op.walk()`."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            yield from walk_in(block)


def walk_in(block: Block) -> Iterator[Operation]:
    """Yield all ops in a block, each before those in its regions, like `block.walk()`."""
    op = block._first_op
    while op is not None:
        following = op._next_op
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from walk_in(inner)
        op = following

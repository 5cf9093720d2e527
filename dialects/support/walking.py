"""Walk over ops in fewer calls than xDSL's own iterators take."""

from collections.abc import Iterator

from xdsl.ir import Block, Operation


def ops_of(block: Block) -> Iterator[Operation]:
    """The ops of a block in order; the one that was just returned may leave the block."""
    op = block._first_op
    while op is not None:
        following = op._next_op
        yield op
        op = following


def walk(op: Operation) -> Iterator[Operation]:
    """`op` and all ops in it, each before those in its regions, as `op.walk()` gives them."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            yield from walk_in(block)


def walk_in(block: Block) -> Iterator[Operation]:
    """All ops in a block, each before those in its regions, as `block.walk()` gives them."""
    op = block._first_op
    while op is not None:
        following = op._next_op
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from walk_in(inner)
        op = following

"""Contents of IR without the names and locations of its values, to compare programs."""

from collections.abc import Collection, Hashable, Iterable, Iterator

from xdsl.ir import Block, Operation, SSAValue


def contents_of(op: Operation, ignored: Collection[str] = ()) -> list[Hashable]:
    """Return the contents of an op and its regions, without the `ignored` attributes.

    The lists of two ops are equal if the ops are alike: values are numbered in order, outer ones
    where they first occur, and equal numbers stand for values of equal types.
    """
    return list(_contents(op, {}, ignored))


def contents_of_block(block: Block) -> list[Hashable]:
    """Return the contents of a block; outer values are numbered as they occur, with their types."""
    return list(_block(block, {}, ()))


def _contents(
    op: Operation, numbers: dict[SSAValue, int], ignored: Collection[str]
) -> Iterator[Hashable]:
    yield op.name
    yield from _numbered([v for v in op.operands if v not in numbers], numbers)
    yield tuple(numbers[v] for v in op.operands)
    for attributes in (op.properties, op.attributes):
        yield tuple((k, attributes[k]) for k in sorted(attributes) if k not in ignored)
    yield from _numbered(op.results, numbers)
    for region in op.regions:
        for block in region.blocks:
            yield from _block(block, numbers, ignored)
    yield len(op.regions)


def _block(
    block: Block, numbers: dict[SSAValue, int], ignored: Collection[str]
) -> Iterator[Hashable]:
    yield from _numbered(block.args, numbers)
    for op in block.ops:
        yield from _contents(op, numbers, ignored)


def _numbered(values: Iterable[SSAValue], numbers: dict[SSAValue, int]) -> Iterator[Hashable]:
    for value in values:
        numbers.setdefault(value, len(numbers))
        yield value.type

"""Recognise tiled programs that were compiled before, with another size of tiles."""

from collections.abc import Hashable, Iterable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from neuronir.passes.tile.room import NEEDED


class SameTiles(Exception):
    """An attempt has the tiled program of an earlier one."""


class TiledPrograms:
    """The tiled programs of the attempts of a compile."""

    def __init__(self) -> None:
        self.seen: list[list[Hashable]] = []

    def add(self, module: ModuleOp) -> None:
        """Add a program; raise SameTiles if it equals an earlier one."""
        contents = list(_contents(module, {}))
        if contents in self.seen:
            raise SameTiles
        self.seen.append(contents)


def _contents(op: Operation, numbers: dict[SSAValue, int]) -> Iterator[Hashable]:
    """Yield a key of an op's contents, without the names and locations of its values."""
    yield op.name
    yield tuple(numbers[v] for v in op.operands)
    for attributes in (op.properties, op.attributes):
        yield tuple((k, attributes[k]) for k in sorted(attributes) if k != NEEDED)
    yield from _numbered(op.results, numbers)
    for region in op.regions:
        for block in region.blocks:
            yield from _block(block, numbers)
    yield len(op.regions)


def _block(block: Block, numbers: dict[SSAValue, int]) -> Iterator[Hashable]:
    yield from _numbered(block.args, numbers)
    for op in block.ops:
        yield from _contents(op, numbers)


def _numbered(values: Iterable[SSAValue], numbers: dict[SSAValue, int]) -> Iterator[Hashable]:
    for value in values:
        numbers[value] = len(numbers)
        yield value.type

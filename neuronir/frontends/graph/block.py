"""A builder that appends to a block, and knows the values that follow from constants."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from xdsl.dialects.builtin import DictionaryAttr, LocationAttr, NameLoc, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from neuronir.dialects.hlo.resources import Array
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import METADATA
from neuronir.passes.hlo.support.build import OP_CLASSES, Builder
from neuronir.passes.hlo.support.evaluate import known_value

LARGEST_KNOWN = 1 << 16
"""Values of more elements than this are not evaluated while a graph is built."""


def refuse(message: str, help: str | None = None) -> NoReturn:
    """An operator that cannot be imported as it is given (NIR_IMP001)."""
    raise NeuronError("NIR_IMP001", message, help=help)


class NeedsValue(NeuronError):
    """A value has to be known at compile time and depends on `inputs` of the graph (NIR_IMP002):
    shapes follow from it."""

    def __init__(self, what: str, inputs: Sequence[str]) -> None:
        self.inputs = tuple(inputs)
        named = ", ".join(f"'{name}'" for name in inputs)
        super().__init__(
            "NIR_IMP002",
            f"{what} must be known at compile time, but depends on "
            + (f"the data of {named}" if inputs else "data"),
            help="bind the input's value by --weights, or make it a constant of the model",
        )


class BlockBuilder(Builder):
    """Appends ops to a block, with the location and metadata that are current.

    Shapes in a graph are often computed by the graph itself: `known` gives the array of any value
    that follows from constants, evaluated by the reference semantics when it is asked for. The ops
    that computed it stay behind unused (`erase_unused` removes them).
    """

    def __init__(self, block: Block, parent: "BlockBuilder | None" = None) -> None:
        self.block = block
        self.location: LocationAttr = UnknownLoc() if parent is None else parent.location
        self.metadata: DictionaryAttr | None = None if parent is None else parent.metadata
        self._known: dict[SSAValue, Array | None] = {}

    def insert(self, op: Operation) -> Operation:
        """Append an op, with the current location."""
        op.location = self.location
        if self.metadata is not None:
            op.attributes[METADATA] = self.metadata
        self.block.add_op(op)
        return op

    @contextmanager
    def at(self, location: LocationAttr, metadata: DictionaryAttr | None = None) -> Iterator[None]:
        """Give what is built inside this location and metadata."""
        before = self.location, self.metadata
        self.location, self.metadata = location, metadata
        try:
            yield
        finally:
            self.location, self.metadata = before

    def known(self, value: SSAValue) -> Array | None:
        """The array of a value that follows from constants, else None; do not write to it."""
        return known_value(value, self._known, LARGEST_KNOWN)

    def need_known(self, value: SSAValue, what: str) -> Array:
        """The array of a value that has to follow from constants; NeedsValue if it depends on
        data, because then shapes do."""
        array = self.known(value)
        if array is None:
            raise NeedsValue(what, _sources(value))
        return array

    def known_ints(self, value: SSAValue, what: str) -> tuple[int, ...]:
        """The integers of a value of rank 0 or 1 that has to be known."""
        return tuple(int(n) for n in self.need_known(value, what).reshape(-1))

    def region(self, types: Sequence[Attribute]) -> "BlockBuilder":
        """A builder for the block of a new region with these argument types."""
        return BlockBuilder(Block(arg_types=types), self)

    def finish(self, value: SSAValue) -> Region:
        """End the block with hlo.return of a value; the region that holds it."""
        self.block.add_op(OP_CLASSES["hlo.return"].create(operands=[value]))
        return Region(self.block)


def _sources(value: SSAValue) -> list[str]:
    """Names of the block arguments that a value depends on, in the order of the arguments."""
    found: dict[int, str] = {}
    seen: set[SSAValue] = set()
    stack = [value]
    while stack:
        top = stack.pop()
        if top in seen:
            continue
        seen.add(top)
        if isinstance(top, BlockArgument):
            location = top.location
            if isinstance(location, NameLoc):
                found[top.index] = location.desc.data
        elif isinstance(top, OpResult):
            stack.extend(top.op.operands)
    return [found[i] for i in sorted(found)]


def erase_unused(block: Block) -> int:
    """Remove the ops of a block, and of the blocks in it, whose results nobody reads; how many.

    hlo ops that an importer builds have no effects.
    """
    count = 0
    for op in reversed(tuple(block.ops)):
        if op.results and not any(result.uses for result in op.results):
            op.detach()
            op.erase()
            count += 1
            continue
        for region in op.regions:
            count += sum(erase_unused(inner) for inner in region.blocks)
    return count

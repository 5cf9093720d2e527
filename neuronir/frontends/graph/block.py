"""Append ops to a block, and evaluate values that follow from constants."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from xdsl.dialects.builtin import DictionaryAttr, LocationAttr, NameLoc, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import METADATA
from neuronir.passes.hlo.support.build import OP_CLASSES, Builder
from neuronir.passes.hlo.support.evaluate import known_value

LARGEST_KNOWN = 1 << 16
"""Values with more elements than this are not evaluated while a graph is built."""


def refuse(message: str, help: str | None = None) -> NoReturn:
    """Raised for an operator that cannot be imported with its operands or attributes
    (NIR_IMP001).
    """
    raise NeuronError("NIR_IMP001", message, help=help)


class NeedsValue(NeuronError):
    """Raised if a value must be known at compile time but depends on `inputs` of the graph
    (NIR_IMP002).
    """

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
    """Append ops to a block, with the current location and metadata.

    A graph often computes shapes itself. `known` returns the array of any value that follows from
    constants, evaluated on demand with the reference semantics. The ops that computed it stay in
    the block; `erase_unused` removes them.
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
        """Use this location and metadata for the ops built in the context."""
        before = self.location, self.metadata
        self.location, self.metadata = location, metadata
        try:
            yield
        finally:
            self.location, self.metadata = before

    def known(self, value: SSAValue) -> Array | None:
        """Return the array of a value that follows from constants, else None; do not write to
        it.
        """
        return known_value(value, self._known, LARGEST_KNOWN)

    def need_known(self, value: SSAValue, what: str) -> Array:
        """Return the array of a value that must follow from constants.

        Raises NeedsValue if the value depends on data, because then shapes would too.
        """
        array = self.known(value)
        if array is None:
            raise NeedsValue(what, _sources(value))
        return array

    def known_ints(self, value: SSAValue, what: str) -> tuple[int, ...]:
        """Return the integers of a value of rank 0 or 1 that must be known."""
        return tuple(int(n) for n in self.need_known(value, what).reshape(-1))

    def region(self, types: Sequence[Attribute]) -> "BlockBuilder":
        """Return a builder for the block of a new region with these argument types."""
        return BlockBuilder(Block(arg_types=types), self)

    def finish(self, value: SSAValue) -> Region:
        """Terminate the block with hlo.return of a value, and return its region."""
        self.block.add_op(OP_CLASSES["hlo.return"].create(operands=[value]))
        return Region(self.block)


def _sources(value: SSAValue) -> list[str]:
    """Return the names of the block arguments on which a value depends, in argument order."""
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
    """Erase ops without users in a block and its regions, and return their number.

    hlo ops that an importer builds have no side effects.
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

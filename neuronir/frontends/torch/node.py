"""What an operator's function sees of its node: operands, arguments, results, the builder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from xdsl.ir import Attribute, SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import broadcast_to
from neuronir.frontends.torch.types import dims_of, element_of
from neuronir.passes.hlo.support.values import element, shape


@dataclass
class Node:
    """One operator to import.

    `n["self"]` is a tensor operand that must be there, `n.get("bias")` one that may be absent,
    `n.value("dim")` any other argument; all by the names of the operator's schema, with its
    defaults. `type` and `dims` are those of a result, which torch has determined already.
    """

    name: str
    b: BlockBuilder
    arguments: Mapping[str, Any]
    """SSA values, lists of them, and Python values by name."""
    fakes: Mapping[str, Any]
    """The same with torch's fake tensors, which know dtypes and shapes."""
    results: Sequence[Any]
    """The fake tensors of the results."""
    wanted: frozenset[int]

    def __getitem__(self, name: str) -> SSAValue:
        found = self.arguments[name]
        if not isinstance(found, SSAValue):
            refuse(f"argument '{name}' must be a tensor, is {found!r}")
        return found

    def get(self, name: str) -> SSAValue | None:
        """A tensor that may be absent."""
        return None if self.arguments.get(name) is None else self[name]

    def all(self, name: str) -> list[SSAValue]:
        """A list of tensors, each of which must be there."""
        found = self.arguments[name]
        if not all(isinstance(v, SSAValue) for v in found):
            refuse(f"'{name}' must be tensors")
        return list(found)

    def value(self, name: str, default: Any = None) -> Any:
        """An argument that is not a tensor; the default where it is None or not in the schema."""
        found = self.arguments.get(name)
        if isinstance(found, SSAValue):
            # A number that the model computes in a tensor.
            return self.b.need_known(found, f"argument '{name}'").reshape(-1)[0].item()
        return default if found is None else found

    def ints(self, name: str) -> list[int]:
        """A list of integers; a single one counts as a list."""
        found = self.value(name, [])
        return [int(found)] if isinstance(found, int) else [int(i) for i in found]

    def spread(self, name: str, count: int) -> list[int]:
        """A list of integers with one for each of `count` dimensions, which one alone may give."""
        found = self.ints(name)
        return found * count if len(found) == 1 else found

    # --- results

    def type(self, index: int = 0) -> Attribute:
        """The element type of a result."""
        return element_of(self.results[index].dtype)

    def dims(self, index: int = 0) -> tuple[int, ...]:
        """The shape of a result."""
        return dims_of(self.results[index])

    def wants(self, index: int) -> bool:
        """Whether anything reads a result."""
        return index in self.wanted

    # --- operands as they take part

    def operand(self, name: str, type_: Attribute) -> SSAValue:
        """A tensor or number in an element type."""
        found = self.arguments[name]
        if isinstance(found, SSAValue):
            return self.b.convert(found, type_)
        return self.b.scalar(found, type_)

    def full(self, name: str, type_: Attribute | None = None) -> SSAValue:
        """A tensor or number in an element type, spread over the shape of the (first) result."""
        value = self.operand(name, self.type() if type_ is None else type_)
        return broadcast_to(self.b, value, self.dims())

    def promoted(self, *names: str) -> Attribute:
        """The element type in which torch combines operands."""
        found: Any = self.fakes[names[0]]
        for name in names[1:]:
            other = self.fakes[name]
            dtype = torch.result_type(found, other)
            # Ranks decide, too: what is left of two is as high as the higher one.
            ranks = [v.ndim if isinstance(v, torch.Tensor) else -1 for v in (found, other)]
            best = found if ranks[0] >= ranks[1] else other
            found = best.to(dtype) if isinstance(best, torch.Tensor) else best
        dtype = found.dtype if isinstance(found, torch.Tensor) else torch.result_type(found, 0)
        return element_of(dtype)

    def cast(self, value: SSAValue, index: int = 0) -> SSAValue:
        """A value in the type of a result."""
        return self.b.convert(value, self.type(index))


def rank(value: SSAValue) -> int:
    """The number of dimensions."""
    return len(shape(value))


__all__ = ["Node", "element", "rank", "shape"]

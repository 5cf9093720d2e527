"""Give operator functions access to their node: operands, arguments, results, the builder."""

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

    `n["self"]` is a required tensor operand, `n.get("bias")` an optional one, and `n.value("dim")`
    any other argument, all by the names of the operator's schema, with its defaults. `type` and
    `dims` are those of a result, which torch has already determined.
    """

    name: str
    b: BlockBuilder
    arguments: Mapping[str, Any]
    """SSA values, lists of them, and Python values by name."""
    fakes: Mapping[str, Any]
    """The same as torch's fake tensors, which know dtypes and shapes."""
    results: Sequence[Any]
    """The fake tensors of the results."""
    wanted: frozenset[int]

    def __getitem__(self, name: str) -> SSAValue:
        found = self.arguments[name]
        if not isinstance(found, SSAValue):
            refuse(f"argument '{name}' must be a tensor, is {found!r}")
        return found

    def get(self, name: str) -> SSAValue | None:
        """Return an optional tensor."""
        return None if self.arguments.get(name) is None else self[name]

    def all(self, name: str) -> list[SSAValue]:
        """Return a list of required tensors."""
        found = self.arguments[name]
        if not all(isinstance(v, SSAValue) for v in found):
            refuse(f"'{name}' must be tensors")
        return list(found)

    def value(self, name: str, default: Any = None) -> Any:
        """Return an argument that is not a tensor; the default if it is None or not in the
        schema.
        """
        found = self.arguments.get(name)
        if isinstance(found, SSAValue):
            # A number that the model computes in a tensor.
            return self.b.need_known(found, f"argument '{name}'").reshape(-1)[0].item()
        return default if found is None else found

    def ints(self, name: str) -> list[int]:
        """Return a list of integers; a single one is accepted as a list."""
        found = self.value(name, [])
        return [int(found)] if isinstance(found, int) else [int(i) for i in found]

    def spread(self, name: str, count: int) -> list[int]:
        """Return a list of `count` integers, one for each dimension; a single one is repeated."""
        found = self.ints(name)
        return found * count if len(found) == 1 else found

    # --- results

    def type(self, index: int = 0) -> Attribute:
        """Return the element type of a result."""
        return element_of(self.results[index].dtype)

    def dims(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of a result."""
        return dims_of(self.results[index])

    def wants(self, index: int) -> bool:
        """Return whether a result has users."""
        return index in self.wanted

    # --- operands as they take part

    def operand(self, name: str, type_: Attribute) -> SSAValue:
        """Return a tensor or number in an element type."""
        found = self.arguments[name]
        if isinstance(found, SSAValue):
            return self.b.convert(found, type_)
        return self.b.scalar(found, type_)

    def full(self, name: str, type_: Attribute | None = None) -> SSAValue:
        """Return a tensor or number in an element type, broadcast to the shape of the (first)
        result.
        """
        value = self.operand(name, self.type() if type_ is None else type_)
        return broadcast_to(self.b, value, self.dims())

    def promoted(self, *names: str) -> Attribute:
        """Return the element type in which torch combines operands."""
        found: Any = self.fakes[names[0]]
        for name in names[1:]:
            other = self.fakes[name]
            dtype = torch.result_type(found, other)
            # Ranks decide, too: after two operands are combined, the higher rank counts.
            ranks = [v.ndim if isinstance(v, torch.Tensor) else -1 for v in (found, other)]
            best = found if ranks[0] >= ranks[1] else other
            found = best.to(dtype) if isinstance(best, torch.Tensor) else best
        dtype = found.dtype if isinstance(found, torch.Tensor) else torch.result_type(found, 0)
        return element_of(dtype)

    def cast(self, value: SSAValue, index: int = 0) -> SSAValue:
        """Convert a value to the type of a result."""
        return self.b.convert(value, self.type(index))


def rank(value: SSAValue) -> int:
    """Return the number of dimensions."""
    return len(shape(value))


__all__ = ["Node", "element", "rank", "shape"]

"""Represent the results of a TensorFlow node: tensors, and placeholders for tensors."""

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.frontends.graph.block import BlockBuilder, refuse

PartialDims = tuple[int | None, ...] | None
"""A shape with None for unknown dimensions; None itself for an unknown rank."""


@dataclass(frozen=True)
class TensorList:
    """A list of tensors of one shape: TensorFlow's TensorList, and the flow of a TensorArray.

    `stack` holds the elements along its first dimension. It is None while nothing was written and
    the element shape is unknown.
    """

    element_type: Attribute
    dims: PartialDims
    count: int
    stack: SSAValue | None = None

    def known_dims(self) -> tuple[int, ...] | None:
        """Return the shape of an element if it is fully known."""
        if self.dims is None or any(n is None for n in self.dims):
            return None
        return tuple(n for n in self.dims if n is not None)

    def narrowed(self, dims: PartialDims) -> "TensorList":
        """Return the list with the additional information `dims` about its elements."""
        return replace(self, dims=merge_dims(self.dims, dims))

    def filled(self, b: BlockBuilder) -> SSAValue:
        """Return the stack; zeros if nothing was written yet."""
        if self.stack is not None:
            return self.stack
        return b.fill(0, self.stack_type())

    def stack_type(self) -> TensorType[Attribute]:
        """Return the type of the stack."""
        dims = self.known_dims()
        if dims is None:
            refuse("the shape of a list's elements is not known")
        return tensor_type((self.count, *dims), self.element_type)


@dataclass(frozen=True)
class Variable:
    """A variable that is read: its value is in the checkpoint."""

    name: str


@dataclass(frozen=True)
class ArrayHandle:
    """The handle of a TensorArray; its elements travel with the flow."""

    element_type: Attribute


Value = SSAValue | TensorList | Variable | ArrayHandle


def merge_dims(one: PartialDims, other: PartialDims) -> PartialDims:
    """Merge two descriptions of a shape."""
    if one is None or other is None:
        return other if one is None else one
    if len(one) != len(other):
        refuse(f"elements of rank {len(one)} and {len(other)} do not fit in one list")
    merged: list[int | None] = []
    for a, b in zip(one, other, strict=True):
        if a is not None and b is not None and a != b:
            refuse(f"elements of dimensions {a} and {b} do not fit in one list")
        merged.append(b if a is None else a)
    return tuple(merged)

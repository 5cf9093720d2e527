"""Give operator functions access to their node: operands, attributes, the builder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.tensorflow.graph import Node
from neuronir.frontends.tensorflow.schema import DATA_TYPES
from neuronir.frontends.tensorflow.tensors import dims_of, hlo_type
from neuronir.frontends.tensorflow.values import PartialDims, Value
from neuronir.passes.hlo.support.values import element, shape

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """A function of the library, which builds its body in a builder's block.

    `same` are the indices of results that are the argument with the same index.
    """

    build: Callable[[BlockBuilder, Sequence[Value]], list[Value]]
    same: frozenset[int]


@dataclass
class Op:
    """One operator to build: `op[i]` is operand i, a tensor.

    `function` returns a function of the library by name, `variable` a variable's value.
    """

    node: Node
    b: BlockBuilder
    operands: Sequence[Value]
    function: Callable[[str], Call]
    variable: Callable[[str], Array]

    @property
    def type(self) -> str:
        """Return the operator's name."""
        return self.node.op

    def __getitem__(self, index: int) -> SSAValue:
        value = self.raw(index)
        if not isinstance(value, SSAValue):
            refuse(f"input {index} is not a tensor")
        return value

    def __len__(self) -> int:
        return len(self.operands)

    def raw(self, index: int) -> Value:
        """Return an operand of any kind."""
        if not -len(self.operands) <= index < len(self.operands):
            refuse(f"input {index} is missing")
        return self.operands[index]

    def tensors(self, start: int = 0, stop: int | None = None) -> list[SSAValue]:
        """Return the operands from `start` to before `stop`."""
        return [self[i] for i in range(len(self.operands))[start:stop]]

    def dims(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of an operand."""
        return shape(self[index])

    def element(self, index: int = 0) -> Attribute:
        """Return the element type of an operand."""
        return element(self[index])

    # --- operands that have to be known

    def array(self, index: int, what: str) -> Array:
        """Return an operand that must follow from constants."""
        return self.b.need_known(self[index], what)

    def ints(self, index: int, what: str) -> tuple[int, ...]:
        """Return the integers of an operand of rank 0 or 1 that must be known."""
        array = self.array(index, what)
        if array.dtype.kind not in "iu":
            refuse(f"{what} must be integers, not {array.dtype}")
        return tuple(int(n) for n in array.reshape(-1))

    def integer(self, index: int, what: str) -> int:
        """Return the integer of a one-element operand that must be known."""
        found = self.ints(index, what)
        if len(found) != 1:
            refuse(f"{what} must be one integer")
        return found[0]

    # --- attributes

    def has(self, name: str) -> bool:
        """Return whether the node has an attribute."""
        return name in self.node.attrs

    def _attr(self, name: str, kind: str) -> Any:
        """Return the value of an attribute of this kind, or None if absent."""
        if name not in self.node.attrs:
            return None
        found = self.node.attrs[name]
        if found.WhichOneof("value") != kind:
            refuse(f"attribute '{name}' has another kind than '{kind}'")
        return getattr(found, kind)

    def int(self, name: str, default: int | None = None) -> int:
        """Return an integer attribute."""
        found = self._attr(name, "i")
        return int(self._need(name, default) if found is None else found)

    def float(self, name: str, default: float | None = None) -> float:
        """Return a float attribute, rounded to float32 as in TensorFlow."""
        found = self._attr(name, "f")
        return float(np.float32(self._need(name, default)) if found is None else found)

    def bool(self, name: str, default: bool | None = None) -> bool:
        """Return a boolean attribute."""
        found = self._attr(name, "b")
        return bool(self._need(name, default) if found is None else found)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string attribute."""
        found = self._attr(name, "s")
        return str(self._need(name, default)) if found is None else found.decode(errors="replace")

    def int_list(self, name: str, default: Ints | None = None) -> Ints:
        """Return an attribute that is a list of integers."""
        found = self._attr(name, "list")
        return tuple(self._need(name, default) if found is None else found.i)

    def dtype(self, name: str, default: str | None = None) -> Attribute:
        """Return the element type of an attribute; `default` is the name of a DataType."""
        found = self._attr(name, "type")
        return hlo_type(DATA_TYPES[self._need(name, default)] if found is None else found)

    def shape(self, name: str) -> PartialDims:
        """Return the shape in an attribute."""
        found = self._attr(name, "shape")
        return None if found is None else dims_of(found)

    def proto(self, name: str, kind: str) -> Any:
        """Return the message of a required attribute (tensor, func, list)."""
        return self._need(name, self._attr(name, kind))

    def _need(self, name: str, value: Any) -> Any:
        if value is None:
            refuse(f"attribute '{name}' is missing")
        return value

    def index_constant(self, values: Any, out: str = "out_type") -> SSAValue:
        """Create a constant of the type in the attribute `out`: int32 (the default) or int64."""
        type_ = self.dtype(out, "INT32")
        if type_ not in (i32, i64):
            refuse(f"attribute '{out}' must be int32 or int64")
        return self.b.constant(np.array(values, np.int64 if type_ == i64 else np.int32))

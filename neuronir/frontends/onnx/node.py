"""Give operator functions access to their node: operands, attributes, the builder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, TensorProto
from onnx.helper import tensor_dtype_to_np_dtype
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.dtypes import element_type
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder, refuse

Array = NDArray[Any]
Body = Callable[[BlockBuilder, Sequence[SSAValue]], list[SSAValue]]
"""Builds a subgraph in a builder's block from the values of its inputs; returns its outputs."""


@dataclass
class Node:
    """One operator to import.

    `n[i]` is a required operand, `n.get(i)` an optional one. `opset` is the version of the
    operator's domain. `outputs` are the names of the results ("" if unused).
    """

    proto: onnx.NodeProto
    opset: int
    b: BlockBuilder
    operands: list[SSAValue | None]
    attributes: dict[str, AttributeProto]
    read_tensor: Callable[[TensorProto, str], Array]
    subgraph: Callable[[GraphProto], "Subgraph"]
    domain: str = ""
    _cache: dict[str, Any] = field(default_factory=dict)

    @property
    def op_type(self) -> str:
        """Return the operator's name."""
        return str(self.proto.op_type)

    @property
    def outputs(self) -> list[str]:
        """Return the names of the results, "" for unused ones."""
        return list(self.proto.output)

    def wants(self, index: int) -> bool:
        """Return whether a result is used."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def __getitem__(self, index: int) -> SSAValue:
        value = self.get(index)
        if value is None:
            refuse(f"input {index} is missing")
        return value

    def get(self, index: int) -> SSAValue | None:
        """Return an operand, or None if it is absent."""
        return self.operands[index] if index < len(self.operands) else None

    def all(self) -> list[SSAValue]:
        """Return all operands, which are all required."""
        if not self.operands:
            refuse("it has no inputs")
        return [self[i] for i in range(len(self.operands))]

    # --- attributes

    def has(self, name: str) -> bool:
        """Return whether an attribute is present."""
        return name in self.attributes

    def _attribute(self, name: str, kind: int) -> AttributeProto | None:
        found = self.attributes.get(name)
        if found is not None and found.type not in (kind, AttributeProto.UNDEFINED):
            refuse(f"attribute '{name}' has a wrong type")
        return found

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        found = self._attribute(name, AttributeProto.INT)
        return default if found is None else int(found.i)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return an integer attribute as a flag."""
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: float) -> float:
        """Return a float attribute as the nearest float32, as stored in files."""
        found = self._attribute(name, AttributeProto.FLOAT)
        return default if found is None else float(found.f)

    def text(self, name: str, default: str) -> str:
        """Return a string attribute."""
        found = self._attribute(name, AttributeProto.STRING)
        return default if found is None else found.s.decode(errors="replace")

    def texts(self, name: str) -> list[str] | None:
        """Return a list of strings, or None if absent."""
        found = self._attribute(name, AttributeProto.STRINGS)
        return None if found is None else [s.decode(errors="replace") for s in found.strings]

    def ints(self, name: str) -> list[int] | None:
        """Return a list of integers, or None if absent."""
        found = self._attribute(name, AttributeProto.INTS)
        return None if found is None else [int(i) for i in found.ints]

    def floats(self, name: str) -> list[float] | None:
        """Return a list of floats, or None if absent."""
        found = self._attribute(name, AttributeProto.FLOATS)
        return None if found is None else [float(f) for f in found.floats]

    def tensor(self, name: str) -> Array | None:
        """Return a tensor attribute, or None if absent."""
        found = self._attribute(name, AttributeProto.TENSOR)
        return None if found is None else self.read_tensor(found.t, f"attribute '{name}'")

    def body(self, name: str) -> "Subgraph":
        """Return a graph attribute."""
        found = self._attribute(name, AttributeProto.GRAPH)
        if found is None:
            refuse(f"attribute '{name}' is missing")
        return self.subgraph(found.g)

    def type_attribute(self, name: str, default: Attribute) -> Attribute:
        """Return an attribute that holds an element type."""
        return type_of(self.integer(name, 0)) if self.has(name) else default

    # --- operands that must be known

    def known_ints(self, index: int, what: str) -> tuple[int, ...]:
        """Return the integers of an operand that must follow from constants."""
        return self.b.known_ints(self[index], f"{what} (input {index})")

    def axes(self, index: int, since: int, name: str = "axes") -> list[int] | None:
        """Return axes: an attribute before opset `since`, an optional input from then on."""
        if self.opset < since:
            return self.ints(name)
        return None if self.get(index) is None else list(self.known_ints(index, name))

    def scalar(self, index: int, default: Any = None) -> Any:
        """Return the value of a one-element operand that must be known; the default if absent."""
        if self.get(index) is None:
            return default
        array = self.b.need_known(self[index], f"input {index}").reshape(-1)
        if array.size != 1:
            refuse(f"input {index} must have one element, has {array.size}")
        return array[0].item()


@dataclass
class Subgraph:
    """The outer values that a graph attribute reads, and its builder."""

    captured: list[SSAValue]
    inputs: list[str]
    outputs: list[str]
    build: Callable[[BlockBuilder, Sequence[SSAValue], Sequence[SSAValue]], list[SSAValue]]
    """Map (builder, values of the inputs, captured values in the block) to the outputs."""


def type_of(number: int) -> Attribute:
    """Return the element type of an ONNX type number (NCC_ESPP004)."""
    names: Mapping[int, str] = {v: k for k, v in TensorProto.DataType.items()}
    name = names.get(number, str(number))
    if name in ("STRING", "UNDEFINED", "FLOAT8E8M0") or number not in names:
        raise NeuronError("NCC_ESPP004", f"data type {name} is not supported")
    try:
        return element_type(np.dtype(tensor_dtype_to_np_dtype(number)))
    except (KeyError, TypeError) as error:
        raise NeuronError("NCC_ESPP004", f"data type {name} is not supported") from error

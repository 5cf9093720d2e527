"""The context of a function that imports an op: operands, attributes, and the builder."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue

from neuronir.dialects.hlo.attributes import I64Array, i64_array, tuple_type
from neuronir.dialects.support.npz import Array
from neuronir.frontends.graph.block import BlockBuilder
from neuronir.frontends.stablehlo.reader import Reader
from neuronir.frontends.stablehlo.records import Body, Dense, Function, Module, Statement
from neuronir.frontends.stablehlo.scope import Scope

T = TypeVar("T")
_NO_DEFAULT: Any = object()


class RegionBuilder(ABC):
    """Builds values, functions and regions for ops; `reader` shows errors in the text."""

    reader: Reader
    record: Module

    @abstractmethod
    def value(self, name: str, scope: Scope, op: Statement, b: BlockBuilder) -> SSAValue:
        """Return the value of a name; a constant from around the region is built again."""

    @abstractmethod
    def symbol(self, name: str, op: Statement) -> tuple[str, Function]:
        """Return the symbol and record of a function that is called."""

    @abstractmethod
    def region(self, body: Body, scope: Scope) -> Region:
        """Build an isolated region."""

    @abstractmethod
    def close(
        self, builder: BlockBuilder, body: Body, scope: Scope, more: Sequence[SSAValue] = ()
    ) -> Region:
        """Build the ops of a region on a block that has its arguments, and return the region.

        `more` values of the block are returned after those that the text returns.
        """

    @abstractmethod
    def inlined(
        self, body: Body, operands: Sequence[SSAValue], b: BlockBuilder, scope: Scope
    ) -> list[SSAValue]:
        """Build the ops of a region in place of its op, and return what it returns."""


@dataclass
class Context:
    """The op that an import rule translates, with its operands and the builder for its result."""

    importer: RegionBuilder
    op: Statement
    scope: Scope
    b: BlockBuilder
    operands: list[SSAValue]

    # --- errors

    def fail(self, message: str, code: str = "NIR_HLO007", help: str | None = None) -> NoReturn:
        """Raise an error at the op."""
        reader = self.importer.reader
        reader.fail(f"{self.op.name}: {message}", self.op.position, code=code, help=help)

    def need_operands(self, count: int) -> None:
        """Raise NIR_HLO010 if there is another number of operands."""
        if len(self.operands) != count:
            self.fail(f"takes {count} operands, {len(self.operands)} given", "NIR_HLO010")

    # --- attributes

    def _attribute(self, name: str, read: Callable[[Any], T], default: T) -> T:
        value = self.op.attributes.get(name, _NO_DEFAULT)
        if value is _NO_DEFAULT:
            if default is _NO_DEFAULT:
                self.fail(f"attribute '{name}' is missing")
            return default
        try:
            return read(value)
        except (TypeError, ValueError, KeyError):
            self.fail(f"malformed value of attribute '{name}'")

    def integer(self, name: str, default: int = _NO_DEFAULT) -> int:
        """Return an integer."""
        return self._attribute(name, _integer, default)

    def integers(self, name: str, default: Sequence[int] = _NO_DEFAULT) -> list[int]:
        """Return a list of integers, which may be a constant of rank 1."""
        return list(self._attribute(name, _integers, default))

    def rows(self, name: str, default: list[list[int]] = _NO_DEFAULT) -> list[list[int]]:
        """Return a list of lists, which may be a constant of rank 2."""
        return self._attribute(name, _rows, default)

    def word(self, name: str, default: str = _NO_DEFAULT) -> str:
        """Return an enumerator or a string."""
        return self._attribute(name, _string, default)

    def flag(self, name: str) -> bool:
        """Return whether an attribute is present and not false."""
        return bool(self.op.attributes.get(name, False))

    def fields(self, name: str) -> Mapping[str, Any]:
        """Return the fields of a structure; empty if it is absent."""
        return self._attribute(name, _mapping, {})

    def field(self, fields: Mapping[str, Any], name: str) -> I64Array:
        """Return the integers of a field of a structure; an empty list if it is absent."""
        try:
            return i64_array(_integers(fields.get(name, [])))
        except (TypeError, ValueError):
            self.fail(f"malformed value of '{name}'")

    # --- types

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Return the shape of an operand."""
        type_ = self.operands[index].type if index < len(self.operands) else None
        if not isinstance(type_, TensorType):
            self.fail(f"operand {index + 1} must be a tensor", "NIR_HLO010")
        return tuple(type_.get_shape())

    def result_type(self) -> TensorType[Attribute]:
        """Return the type of the only result, a tensor."""
        type_ = self.op.types[0] if len(self.op.types) == 1 else None
        if not isinstance(type_, TensorType):
            self.fail("the result must be a tensor", "NIR_HLO010")
        return type_

    # --- results

    def region(self, index: int) -> Region:
        """Build a region of the op."""
        if index >= len(self.op.bodies):
            self.fail(f"region {index + 1} is missing")
        return self.importer.region(self.op.bodies[index], self.scope)

    def emit(
        self,
        opcode: str,
        properties: Mapping[str, Attribute] | None = None,
        *,
        operands: Sequence[SSAValue] | None = None,
        regions: Sequence[Region] = (),
        attributes: Mapping[str, Attribute] | None = None,
    ) -> list[SSAValue]:
        """Build an hlo op with these result types; an op with several results returns a tuple."""
        given = self.operands if operands is None else operands
        types = self.op.types
        type_ = types[0] if len(types) == 1 else tuple_type(types)
        whole = self.b.emit(opcode, given, type_, properties, regions)
        if attributes and isinstance(whole.owner, Operation):
            whole.owner.attributes.update(attributes)
        if len(types) == 1:
            return [whole]
        return [self.b.tuple_element(whole, i) for i in range(len(types))]


def _integer(value: Any) -> int:
    if isinstance(value, Dense):
        return int(value.array.reshape(()))
    if not isinstance(value, int):
        raise TypeError
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError
    return int(value)


def _integers(value: Any) -> list[int]:
    if isinstance(value, Dense):
        return [int(n) for n in _whole(value).reshape(-1)]
    return [_integer(n) for n in _sequence(value)]


def _rows(value: Any) -> list[list[int]]:
    if isinstance(value, Dense):
        array = _whole(value)
        if array.ndim != 2:
            raise ValueError
        return [[int(n) for n in row] for row in array]
    return [_integers(row) for row in _sequence(value)]


def _whole(value: Dense) -> Array:
    return np.broadcast_to(value.array, value.type.get_shape())


def _sequence(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value

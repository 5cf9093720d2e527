"""Define the base class of NeuronIR ops, which are faster to create, read and copy than xDSL's.

`NeuronOp` overrides methods of xDSL's `Operation` for our dialects alone. Any xDSL tool can handle
these ops: they are `IRDLOperation`s, and their results are `OpResult`s. The saved calls are a tenth
of the time of a compile.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Attribute, Block, IRNode, Operation, OpResult, Region, SSAValue
from xdsl.ir.core import SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef

_SUFFIX = re.compile(r"(_\d+)$")  # which xDSL removes whenever a name is set
_NOTHING: Mapping[str, Attribute] = {}
_UNKNOWN = UnknownLoc()


class Result(OpResult):
    """A result of a NeuronIR op; its hash needs no Python call."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def replace_all_uses_with(self, value: SSAValue) -> None:
        """Replace all uses by `value`, which gets the name hint unless it has one."""
        if value is self:
            return
        use = self.first_use
        self.first_use = None
        while use is not None:
            following = use._next_use
            op, index = use._operation, use._index
            operands = list(op._operands)
            operands[index] = value
            _keep(op, operands)
            value.add_use(use)
            use = following
        if value._name is None and self._name is not None:
            value.name_hint = self._name

    def erase(self, safe_erase: bool = True) -> None:
        """Erase the value; raises ValueError if it has users and `safe_erase`."""
        if self.first_use is not None:
            super().erase(safe_erase)


class _Operands(SSAValues[SSAValue]):
    """The operands of an op; setting one of them changes the op."""

    op: Operation

    def __setitem__(self, index: int, operand: SSAValue) -> None:
        op = self.op
        operands = list(op._operands)
        use = op._operand_uses[index]
        operands[index].remove_use(use)
        operands[index] = operand
        operand.add_use(use)
        _keep(op, operands)


class _SingleOperands(_Operands):
    """Operands that are all declared individually, so slices are not needed."""

    # Without the test for a slice, so its type is wider than here.
    __getitem__ = tuple.__getitem__  # type: ignore[assignment]


class _SingleResults(SSAValues[OpResult]):
    """Results that are all declared individually."""

    # Without the test for a slice, so its type is wider than here.
    __getitem__ = tuple.__getitem__  # type: ignore[assignment]


_Defaults = list[tuple[str, Attribute]]


@dataclass(slots=True)
class _Kind:
    """The common data of the ops of a class."""

    operands: type[_Operands]
    results: type[SSAValues[OpResult]]
    properties: _Defaults
    attributes: _Defaults


_kinds: dict[type[Operation], _Kind] = {}


def _kind_of(class_: "type[NeuronOp]") -> _Kind:
    kind = _kinds.get(class_)
    if kind is None:
        definition = class_.get_irdl_definition()
        kind = _kinds[class_] = _Kind(
            _Operands if _any_variadic(definition.operands) else _SingleOperands,
            SSAValues if _any_variadic(definition.results) else _SingleResults,
            _with_default(definition.properties),
            _with_default(definition.attributes),
        )
    return kind


def _any_variadic(defs: Iterable[tuple[str, object]]) -> bool:
    return any(isinstance(definition, VariadicDef) for _, definition in defs)


def _with_default(defs: Mapping[str, Any]) -> _Defaults:
    return [
        (name, d.default_value)
        for name, d in defs.items()
        if not isinstance(d, OptionalDef) and d.default_value is not None
    ]


def _keep(op: Operation, operands: Iterable[SSAValue]) -> None:
    """Store the operands of an op whose uses are already correct."""
    if isinstance(op, NeuronOp):
        kept = op._operands = _kind_of(type(op)).operands(operands)
        kept.op = op
    else:
        op._operands = SSAValues(operands)


def _read(op: "NeuronOp", operands: Iterable[SSAValue]) -> None:
    """Set the operands of an op that has none."""
    kept = op._operands = _kind_of(type(op)).operands(operands)
    kept.op = op
    uses: list[Use] = []
    for index, operand in enumerate(kept):
        use = Use(op, index)
        operand.add_use(use)
        uses.append(use)
    op._operand_uses = tuple(uses)


def _set_operands(op: "NeuronOp", new: Sequence[SSAValue]) -> None:
    for operand, use in zip(op._operands, op._operand_uses, strict=True):
        operand.remove_use(use)
    _read(op, new)


class NeuronOp(IRDLOperation):
    """Base of the ops of our dialects."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    if not TYPE_CHECKING:  # a checker sees xDSL's property: the same, by a call for every access
        operands = property(
            attrgetter("_operands"), _set_operands, doc="The operands; may be assigned to."
        )

    @property
    def operand_types(self) -> Sequence[Attribute]:
        """The types of the operands, in order."""
        return tuple([operand._type for operand in self._operands])

    @property
    def result_types(self) -> Sequence[Attribute]:
        """The types of the results, in order."""
        return tuple([result._type for result in self.results])

    @classmethod
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] = _NOTHING,
        attributes: Mapping[str, Attribute] = _NOTHING,
        location: LocationAttr | None = None,
        successors: Sequence[Block] = (),
        regions: Sequence[Region] = (),
    ) -> Self:
        """Create an op without checking the arguments; absent properties get their defaults."""
        op = cls.__new__(cls)
        if operands:
            _read(op, operands)
        kind = _kind_of(cls)
        if result_types:
            results = [Result(type_, op, i) for i, type_ in enumerate(result_types)]
            op.results = kind.results(results)
        op.properties = dict(properties)
        op.attributes = dict(attributes)
        op.location = _UNKNOWN if location is None else location
        if successors:
            op.successors = successors
        for region in regions:
            op.add_region(region)
        op.__post_init__()
        return op

    def __post_init__(self) -> None:
        kind = _kind_of(type(self))
        for name, value in kind.properties:
            self.properties.setdefault(name, value)
        for name, value in kind.attributes:
            self.attributes.setdefault(name, value)
        Operation.__post_init__(self)  # by name: xDSL's builders put another one in its place

    def is_ancestor(self, op: IRNode) -> bool:
        """Return whether `op` is this op, or in one of its regions."""
        return super().is_ancestor(op) if self.regions else op is self

    def clone_without_regions(
        self,
        value_mapper: dict[SSAValue, SSAValue] | None = None,
        block_mapper: dict[Block, Block] | None = None,
        *,
        clone_name_hints: bool = True,
        clone_operands: bool = True,
    ) -> Self:
        """Return a copy with empty regions; `value_mapper` maps results to those of the copy."""
        values: dict[SSAValue, SSAValue] = {} if value_mapper is None else value_mapper
        blocks: dict[Block, Block] = {} if block_mapper is None else block_mapper
        copy = self.create(
            operands=[values.get(v, v) for v in self._operands] if clone_operands else (),
            result_types=[result._type for result in self.results],
            properties=self.properties,
            attributes=self.attributes,
            location=self.location,
            successors=[blocks.get(block, block) for block in self._successors],
            regions=[Region() for _ in self.regions],
        )
        for old, new in zip(self.results, copy.results, strict=True):
            values[old] = new
            if clone_name_hints and old._name is not None:
                suffix = _SUFFIX.search(old._name) if "_" in old._name else None
                new._name = old._name[: suffix.start()] if suffix else old._name
        return copy

    def clone(
        self,
        value_mapper: dict[SSAValue, SSAValue] | None = None,
        block_mapper: dict[Block, Block] | None = None,
        *,
        clone_name_hints: bool = True,
        clone_operands: bool = True,
    ) -> Self:
        """Return a copy with the regions and their contents."""
        if self.regions:
            return super().clone(
                value_mapper,
                block_mapper,
                clone_name_hints=clone_name_hints,
                clone_operands=clone_operands,
            )
        return self.clone_without_regions(
            value_mapper,
            block_mapper,
            clone_name_hints=clone_name_hints,
            clone_operands=clone_operands,
        )

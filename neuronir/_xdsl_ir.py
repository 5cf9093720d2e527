"""xDSL's IR where passes spend their time: making ops, walking blocks, replacing values, hashing.

Each function here does what xDSL's own of the same name does, in fewer calls. The operands of an op
are kept as what `op.operands` gives, so it need not be made. This file reaches into xDSL like
_xdsl.py.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Attribute, Block, BlockOps, Operation, OpResult, Region, SSAValue
from xdsl.ir.core import SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef

_SUFFIX = re.compile(r"(_\d+)$")  # which xDSL takes off a name each time it is set
_NOTHING: Mapping[str, Attribute] = {}
_UNKNOWN = UnknownLoc()


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
    """Operands that are all defined one by one: nobody takes a part of them for its types."""

    # Leaves out the test for a slice, so that its type is wider than here.
    __getitem__ = tuple.__getitem__  # type: ignore[assignment]


class _SingleResults(SSAValues[OpResult]):
    """Results that are all defined one by one."""

    # Leaves out the test for a slice, so that its type is wider than here.
    __getitem__ = tuple.__getitem__  # type: ignore[assignment]


_Defaults = list[tuple[str, Attribute]]


@dataclass(slots=True)
class _Kind:
    """What the ops of a class have in common."""

    operands: type[_Operands]
    results: type[SSAValues[OpResult]]
    properties: _Defaults
    attributes: _Defaults


_kinds: dict[type[Operation], _Kind] = {}


def _kind_of(class_: type[Operation]) -> _Kind:
    kind = _kinds.get(class_)
    if kind is None:
        if issubclass(class_, IRDLOperation):
            definition = class_.get_irdl_definition()
            kind = _Kind(
                _Operands if _any_variadic(definition.operands) else _SingleOperands,
                SSAValues if _any_variadic(definition.results) else _SingleResults,
                _with_default(definition.properties),
                _with_default(definition.attributes),
            )
        else:
            kind = _Kind(_Operands, SSAValues, [], [])
        _kinds[class_] = kind
    return kind


def _any_variadic(defs: Iterable[tuple[str, object]]) -> bool:
    return any(isinstance(definition, VariadicDef) for _, definition in defs)


def _with_default(defs: Mapping[str, Any]) -> _Defaults:
    return [
        (name, d.default_value)
        for name, d in defs.items()
        if not isinstance(d, OptionalDef) and d.default_value is not None
    ]


def _init(
    self: Operation,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NOTHING,
    attributes: Mapping[str, Attribute] = _NOTHING,
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    if operands:
        _read(self, operands)
    if result_types:
        results = [OpResult(type_, self, i) for i, type_ in enumerate(result_types)]
        self.results = _kind_of(type(self)).results(results)
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = _UNKNOWN if location is None else location
    if successors:
        self.successors = successors
    for region in regions:
        self.add_region(region)
    self.__post_init__()


def _keep(op: Operation, operands: Iterable[SSAValue]) -> None:
    kept = op._operands = _kind_of(type(op)).operands(operands)
    kept.op = op


def _read(op: Operation, operands: Iterable[SSAValue]) -> None:
    """Let an op without operands read these."""
    _keep(op, operands)
    uses: list[Use] = []
    for index, operand in enumerate(op._operands):
        use = Use(op, index)
        operand.add_use(use)
        uses.append(use)
    op._operand_uses = tuple(uses)


def _set_operands(self: Operation, new: Sequence[SSAValue]) -> None:
    for operand, use in zip(self._operands, self._operand_uses, strict=True):
        operand.remove_use(use)
    _read(self, new)


def _set_defaults(self: IRDLOperation) -> None:
    kind = _kind_of(type(self))
    for name, value in kind.properties:
        self.properties.setdefault(name, value)
    for name, value in kind.attributes:
        self.attributes.setdefault(name, value)
    Operation.__post_init__(self)  # by name: xDSL's builders put another one in its place


def _attach_op(self: Block, operation: Operation) -> None:
    if operation.parent is not None:
        raise ValueError("Can't add to a block an operation already attached to a block.")
    if operation.regions and operation.is_ancestor(self):
        raise ValueError("Can't add an operation to a block contained in the operation.")
    operation.parent = self


def _ops(self: BlockOps) -> Iterator[Operation]:
    op = self.block._first_op
    while op is not None:
        following = op._next_op
        yield op
        op = following


def _replace_all_uses_with(self: SSAValue, value: SSAValue) -> None:
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


_erase = SSAValue.erase


def _erase_value(self: SSAValue, safe_erase: bool = True) -> None:
    if self.first_use is not None:
        _erase(self, safe_erase)


def _clone_without_regions(
    self: Operation,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    *,
    clone_name_hints: bool = True,
    clone_operands: bool = True,
) -> Operation:
    values: dict[SSAValue, SSAValue] = {} if value_mapper is None else value_mapper
    blocks: dict[Block, Block] = {} if block_mapper is None else block_mapper
    cloned = self.create(
        operands=[values.get(v, v) for v in self._operands] if clone_operands else (),
        result_types=[result.type for result in self.results],
        properties=self.properties,
        attributes=self.attributes,
        location=self.location,
        successors=[blocks.get(block, block) for block in self._successors],
        regions=[Region() for _ in self.regions],
    )
    for old, new in zip(self.results, cloned.results, strict=True):
        values[old] = new
        if clone_name_hints and old._name is not None:
            suffix = _SUFFIX.search(old._name) if "_" in old._name else None
            new._name = old._name[: suffix.start()] if suffix else old._name
    return cloned


_clone_with_regions = Operation.clone


def _clone(
    self: Operation,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    **more: bool,
) -> Operation:
    clone = _clone_with_regions if self.regions else _clone_without_regions
    return clone(self, value_mapper, block_mapper, **more)


_clone_region = Region.clone


def _reads_ahead(block: Block) -> bool:
    """Whether an op of a block, or one inside of it, reads what a later op of the block makes."""
    made: set[SSAValue] = set()
    for op in block.ops:
        for reader in op.walk():
            for value in reader._operands:
                owner = value.owner
                if value not in made and isinstance(owner, Operation) and owner.parent is block:
                    return True
        made.update(op.results)
    return False


def _clone_body(self: Region) -> Region:
    """Of a region with one block, whose ops read only what is made before them: as xDSL does, but
    each op is made with its operands."""
    block = self.blocks.first
    if block is None or block is not self.blocks.last or _reads_ahead(block):
        return _clone_region(self)
    copy = Block(arg_types=[argument.type for argument in block.args])
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, copy.args, strict=True))
    for old, new in zip(block.args, copy.args, strict=True):
        new.location = old.location
        new.name_hint = old.name_hint
    for op in block.ops:
        copy.add_op(op.clone(values, {block: copy}))
    return Region(copy)


_walk_otherwise = Operation.walk


def _walk(
    self: Operation, *, reverse: bool = False, region_first: bool = False
) -> Iterator[Operation]:
    if reverse or region_first:
        yield from _walk_otherwise(self, reverse=reverse, region_first=region_first)
        return
    yield self
    if self.regions:
        yield from _walk_below(self)


def _walk_below(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner
                if inner.regions:
                    yield from _walk_below(inner)


def _operand_types(self: Operation) -> Sequence[Attribute]:
    return tuple([operand._type for operand in self._operands])


def _result_types(self: Operation) -> Sequence[Attribute]:
    return tuple([result._type for result in self.results])


# A type checker refuses that a method or property of a class is replaced, which is meant here; the
# tests hold each one to what xDSL's own does (tests/unit/test_xdsl_ir.py).
Operation.__init__ = _init  # type: ignore[method-assign]
Operation.operands = property(  # type: ignore[method-assign, assignment]
    attrgetter("_operands"), _set_operands, doc=Operation.operands.__doc__
)
Operation.walk = _walk  # type: ignore[method-assign]
Operation.operand_types = property(_operand_types)  # type: ignore[method-assign, assignment]
Operation.result_types = property(_result_types)  # type: ignore[method-assign, assignment]
Operation.clone_without_regions = _clone_without_regions  # type: ignore[method-assign, assignment]
Operation.clone = _clone  # type: ignore[method-assign, assignment]
Region.clone = _clone_body  # type: ignore[method-assign]
IRDLOperation.__post_init__ = _set_defaults  # type: ignore[method-assign]
Block._attach_op = _attach_op  # type: ignore[method-assign]
BlockOps.__iter__ = _ops  # type: ignore[method-assign]
SSAValue.replace_all_uses_with = _replace_all_uses_with  # type: ignore[method-assign]
SSAValue.erase = _erase_value  # type: ignore[method-assign]
for _class in (SSAValue, IRDLOperation):  # by identity, as there, but without a call
    _class.__hash__ = object.__hash__  # type: ignore[method-assign]
    _class.__eq__ = object.__eq__  # type: ignore[method-assign]

"""xDSL's IR where passes spend their time: making ops, walking blocks, replacing values, hashing.

Each function here does what xDSL's own of the same name does, in fewer calls. This file reaches
into xDSL like _xdsl.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Attribute, Block, BlockOps, Operation, OpResult, Region, SSAValue
from xdsl.ir.core import OpOperands, SSAValues, Use
from xdsl.irdl import IRDLOperation, OptionalDef

_NOTHING: Mapping[str, Attribute] = {}
_UNKNOWN = UnknownLoc()


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
        self.results = SSAValues([OpResult(t, self, i) for i, t in enumerate(result_types)])
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = _UNKNOWN if location is None else location
    if successors:
        self.successors = successors
    for region in regions:
        self.add_region(region)
    self.__post_init__()


def _read(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Let an op without operands read these."""
    op._operands = SSAValues(operands)
    uses: list[Use] = []
    for index, operand in enumerate(op._operands):
        use = Use(op, index)
        operand.add_use(use)
        uses.append(use)
    op._operand_uses = tuple(uses)


def _set_operands(self: Operation, new: Sequence[SSAValue]) -> None:
    new = tuple(new)  # it may be a view of what goes now
    for operand, use in zip(self._operands, self._operand_uses, strict=True):
        operand.remove_use(use)
    _read(self, new)


_Defaults = list[tuple[str, Attribute]]
_defaults: dict[type[Operation], tuple[_Defaults, _Defaults]] = {}


def _set_defaults(self: IRDLOperation) -> None:
    known = _defaults.get(type(self))
    if known is None:
        definition = self.get_irdl_definition()
        known = _defaults[type(self)] = (
            _with_default(definition.properties),
            _with_default(definition.attributes),
        )
    for given, wanted in zip((self.properties, self.attributes), known, strict=True):
        for name, value in wanted:
            given.setdefault(name, value)
    Operation.__post_init__(self)  # by name: xDSL's builders put another one in its place


def _with_default(defs: Mapping[str, Any]) -> _Defaults:
    return [
        (name, d.default_value)
        for name, d in defs.items()
        if not isinstance(d, OptionalDef) and d.default_value is not None
    ]


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
        operands = op._operands
        op._operands = SSAValues((*operands[:index], value, *operands[index + 1 :]))
        value.add_use(use)
        use = following
    if value._name is None and self._name is not None:
        value.name_hint = self._name


_erase = SSAValue.erase


def _erase_value(self: SSAValue, safe_erase: bool = True) -> None:
    if self.first_use is not None:
        _erase(self, safe_erase)


def _operand(self: OpOperands, index: Any) -> Any:
    operands = self._op._operands
    return operands[index] if type(index) is slice else tuple.__getitem__(operands, index)


def _value(self: SSAValues[SSAValue], index: Any) -> Any:
    found = tuple.__getitem__(self, index)
    return SSAValues(found) if type(index) is slice else found


Operation.__init__ = _init  # type: ignore[method-assign]
Operation.operands = property(OpOperands, _set_operands)  # type: ignore[method-assign, assignment]
IRDLOperation.__post_init__ = _set_defaults  # type: ignore[method-assign]
Block._attach_op = _attach_op  # type: ignore[method-assign]
BlockOps.__iter__ = _ops  # type: ignore[method-assign]
SSAValue.replace_all_uses_with = _replace_all_uses_with  # type: ignore[method-assign]
SSAValue.erase = _erase_value  # type: ignore[method-assign]
OpOperands.__getitem__ = _operand  # type: ignore[method-assign]
SSAValues.__getitem__ = _value  # type: ignore[method-assign, assignment]
for _class in (SSAValue, IRDLOperation):  # by identity, as there, but without a call
    _class.__hash__ = object.__hash__  # type: ignore[method-assign]
    _class.__eq__ = object.__eq__  # type: ignore[method-assign]

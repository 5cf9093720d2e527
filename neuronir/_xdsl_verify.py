"""Speed up xDSL's check of an op against its definition: most ops are valid.

For each op class a plan is built once: the classes that its operands, results and properties must
have. An op that matches the plan is valid. For any other op, xDSL's own verifier decides and words
the message. Only NeuronIR's dialects have plans.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from struct import Struct
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i32
from xdsl.ir import Attribute, ErasedSSAValue, Operation, OpResult, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    BaseAttr,
    OpDef,
    OptAttributeDef,
    OptionalDef,
    OptPropertyDef,
    RangeOf,
    RegionDef,
    SingleBlockRegionDef,
    SingleOf,
    VariadicDef,
)
from xdsl.irdl.constraints import (
    AnyRange,
    EqIntConstraint,
    RangeLengthConstraint,
    VerificationContext,
)
from xdsl.traits import IsolatedFromAbove, OpTrait
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.support.ops import NeuronOp
from neuronir.dialects.support.walking import ops_of

_ONE = EqIntConstraint(1)
_Class = type | tuple[type, ...] | None
"""The required class of an attribute, or the classes; None if only xDSL can decide."""


def _class_of(constraint: object) -> _Class:
    if isinstance(constraint, (AnyAttr, AnyRange)):
        return Attribute
    if isinstance(constraint, RangeLengthConstraint):  # the definition of a single value
        return _class_of(constraint.constraint) if constraint.length == _ONE else None
    if isinstance(constraint, (SingleOf, RangeOf)):
        return _class_of(constraint.constr)
    if isinstance(constraint, AnyOf):
        classes = [_class_of(c) for c in constraint.attr_constrs]
        known = tuple(c for c in classes if isinstance(c, type))
        return known if len(known) == len(classes) else None
    if isinstance(constraint, BaseAttr):
        return constraint.attr
    return getattr(constraint, "class_in_plans", None)


@dataclass(slots=True)
class _Values:
    """Operands or results: the class of each definition's types, and their number."""

    classes: list[type | tuple[type, ...]]
    single: list[bool]
    several: int  # number of variadic or optional definitions
    optional: bool  # whether variadic definitions are all present or all absent
    segments: str | None  # the property with the size of each definition
    one: bool  # whether all classes are equal

    @staticmethod
    def of(defs: Sequence[tuple[str, Any]], definition: OpDef, sized: type) -> "_Values | None":
        classes = [_class_of(d.constr) for _, d in defs]
        if any(c is None for c in classes):
            return None
        single = [not isinstance(d, VariadicDef) for _, d in defs]
        lengths = [isinstance(d.constr, RangeLengthConstraint) for _, d in defs]
        if any(length and not alone for length, alone in zip(lengths, single, strict=True)):
            return None
        option = next((o for o in definition.options if isinstance(o, sized)), None)
        segments = getattr(option, "attribute_name", None)
        if segments is not None and not getattr(option, "as_property", False):
            return None
        optional = [isinstance(d, OptionalDef) for _, d in defs]
        if segments is None and any(optional):
            return None
        if segments is not None and (any(optional) or any(single)):
            return None
        known = [c for c in classes if c is not None]
        one = len(set(known)) <= 1
        return _Values(known, single, single.count(False), any(optional), segments, one)

    def follow(self, op: Operation, values: Sequence[SSAValue]) -> bool:
        """Return whether these values match the definitions."""
        n, defined = len(values), len(self.classes)
        if self.segments is not None:
            sizes = op.properties.get(self.segments)
            if not isinstance(sizes, DenseArrayBase) or sizes.elt_type != i32:
                return False
            data = sizes.data.data
            if len(data) != 4 * defined:
                return False
            counts = _unpack(data)
            if sum(counts) != n or any(c < 0 for c in counts):
                return False
            at = 0
            for count, class_ in zip(counts, self.classes, strict=True):
                for value in values[at : at + count]:
                    if not isinstance(value.type, class_):
                        return False
                at += count
            return True
        if all(self.single):
            if n != defined:
                return False
            for value, class_ in zip(values, self.classes, strict=True):
                if not isinstance(value.type, class_):
                    return False
            return True
        # Variadic definitions have equal sizes.
        if n < defined - self.several or (n - defined) % self.several:
            return False
        class_ = self.classes[0]
        if self.one:
            return class_ is Attribute or all(isinstance(v.type, class_) for v in values)
        each = (n - defined) // self.several + 1
        expected = (
            class_
            for class_, single in zip(self.classes, self.single, strict=True)
            for _ in range(1 if single else each)
        )
        return all(isinstance(v.type, c) for v, c in zip(values, expected, strict=True))


_STRUCTS: dict[int, Struct] = {}


def _unpack(data: bytes) -> tuple[int, ...]:
    struct = _STRUCTS.get(len(data))
    if struct is None:
        struct = _STRUCTS[len(data)] = Struct(f"<{len(data) // 4}i")
    return struct.unpack(data)


@dataclass(slots=True)
class _Entry:
    """A property or attribute."""

    name: str
    class_: _Class
    constraint: Any
    optional: bool


def _entries(defs: Mapping[str, Any]) -> list[_Entry]:
    return [
        _Entry(
            name, _class_of(d.constr), d.constr, isinstance(d, (OptPropertyDef, OptAttributeDef))
        )
        for name, d in defs.items()
    ]


class _Plan:
    """The plan of one op class."""

    def __init__(self, definition: OpDef) -> None:
        self.slow = definition.verify
        self.operands = _Values.of(definition.operands, definition, AttrSizedOperandSegments)
        self.results = _Values.of(definition.results, definition, AttrSizedResultSegments)
        self.planned = not definition.successors and all(_is_body(d) for _, d in definition.regions)
        self.bodies = len(definition.regions)
        self.properties = _entries(definition.properties)
        self.names = frozenset(definition.properties)
        self.attributes = _entries(definition.attributes)
        self.traits = [t for t in definition.traits.traits if type(t).verify is not OpTrait.verify]

    def __call__(self, op: Operation) -> None:
        if not self.follow(op):
            self.slow(op)

    def follow(self, op: Operation) -> bool:
        """Return whether the op is certainly valid."""
        operands, results = self.operands, self.results
        if not self.planned or operands is None or results is None or op.successors:
            return False
        if len(op.regions) != self.bodies or not all(_has_one_block(r) for r in op.regions):
            return False
        if not operands.follow(op, tuple(op.operands)) or not results.follow(op, op.results):
            return False
        if not _hold(self.properties, op.properties) or not self.names.issuperset(op.properties):
            return False
        if self.attributes and not _hold(self.attributes, op.attributes):
            return False
        for trait in self.traits:
            if isinstance(trait, IsolatedFromAbove):
                _isolated(trait, op)
            else:
                trait.verify(op)
        return True


def _is_body(definition: RegionDef) -> bool:
    """Return whether any single block is valid for a region."""
    return type(definition) is SingleBlockRegionDef and (
        _class_of(definition.entry_args) is Attribute
    )


def _has_one_block(region: Region) -> bool:
    first = region.blocks.first
    return first is not None and first is region.blocks.last


def _hold(entries: Sequence[_Entry], given: Mapping[str, Attribute]) -> bool:
    for entry in entries:
        attr = given.get(entry.name)
        if attr is None:
            if not entry.optional:
                return False
        elif entry.class_ is not None:
            if not isinstance(attr, entry.class_):
                return False
        else:
            try:
                entry.constraint.verify(attr, VerificationContext())
            except VerifyException:
                return False
    return True


def _isolated(trait: IsolatedFromAbove, op: Operation) -> None:
    """Verify that no op in `op` reads an outer value.

    xDSL checks for each operand whether `op` is among the ancestors of its owner.
    """
    inside: set[int] = set()  # blocks that have been visited, or are open
    regions = list(op.regions)
    while regions:
        region = regions.pop()
        inside.update(id(block) for block in region.blocks)
        for block in region.blocks:
            for child in ops_of(block):
                for operand in child._operands:
                    owner = operand.op.parent if isinstance(operand, OpResult) else operand.owner
                    if id(owner) not in inside:
                        trait.verify(op)
                        return
                if child.regions and not child.has_trait(IsolatedFromAbove):
                    regions += child.regions


_planned: set[type[Operation]] = set()


def plan_verifier(class_: type[Operation]) -> None:
    """Verify the ops of a NeuronIR class with a plan from now on; ignore other classes."""
    if class_ in _planned:
        return
    _planned.add(class_)
    if not issubclass(class_, NeuronOp):
        return
    definition: Any = class_.get_irdl_definition()
    constraints = [d.constr for _, d in (*definition.operands, *definition.results)]
    named = [d.constr for d in (*definition.properties.values(), *definition.attributes.values())]
    if all(not c.variables() for c in (*constraints, *named)):  # otherwise one depends on another
        # xDSL's class for a definition calls its `verify`.
        definition.verify = _Plan(definition)


_type_of = attrgetter("_type")
_Key = tuple[object, ...]


class Verified:
    """The ops that were found valid, by their types and properties.

    One record may serve several verifications: an op that a pass did not change, or that equals
    another one, is not verified again. Types and properties are immutable, and are kept alive here,
    so that their identities stay unique.
    """

    __slots__ = ("right",)
    LIMIT = 1 << 17

    def __init__(self) -> None:
        self.right: dict[_Key, tuple[object, ...]] = {}

    def add(self, keys: tuple[_Key, _Key], op: Operation) -> None:
        """Record that an op with these keys is valid."""
        if len(self.right) >= self.LIMIT:
            self.right.clear()
        types = map(_type_of, (*op._operands, *op.results))
        self.right[keys[0]] = (*types, *op.properties.values())
        self.right[keys[1]] = ()


def keys_of(op: Operation) -> tuple[_Key, _Key] | None:
    """Return the keys of a verification that only depends on types and properties.

    Two ops with the same first key are both valid or both invalid, apart from the properties that
    are judged apart: the second key has those.
    """
    operands = op._operands
    if ErasedSSAValue in map(type, operands):
        return None
    apart: Collection[str] = getattr(op, "JUDGED_APART", ())
    rest: list[object] = [type(op)]
    properties: list[object] = []
    for name, value in op.properties.items():
        if name in apart:
            rest += (name, value.data if type(value) is StringAttr else type(value))
        else:
            properties += (name, id(value))
    types = *map(id, map(_type_of, operands)), None, *map(id, map(_type_of, op.results))
    return (type(op), *types, *properties), tuple(rest)

"""Verify the structure of nc instructions: operands, memories, engines and bounds."""

from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.nc.attributes import Pattern, PatternAttr, SpaceAttr
from neuronir.dialects.nc.enums import DType, Engine
from neuronir.dialects.nc.opcodes import OpSpec
from neuronir.dialects.nc.parameters import verify_parameters
from neuronir.dialects.support.identity import by_identity


def verify_instruction(op: Operation, spec: OpSpec, count: int) -> None:
    """Raise VerifyException if an instruction violates a rule of its row of the opcode table.

    The first `count` operands are buffers.
    """
    roles = spec.dst + spec.src
    properties = op.properties
    patterns = cast(ArrayAttr[Attribute], properties["patterns"]).data
    if len(patterns) != len(roles):
        raise VerifyException(f"has {len(patterns)} operands for the roles {', '.join(roles)}")
    operands = tuple(op.operands)
    used = 0
    for role, attr in zip(roles, patterns, strict=True):
        if isinstance(attr, PatternAttr):
            if used < count:
                _verify_pattern(role, attr.data, operands[used].type)
            used += 1
        elif not role.endswith("?"):
            raise VerifyException(f"operand '{role}' is absent but is not optional")
    if used != count:
        raise VerifyException(f"has {used} access patterns for {count} buffers")
    verify_parameters(spec, cast(DictionaryAttr, properties["params"]))
    engine = properties.get("engine")
    if isinstance(engine, StringAttr):
        name = engine.data.upper()
        if name not in Engine.__members__ or Engine[name] not in spec.engines:
            allowed = ", ".join(e.name.lower() for e in spec.engines)
            raise VerifyException(f"does not run on '{engine.data}' but on {allowed}")
    trigger = properties.get("trigger")
    if isinstance(trigger, StringAttr):
        name = trigger.data.upper()
        if name not in Engine.__members__ or Engine[name] not in spec.triggers:
            if not spec.triggers:
                raise VerifyException("is not a transfer, so no engine can trigger it")
            allowed = ", ".join(e.name.lower() for e in spec.triggers)
            raise VerifyException(f"is not triggered by '{trigger.data}' but by {allowed}")


@by_identity
def _extents(type_: object) -> tuple[int, int] | None:
    """Return the partitions of a memref and the elements in each, (-1, -1) in HBM; None
    otherwise.
    """
    if not isinstance(type_, MemRefType) or not isinstance(type_.memory_space, SpaceAttr):
        return None
    if type_.memory_space.space.data == "hbm":
        return -1, -1
    partitions, *rest = type_.get_shape()
    return partitions, prod(rest)


def _verify_pattern(role: str, pattern: Pattern, type_: object) -> None:
    found = _extents(type_)
    if found is None:
        raise VerifyException(f"{_operand(role)} is not a memref with an nc.space")
    low = high = pattern.offset
    empty = pattern.partitions < 1
    for stride, n in pattern.free:
        empty = empty or n < 1
        if stride < 0:
            low += stride * (n - 1)
        else:
            high += stride * (n - 1)
    if empty:
        raise VerifyException(f"{_operand(role)} has an empty access pattern")
    if pattern.dtype and pattern.dtype.upper() not in DType.__members__:
        known = ", ".join(d.name.lower() for d in DType)
        raise VerifyException(f"{_operand(role)} is read as '{pattern.dtype}'; types are {known}")
    partitions, size = found
    if partitions < 0:
        return
    if pattern.start + pattern.partitions > partitions:
        raise VerifyException(
            f"{_operand(role)} touches partitions {pattern.start} to "
            f"{pattern.start + pattern.partitions - 1} of a buffer of {partitions}"
        )
    if not pattern.dtype and not pattern.terms and (low < 0 or high >= size):
        raise VerifyException(
            f"{_operand(role)} touches elements {low} to {high} of a buffer of {size} "
            "elements per partition"
        )


def _operand(role: str) -> str:
    return f"operand '{role.removesuffix('?')}'"

"""Structural rules of nc instructions: operands, memories, engines and bounds."""

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.nc.attributes import Pattern, PatternAttr, SpaceAttr
from neuronir.dialects.nc.enums import DType, Engine
from neuronir.dialects.nc.parameters import verify_parameters

if TYPE_CHECKING:
    from neuronir.dialects.nc.ops import InstructionOp


def verify_instruction(op: "InstructionOp") -> None:
    """Raise VerifyException where an instruction breaks a rule of the opcode table."""
    spec = op.spec
    roles = spec.dst + spec.src
    patterns = op.patterns.data
    if len(patterns) != len(roles):
        raise VerifyException(
            f"{op.name}: has {len(patterns)} operands, its roles are {', '.join(roles)}"
        )
    operands = tuple(op.operands)
    count = op.buffer_count
    used = 0
    for role, attr in zip(roles, patterns, strict=True):
        if isinstance(attr, PatternAttr):
            if used < count:
                _verify_pattern(op, role, attr.data, operands[used].type)
            used += 1
        elif not role.endswith("?"):
            raise VerifyException(f"{op.name}: operand '{role}' is absent but is not optional")
    if used != count:
        raise VerifyException(f"{op.name}: {used} access patterns for {count} buffers")
    verify_parameters(spec, op.params)
    engine = op.engine
    if isinstance(engine, StringAttr):
        name = engine.data.upper()
        if name not in Engine.__members__ or Engine[name] not in spec.engines:
            allowed = ", ".join(e.name.lower() for e in spec.engines)
            raise VerifyException(f"{op.name}: does not run on '{engine.data}' but on {allowed}")


def _verify_pattern(op: "InstructionOp", role: str, pattern: Pattern, type_: object) -> None:
    role = role.removesuffix("?")
    if not isinstance(type_, MemRefType) or not isinstance(type_.memory_space, SpaceAttr):
        raise VerifyException(f"{op.name}: operand '{role}' is not a memref with an nc.space")
    if pattern.partitions < 1 or any(size < 1 for _, size in pattern.free):
        raise VerifyException(f"{op.name}: operand '{role}' has an empty access pattern")
    if pattern.dtype and pattern.dtype.upper() not in DType.__members__:
        known = ", ".join(d.name.lower() for d in DType)
        raise VerifyException(
            f"{op.name}: operand '{role}' is read as '{pattern.dtype}'; types are {known}"
        )
    if type_.memory_space.space.data == "hbm":
        return
    shape = type_.get_shape()
    if pattern.start + pattern.partitions > shape[0]:
        raise VerifyException(
            f"{op.name}: operand '{role}' touches partitions {pattern.start} to "
            f"{pattern.start + pattern.partitions - 1} of a buffer of {shape[0]}"
        )
    if pattern.dtype or pattern.terms:
        return
    size = 1
    for extent in shape[1:]:
        size *= extent
    low = high = pattern.offset
    for stride, n in pattern.free:
        if stride < 0:
            low += stride * (n - 1)
        else:
            high += stride * (n - 1)
    if low < 0 or high >= size:
        raise VerifyException(
            f"{op.name}: operand '{role}' touches elements {low} to {high} of a buffer of {size} "
            "elements per partition"
        )

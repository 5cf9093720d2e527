"""Structural rules of nc instructions: operands, memories, engines and bounds."""

from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import MemRefType, StringAttr
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.nc.attributes import PatternAttr, SpaceAttr
from neuronir.dialects.nc.enums import Engine

if TYPE_CHECKING:
    from neuronir.dialects.nc.ops import InstructionOp


def verify_instruction(op: "InstructionOp") -> None:
    """Raise VerifyException where an instruction breaks a rule of the opcode table."""
    spec = op.spec
    roles = spec.dst + spec.src
    if len(op.patterns.data) != len(roles):
        raise VerifyException(
            f"{op.name}: has {len(op.patterns.data)} operands, its roles are {', '.join(roles)}"
        )
    used = 0
    for role, attr in zip(roles, op.patterns.data, strict=True):
        if isinstance(attr, PatternAttr):
            if used < len(op.buffers):
                _verify_pattern(op, role.rstrip("?"), attr, op.operands[used].type)
            used += 1
        elif not role.endswith("?"):
            raise VerifyException(f"{op.name}: operand '{role}' is absent but is not optional")
    if used != len(op.buffers):
        raise VerifyException(f"{op.name}: {used} access patterns for {len(op.buffers)} buffers")
    if isinstance(op.engine, StringAttr):
        name = op.engine.data.upper()
        if name not in Engine.__members__ or Engine[name] not in spec.engines:
            allowed = ", ".join(e.name.lower() for e in spec.engines)
            raise VerifyException(f"{op.name}: does not run on '{op.engine.data}' but on {allowed}")


def _verify_pattern(op: "InstructionOp", role: str, attr: PatternAttr, type_: object) -> None:
    pattern = attr.data
    if not isinstance(type_, MemRefType) or not isinstance(type_.memory_space, SpaceAttr):
        raise VerifyException(f"{op.name}: operand '{role}' is not a memref with an nc.space")
    shape = cast(MemRefType, type_).get_shape()
    if any(size < 1 for _, size in pattern.free) or pattern.partitions < 1:
        raise VerifyException(f"{op.name}: operand '{role}' has an empty access pattern")
    if type_.memory_space.space.data == "hbm":
        return
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
    low = pattern.offset + sum(min(0, s * (n - 1)) for s, n in pattern.free)
    high = pattern.offset + sum(max(0, s * (n - 1)) for s, n in pattern.free)
    if low < 0 or high >= size:
        raise VerifyException(
            f"{op.name}: operand '{role}' touches elements {low} to {high} of a buffer of {size} "
            "elements per partition"
        )

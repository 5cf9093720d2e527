"""Convert nc ops to instruction records, given buffer addresses and index values."""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.nc.attributes import Pattern, PatternAttr, SpaceAttr, UpdateAttr, WaitAttr
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    AccessPattern,
    Affine,
    Instruction,
    Update,
    Wait,
)
from neuronir.dialects.nc.ops import InstructionOp, View
from neuronir.dialects.support.identity import LIMIT, by_identity


def space_of(buffer: SSAValue) -> Space:
    """Return the memory of a buffer."""
    return cast(SpaceAttr, cast(MemRefType, buffer.type).memory_space).value


def dtype_seen(pattern: View | Pattern, buffer: SSAValue) -> DType:
    """Return the element type of an access: that of the pattern if set, else that of the buffer."""
    return DType[pattern.dtype.upper()] if pattern.dtype else _kind_of(buffer.type)[1]


def partition_bytes(type_: MemRefType) -> int:
    """Return the bytes per partition of an SBUF or PSUM buffer (its first dimension is
    partitions).
    """
    size = dtype_of(type_.element_type).size
    for extent in type_.get_shape()[1:]:
        size *= extent
    return size


def _absolute(
    pattern: View | Pattern,
    buffer: SSAValue,
    addresses: Mapping[SSAValue, int],
    symbols: Mapping[SSAValue, int],
    terms: Sequence[tuple[int, int]],
) -> AccessPattern:
    """Return the access of a pattern in a buffer; `terms` (symbol, elements) shift it."""
    space, _ = _kind_of(buffer.type)
    dtype = dtype_seen(pattern, buffer)
    size = dtype.size
    base = addresses.get(buffer)
    moves: tuple[tuple[int, int], ...] = ()
    if terms or base is None:
        total: dict[int, int] = {}
        for symbol, coefficient in terms:
            total[symbol] = total.get(symbol, 0) + coefficient * size
        if base is None:
            base = 0
            total[symbols[buffer]] = 1
        moves = tuple(sorted(total.items()))
    return AccessPattern(
        space,
        dtype,
        Affine(base + pattern.offset * size, moves),
        pattern.start,
        pattern.partitions,
        pattern.free,
        pattern.partition_stride * size,
    )


@by_identity
def _kind_of(type_: Attribute) -> tuple[Space, DType]:
    """Return the memory and the data type of a memref type; raises KeyError if there is none."""
    assert isinstance(type_, MemRefType)
    return cast(SpaceAttr, type_.memory_space).value, dtype_of(type_.element_type)


def instruction_record(
    op: InstructionOp,
    addresses: Mapping[SSAValue, int],
    symbols: Mapping[SSAValue, int],
    source: int = 0,
) -> Instruction:
    """Return the record of `op`; an op without an engine gets the first engine of its row."""
    spec = op.spec
    n_dst = len(spec.dst)
    properties = op.properties
    operands = op._operands
    index_values = operands[op.buffer_count :]
    patterns: list[AccessPattern | None] = []
    used = 0
    for attr in cast(ArrayAttr[Attribute], properties["patterns"]).data:
        if not isinstance(attr, PatternAttr):
            patterns.append(None)
            continue
        buffer, pattern = operands[used], attr.data
        used += 1
        if pattern.terms:
            terms = [(symbols[index_values[i]], c) for i, c in pattern.terms]
            patterns.append(_absolute(pattern, buffer, addresses, symbols, terms))
            continue
        base = addresses.get(buffer)
        if base is None:
            patterns.append(_absolute(pattern, buffer, addresses, symbols, ()))
        else:
            patterns.append(_fixed(attr, buffer, base, addresses, symbols))
    name = properties.get("engine")
    engine = spec.engines[0] if name is None else _engine(name)
    by = properties.get("trigger")
    trigger = spec.trigger if by is None else _engine(by)
    waits: tuple[Wait, ...] = ()
    updates: tuple[Update, ...] = ()
    awaited, updated = properties.get("waits"), properties.get("updates")
    if awaited is not None:
        waits = tuple(
            Wait(
                w.semaphore,
                Affine(w.const, tuple((symbols[index_values[i]], c) for i, c in w.terms)),
            )
            for w in (cast(WaitAttr, a).data for a in cast(ArrayAttr[Attribute], awaited).data)
        )
    if updated is not None:
        updates = tuple(
            Update(u.semaphore, u.amount)
            for u in (cast(UpdateAttr, a).data for a in cast(ArrayAttr[Attribute], updated).data)
        )
    return Instruction(
        spec.name,
        engine,
        tuple(patterns[:n_dst]),
        tuple(patterns[n_dst:]),
        op.param_values(),
        waits,
        updates,
        source,
        trigger,
    )


_FIXED: dict[tuple[int, int, int], tuple[PatternAttr, Attribute, AccessPattern]] = {}
"""Accesses at constant addresses, by the identities of pattern and buffer type and the address of
the buffer. The entries keep both objects alive."""


def _fixed(
    attr: PatternAttr,
    buffer: SSAValue,
    base: int,
    addresses: Mapping[SSAValue, int],
    symbols: Mapping[SSAValue, int],
) -> AccessPattern:
    """Return the access of a pattern without indices in a buffer at address `base`.

    Passes and checks read the same instructions many times; the same object is returned each time.
    """
    type_ = buffer.type
    key = (id(attr), id(type_), base)
    found = _FIXED.get(key)
    if found is None:
        if len(_FIXED) >= LIMIT:
            _FIXED.clear()
        access = _absolute(attr.data, buffer, addresses, symbols, ())
        found = _FIXED[key] = (attr, type_, access)
    return found[2]


@by_identity
def _engine(name: Attribute) -> Engine:
    """Return the engine with a name."""
    return Engine[cast(StringAttr, name).data.upper()]


class _Nowhere(dict[SSAValue, int]):
    """Supply dummy addresses and index values, for uses that depend on neither."""

    def __missing__(self, key: SSAValue) -> int:
        return 0


_NOWHERE = _Nowhere()


def shape_record(op: InstructionOp) -> Instruction:
    """Return the record of `op` for costs and machine rules, without addresses and indices."""
    return instruction_record(op, _NOWHERE, _NOWHERE)

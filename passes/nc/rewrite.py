"""Copy instructions with other buffers and index values, and reorder blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import ArrayAttr, NoneAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.nc.attributes import Pattern, PatternAttr, number_of
from neuronir.dialects.nc.canonicalization import with_folded_indices
from neuronir.dialects.nc.ops import InstructionOp, View, build, segments_attr
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.walking import ops_of, walk_in
from neuronir.passes.nc.listing import Node
from neuronir.passes.nc.provenance import move_ahead


@dataclass(frozen=True, slots=True)
class Linear:
    """An index value in terms of another: `scale * value + const` (no value: the constant)."""

    value: SSAValue | None
    scale: int
    const: int


def copy_with(
    op: InstructionOp,
    buffers: Mapping[SSAValue, SSAValue],
    indices: Mapping[SSAValue, Linear],
) -> InstructionOp:
    """Copy `op` with other buffers and index values; unmapped ones are kept."""
    operands: list[SSAValue] = []
    values: list[SSAValue] = []
    patterns: list[Attribute] = []
    for view in op.views():
        if view is None:
            patterns.append(NoneAttr())
            continue
        operands.append(buffers.get(view.buffer, view.buffer))
        offset = view.offset
        terms: dict[int, int] = {}
        for value, coefficient in view.indices:
            new = indices.get(value)
            if new is None:
                number = number_of(values, value)
                terms[number] = terms.get(number, 0) + coefficient
                continue
            offset += coefficient * new.const
            if new.value is not None and new.scale:
                number = number_of(values, new.value)
                terms[number] = terms.get(number, 0) + coefficient * new.scale
        patterns.append(
            PatternAttr(
                Pattern(
                    view.start,
                    view.partitions,
                    view.free,
                    offset,
                    tuple(sorted(terms.items())),
                    view.partition_stride,
                    view.dtype,
                )
            )
        )
    copy = type(op).create(
        operands=[*operands, *values],
        properties={
            **op.properties,
            "patterns": ArrayAttr(patterns),
            "operandSegmentSizes": segments_attr(len(operands), len(values)),
        },
        result_types=[r.type for r in op.results],
        attributes=dict(op.attributes),
    )
    copy.location = op.location
    for result, made in zip(op.results, copy.results, strict=True):
        made.name_hint = result.name_hint
    for old, new in indices.items():
        if new.value is not None:
            move_ahead(copy, old, new.const)
    return copy


def with_views(op: InstructionOp, changed: Mapping[int, View]) -> InstructionOp:
    """Copy `op` with other operands in the roles `changed`."""
    views = [changed.get(role, view) for role, view in enumerate(op.views())]
    n = len(op.spec.dst)
    copy = build(type(op), views[:n], views[n:])
    for name in ("params", "engine", "trigger"):
        if name in op.properties:
            copy.properties[name] = op.properties[name]
    copy.attributes.update(op.attributes)
    copy.location = op.location
    return copy


def fold_constants(block: Block) -> None:
    """Fold constant index operands of instructions into their offsets, at any depth."""
    for op in list(walk_in(block)):
        if not isinstance(op, InstructionOp):
            continue
        copy, parent = with_folded_indices(op), op.parent
        if copy is not None and parent is not None:
            parent.insert_op_before(copy, op)
            for old, new in zip(op.results, copy.results, strict=True):
                old.replace_all_uses_with(new)
            op.detach()
            op.erase()


def hoist_buffers(block: Block) -> None:
    """Move allocations, addresses of variables and index constants to the top of the block."""
    kinds = (AllocOp, AddressOfOp, arith.ConstantOp)
    ops = list(ops_of(block))
    top = [op for op in ops if isinstance(op, kinds)]
    rest = [op for op in ops if not isinstance(op, kinds)]
    reorder(block, [*top, *rest])


def reorder(block: Block, ops: Sequence[Operation]) -> None:
    """Reorder a block to `ops`, which lists each of its ops once."""
    if all(a is b for a, b in zip(ops_of(block), ops, strict=True)):
        return
    for op in ops:
        op.detach()
    block.add_ops(ops)


def write_order(block: Block, order: Sequence[Node]) -> None:
    """Reorder the ops of a block, and of its loops, like the nodes."""
    kinds = (AllocOp, AddressOfOp, arith.ConstantOp)
    top = [op for op in ops_of(block) if isinstance(op, kinds)]
    last = block.last_op
    tail = [last] if last is not None else []
    for node in order:
        if isinstance(node.op, LoopOp):
            write_order(body_of(node.op), node.body)
    reorder(block, [*top, *(node.op for node in order), *tail])

"""Define the canonicalisation patterns of nc instructions, for xDSL's `canonicalize`.

The patterns hold in every phase. They neither move an instruction nor erase one that waits for a
semaphore or updates one.
"""

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from neuronir.dialects.nc.attributes import PatternAttr, WaitAttr
from neuronir.dialects.nc.counts import constant_of
from neuronir.dialects.nc.ops import InstructionOp, View, segments_attr
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp

_COPIES = {"nc.dma": 0, "nc.tensor_copy": 0, "nc.copy_predicated": 1}
"""Instructions that copy a source to their destination, and the number of that source."""

_Terms = tuple[tuple[int, int], ...]


class FoldConstantIndices(RewritePattern):
    """Fold constant index operands into the offsets of access patterns and waits."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter, /) -> None:
        """Replace an instruction that has a constant index operand."""
        if isinstance(op, InstructionOp):
            folded = with_folded_indices(op)
            if folded is not None:
                rewriter.replace(op, folded)


class EraseSelfCopy(RewritePattern):
    """Erase a copy whose source and destination are the same elements."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter, /) -> None:
        """Erase `op` if its destination already holds the values that it writes."""
        if not isinstance(op, InstructionOp) or op.name not in _COPIES or _signals(op):
            return
        accumulate = op.params.data.get("accumulate", StringAttr("bypass"))
        source, target = op.src_views()[_COPIES[op.name]], op.dst_views()[0]
        if source is None or target is None or accumulate != StringAttr("bypass"):
            return
        if _same_elements(source, target):
            rewriter.erase(op)


class EraseDeadWrite(RewritePattern):
    """Erase an instruction that only writes buffers that no op reads.

    A buffer with an address is kept, because its bytes may be read through another buffer.
    """

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter, /) -> None:
        """Erase `op` if its results are unused and nothing reads its destinations."""
        if not isinstance(op, InstructionOp) or _signals(op):
            return
        targets = [view.buffer for view in op.dst_views() if view is not None]
        if not targets and not op.results:
            return  # a barrier, or a load of a register that is named by its number
        if any(result.uses for result in op.results):
            return
        if all(map(_is_never_read, targets)):
            rewriter.erase(op)


PATTERNS: tuple[RewritePattern, ...] = (FoldConstantIndices(), EraseSelfCopy(), EraseDeadWrite())


def with_folded_indices(op: InstructionOp) -> InstructionOp | None:
    """Return a copy of `op` without its constant index operands; None if it has none."""
    n, indices = op.buffer_count, op.index_values()
    known = {i: value for i, v in enumerate(indices) if (value := constant_of(v)) is not None}
    if not known:
        return None
    kept = [i for i in range(len(indices)) if i not in known]
    numbers = {old: new for new, old in enumerate(kept)}
    properties = dict(op.properties)
    properties["operandSegmentSizes"] = segments_attr(n, len(kept))
    for name in ("patterns", "waits"):
        entries = properties.get(name)
        if isinstance(entries, ArrayAttr):
            properties[name] = ArrayAttr([_with_known(a, known, numbers) for a in entries.data])
    copy = type(op).create(
        operands=[*op.operands[:n], *(indices[i] for i in kept)],
        result_types=[result.type for result in op.results],
        properties=properties,
        attributes=op.attributes,
        location=op.location,
    )
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
    return copy


def _with_known(attr: Attribute, known: Mapping[int, int], numbers: Mapping[int, int]) -> Attribute:
    """Return a pattern or a wait with the values of the known index operands added."""
    if isinstance(attr, PatternAttr):
        add, terms = _split(attr.data.terms, known, numbers)
        return PatternAttr(replace(attr.data, offset=attr.data.offset + add, terms=terms))
    if isinstance(attr, WaitAttr):
        add, terms = _split(attr.data.terms, known, numbers)
        return WaitAttr(replace(attr.data, const=attr.data.const + add, terms=terms))
    return attr


def _split(
    terms: _Terms, known: Mapping[int, int], numbers: Mapping[int, int]
) -> tuple[int, _Terms]:
    """Return the sum of the terms of known operands, and the other terms renumbered."""
    add = sum(known[i] * c for i, c in terms if i in known)
    return add, tuple((numbers[i], c) for i, c in terms if i not in known)


def _signals(op: InstructionOp) -> bool:
    """Return whether the instruction waits for a semaphore or updates one."""
    return bool(op.waits and op.waits.data) or bool(op.updates and op.updates.data)


def _same_elements(a: View, b: View) -> bool:
    """Return whether two views have the same elements of the same memory, in the same order."""
    return _memory(a.buffer) == _memory(b.buffer) and replace(a, buffer=b.buffer) == b


def _memory(buffer: SSAValue) -> object:
    """Return the buffer, or the name of the variable that it belongs to."""
    owner = buffer.owner
    return owner.variable if isinstance(owner, AddressOfOp) else buffer


def _is_never_read(buffer: SSAValue) -> bool:
    """Return whether instructions only write a buffer, which has no address yet."""
    owner = buffer.owner
    if not isinstance(owner, AllocOp) or owner.address is not None:
        return False
    return all(
        isinstance(use.operation, InstructionOp) and use.index < _targets(use.operation)
        for use in buffer.uses
    )


def _targets(op: InstructionOp) -> int:
    """Return the number of buffer operands that are destinations."""
    return sum(view is not None for view in op.dst_views())

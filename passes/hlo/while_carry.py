"""Analyse and shrink the tuple that a while loop carries."""

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue

from neuronir.passes.hlo.support.build import OP_CLASSES, Emitter
from neuronir.passes.hlo.support.values import integer
from neuronir.passes.hlo.support.walk import erase_dead

GTE = "hlo.get_tuple_element"
COUNTER = "hlo.counter"
"""Attribute of a loop with a counter: [carried element, start, step]."""


@dataclass(frozen=True)
class WhileParts:
    """The parts of a while loop whose carried value is a tuple."""

    op: Operation
    init: tuple[SSAValue, ...]
    cond: Block
    body: Block
    cond_root: SSAValue
    next: tuple[SSAValue, ...]


def while_parts(op: Operation) -> WhileParts | None:
    """Return the parts of a loop over a tuple made by hlo.tuple before it and at the end of its
    body.
    """
    if len(op.operands) != 1 or len(op.regions) != 2:
        return None
    start = op.operands[0]
    cond, body = (region.blocks.first for region in op.regions)
    if cond is None or body is None or cond.last_op is None or body.last_op is None:
        return None
    root = body.last_op.operands[0]
    for value in (start, root):
        if not isinstance(value, OpResult) or value.op.name != "hlo.tuple":
            return None
    if not isinstance(start, OpResult) or not isinstance(root, OpResult):
        return None
    if not all(use.operation.name == GTE for b in (cond, body) for use in b.args[0].uses):
        return None
    return WhileParts(
        op,
        tuple(start.op.operands),
        cond,
        body,
        cond.last_op.operands[0],
        tuple(root.op.operands),
    )


def carried_index(value: SSAValue, block: Block) -> int | None:
    """Return the carried element that a value inside the loop reads directly, if any."""
    if isinstance(value, OpResult) and value.op.name == GTE:
        if value.op.operands[0] is block.args[0]:
            return integer(value.op, "index")
    return None


def needed_elements(root: SSAValue, block: Block, visited: set[Operation]) -> set[int]:
    """Return the carried elements on which a value depends, through ops not yet visited."""
    found: set[int] = set()
    pending = [root]
    while pending:
        value = pending.pop()
        if not isinstance(value, OpResult) or value.op in visited:
            continue
        visited.add(value.op)
        index = carried_index(value, block)
        if index is None:
            pending.extend(value.op.operands)
        else:
            found.add(index)
    return found


def live_elements(parts: WhileParts, *, condition: bool = True) -> set[int]:
    """Return the live elements: read after the loop, by its condition (if `condition`), or for a
    live element.
    """
    live: set[int] = set()
    for use in parts.op.results[0].uses:
        if use.operation.name != GTE:
            return set(range(len(parts.init)))
        live.add(integer(use.operation, "index"))
    if condition:
        live |= needed_elements(parts.cond_root, parts.cond, set())
    visited: set[Operation] = set()
    pending = list(live)
    while pending:
        more = needed_elements(parts.next[pending.pop()], parts.body, visited) - live
        live |= more
        pending.extend(more)
    return live


def forward_invariants(op: Operation) -> None:
    """Let the users of elements that a loop does not change read the initial values instead."""
    parts = while_parts(op)
    if parts is None:
        return
    for use in tuple(op.results[0].uses):
        if use.operation.name != GTE:
            continue
        i = integer(use.operation, "index")
        if carried_index(parts.next[i], parts.body) == i:
            use.operation.results[0].replace_all_uses_with(parts.init[i])
            use.operation.detach()
            use.operation.erase()


def narrow_while(op: Operation) -> Operation | None:
    """Rebuild a loop without dead elements; return None if all are live."""
    parts = while_parts(op)
    if parts is None:
        return None
    live = sorted(live_elements(parts))
    if len(live) == len(parts.init):
        return None
    renumbered = {old: new for new, old in enumerate(live)}
    emitter = Emitter(op)
    start = emitter.tuple([parts.init[i] for i in live])
    last = parts.body.last_op
    if last is None:
        return None
    body_end = Emitter(last, source=op)
    root = last.operands[0]
    last.operands[0] = body_end.tuple([parts.next[i] for i in live])
    if isinstance(root, OpResult):
        erase_dead(root.op)
    for block in (parts.cond, parts.body):
        narrowed = block.insert_arg(start.type, 1)
        for use in tuple(block.args[0].uses):
            _renumber(use.operation, narrowed, renumbered)
        block.erase_arg(block.args[0], safe_erase=False)
    regions = [op.detach_region(region) for region in tuple(op.regions)]
    loop = OP_CLASSES["hlo.while"].create(
        operands=[start],
        result_types=[start.type],
        properties=op.properties,
        attributes=op.attributes,
        regions=regions,
    )
    emitter.insert(loop)
    for use in tuple(op.results[0].uses):
        _renumber(use.operation, loop.results[0], renumbered)
    op.detach()
    op.erase()
    return loop


def _renumber(read: Operation, source: SSAValue, renumbered: dict[int, int]) -> None:
    """Retarget a get_tuple_element to the smaller tuple; one of a dead element is unused."""
    index = renumbered.get(integer(read, "index"))
    if index is None:
        read.detach()
        read.erase()
        return
    read.operands[0] = source
    read.properties["index"] = IntegerAttr(index, i64)

"""Analyse and shrink the tuple that a while loop carries."""

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, TensorType, TupleType, i64
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


def carry_tuple(op: Operation) -> Operation:
    """Rebuild a loop, if it is necessary, so that it has the form that `while_parts` reads.

    A loop over one value carries a tuple of it, and tuples are made of their elements, before the
    loop and at the end of its body. Returns the loop. Nested tuples are left as they are.
    """
    if len(op.operands) != 1 or len(op.regions) != 2:
        return op
    type_ = op.operands[0].type
    if isinstance(type_, TensorType):
        op = _over_tuple(op)
    elif isinstance(type_, TupleType) and not any(
        isinstance(t, TupleType) for t in type_.types.data
    ):
        op.operands[0] = _taken_apart(op.operands[0], op)
    else:
        return op
    last = op.regions[1].block.last_op
    if last is not None:
        last.operands[0] = _taken_apart(last.operands[0], last)
    for region in op.regions:
        _read_by_element(region.block)
    return op


def _over_tuple(op: Operation) -> Operation:
    """Rebuild a loop over one value as a loop over a tuple of it."""
    before = Emitter(op)
    start = before.tuple([op.operands[0]])
    for region in op.regions:
        block = region.block
        first, last = block.first_op, block.last_op
        assert first is not None and last is not None
        carried = block.insert_arg(start.type, 1)
        value = Emitter(first, source=op).tuple_element(carried, 0)
        block.args[0].replace_all_uses_with(value)
        block.erase_arg(block.args[0])
    end = op.regions[1].block.last_op
    assert end is not None
    end.operands[0] = Emitter(end, source=op).tuple([end.operands[0]])
    loop = OP_CLASSES["hlo.while"].create(
        operands=[start],
        result_types=[start.type],
        properties=op.properties,
        attributes=op.attributes,
        regions=[op.detach_region(region) for region in tuple(op.regions)],
    )
    before.insert(loop)
    op.results[0].replace_all_uses_with(before.tuple_element(loop.results[0], 0))
    op.detach()
    op.erase()
    return loop


def _taken_apart(value: SSAValue, reader: Operation) -> SSAValue:
    """Return a tuple of the elements of a tuple, unless it is made by hlo.tuple."""
    if isinstance(value, OpResult) and value.op.name == "hlo.tuple":
        return value
    assert isinstance(value.type, TupleType)
    build = Emitter(reader)
    return build.tuple([build.tuple_element(value, i) for i in range(len(value.type.types.data))])


def _read_by_element(block: Block) -> None:
    """Let the readers of a whole carried tuple read a tuple of its elements."""
    argument = block.args[0]
    readers = [use for use in argument.uses if use.operation.name != GTE]
    if not readers or block.first_op is None:
        return
    whole = _taken_apart(argument, block.first_op)
    for use in readers:
        use.operation.operands[use.index] = whole


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

"""Join loops that do not depend on each other: their iterations run side by side."""

from itertools import combinations
from math import prod

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.support.walking import walk_in
from neuronir.passes.hlo.counted_loop import CountedLoop, counted_loop
from neuronir.passes.hlo.recurrences.whiles import affine, begin_while, end_while, replace_while
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, shape
from neuronir.passes.hlo.while_carry import GTE

BYTES = 8 << 20
"""Limit of bytes that the iterations of joined loops read as a whole: they stay on the chip."""


def join_loops(block: Block) -> int:
    """Join the loops of a block that have equal trip counts and do not depend on each other.

    Returns the number of loops that became part of an earlier one.
    """
    joined = 0
    while _joined(block):
        joined += 1
    return joined


def _joined(block: Block) -> bool:
    """Join the first pair of loops that can be joined; its users may move behind other loops."""
    loops = [op for op in block.ops if op.name == "hlo.while"]
    return any(_join(*pair) is not None for pair in combinations(loops, 2))


def _join(first: Operation, second: Operation) -> Operation | None:
    """Replace two loops by one, at the position of the second; None if they cannot be joined."""
    one, other = counted_loop(first), counted_loop(second)
    if one is None or other is None or one.count != other.count:
        return None
    if not one.states or not other.states or _bytes(one) + _bytes(other) > BYTES:
        return None
    users = _users(first, second)
    if second in users:
        return None
    after = second
    for op in users:
        op.detach()
        assert second.parent is not None
        second.parent.insert_op_after(op, after)
        after = op
    return _write(one, other)


def _bytes(loop: CountedLoop) -> int:
    """Return the bytes of the states and of the arrays that iterations do not read in slices."""
    total = 0
    for i, v in enumerate(loop.parts.init):
        if i in loop.written or i == loop.counter or not isinstance(v.type, TensorType):
            continue
        reads = [u.operation for u in loop.parts.body.args[0].uses]
        users = [
            use.operation
            for get in reads
            if integer(get, "index") == i
            for use in get.results[0].uses
            if use.operation.name != "hlo.tuple"
        ]
        if i in loop.states or any(op.name != "hlo.dynamic_slice" for op in users):
            total += prod(shape(v)) * byte_size(element(v))
    return total


def _users(first: Operation, last: Operation) -> list[Operation]:
    """Return the ops up to `last` that depend on `first`, in their order."""
    found: list[Operation] = []
    known: set[SSAValue] = set(first.results)
    op = first.next_op
    while op is not None:
        inner = (o for region in op.regions for b in region.blocks for o in walk_in(b))
        read = [*op.operands, *(v for o in inner for v in o.operands)]
        if not known.isdisjoint(read):
            found.append(op)
            known.update(op.results)
        if op is last:
            break
        op = op.next_op
    return found


def _write(one: CountedLoop, other: CountedLoop) -> Operation:
    """Build the joined loop before the second one, and erase both."""
    build = Emitter(other.parts.op)
    loops = (one, other)
    names = [
        (k, i)
        for k, loop in enumerate(loops)
        for i in range(len(loop.parts.init))
        if i != loop.counter
    ]
    init = [loops[k].parts.init[i] for k, i in names]
    new, inside, found = begin_while(build, [build.scalar(0, i32), *init], one.count)
    at = {name: 1 + n for n, name in enumerate(names)}
    after: list[SSAValue] = []
    for k, loop in enumerate(loops):
        copies = _body(loop, inside, found[0], {i: found[n] for (j, i), n in at.items() if j == k})
        after += [copies[v] for i, v in enumerate(loop.parts.next) if i != loop.counter]
    end_while(new, inside, found[0], after)
    for k, loop in enumerate(loops):
        replace_while(loop, build, new, {i: n for (j, i), n in at.items() if j == k})
    return new


def _body(
    loop: CountedLoop, inside: Emitter, number: SSAValue, carried: dict[int, SSAValue]
) -> dict[SSAValue, SSAValue]:
    """Copy a body into the joined one; return the copy of each value."""
    copies: dict[SSAValue, SSAValue] = {}
    body, last = loop.parts.body, loop.parts.body.last_op
    assert last is not None
    for op in body.ops:
        if op is last or op is last.operands[0].owner:
            continue
        if op.name == GTE and op.operands[0] is body.args[0]:
            i = integer(op, "index")
            counted = i == loop.counter
            kind = element(op.results[0])
            copies[op.results[0]] = (
                affine(inside, number, loop.number, kind) if counted else carried[i]
            )
        else:
            copies[op.results[0]] = inside.insert(clone(op, copies)).results[0]
    return copies

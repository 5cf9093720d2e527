"""Count the iterations of a loop in 32 bits."""

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Operation

from neuronir.passes.hlo.counted_loop import counter_of
from neuronir.passes.hlo.support.build import OP_CLASSES, Emitter
from neuronir.passes.hlo.support.values import element, integer
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.hlo.while_carry import GTE, WhileParts, while_parts

_LIMITS = ml_dtypes.iinfo(np.int32)


def narrow_counter(op: Operation) -> Operation:
    """Replace the 64-bit counter of a loop by one of 32 bits.

    Engines compute no 64-bit integers. Readers of the counter read a conversion to 64 bits.
    Returns the new loop, or `op` if its counter already has 32 bits or would not fit.
    """
    parts, found = while_parts(op), counter_of(op)
    if parts is None or found is None or any(u.operation.name != GTE for u in op.results[0].uses):
        return op
    counter, number, count = found
    kind = element(parts.init[counter])
    begin, end = number.ends(count + 1)
    held = all(_LIMITS.min <= n <= _LIMITS.max for n in (begin, end))
    if kind != i64 or not held:
        return op
    build = Emitter(op)
    start = build.tuple(
        [build.scalar(begin, i32) if i == counter else v for i, v in enumerate(parts.init)]
    )
    for block in (parts.cond, parts.body):
        block.insert_arg(start.type, 1)
        for use in tuple(block.args[0].uses):
            _read(use.operation, parts, counter)
        block.erase_arg(block.args[0])
    _condition(parts, counter, end, number.factor)
    _step(parts, counter, number.factor)
    regions = [op.detach_region(region) for region in tuple(op.regions)]
    loop = build.insert(
        OP_CLASSES["hlo.while"].create(
            operands=[start],
            result_types=[start.type],
            properties=op.properties,
            attributes=op.attributes,
            regions=regions,
        )
    )
    for use in tuple(op.results[0].uses):
        get = use.operation
        if integer(get, "index") == counter:
            get.results[0].replace_all_uses_with(Emitter(get).scalar(end, kind))
            erase_dead(get)
        else:
            get.operands[0] = loop.results[0]
    erase_dead(op)
    return loop


def _read(get: Operation, parts: WhileParts, counter: int) -> None:
    """Read the new carried tuple, which is the second argument of the block."""
    block = get.parent
    assert block is not None
    if integer(get, "index") != counter:
        get.operands[0] = block.args[1]
        return
    build = Emitter(get)
    number = build.tuple_element(block.args[1], counter)
    get.results[0].replace_all_uses_with(build.convert(number, element(get.results[0])))
    erase_dead(get)


def _condition(parts: WhileParts, counter: int, end: int, step: int) -> None:
    """Compare the new counter with its end."""
    last = parts.cond.last_op
    assert last is not None
    build = Emitter(last)
    number = build.tuple_element(parts.cond.args[0], counter)
    old = last.operands[0].owner
    last.operands[0] = build.compare(number, build.scalar(end, i32), "LT" if step > 0 else "GT")
    assert isinstance(old, Operation)
    erase_dead(old)


def _step(parts: WhileParts, counter: int, step: int) -> None:
    """Carry the new counter to the next iteration."""
    last = parts.body.last_op
    assert last is not None
    build = Emitter(last)
    number = build.tuple_element(parts.body.args[0], counter)
    following = list(parts.next)
    following[counter] = build.binary("add", number, build.scalar(step, i32))
    old = last.operands[0].owner
    last.operands[0] = build.tuple(following)
    assert isinstance(old, Operation)
    erase_dead(old)

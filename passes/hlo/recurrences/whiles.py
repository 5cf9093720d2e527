"""Build while loops with a known trip count."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, Region, SSAValue

from neuronir.dialects.hlo.attributes import i64_attr
from neuronir.passes.hlo.support.build import OP_CLASSES, Builder, Emitter
from neuronir.passes.hlo.unroll_while import index_triple
from neuronir.passes.hlo.while_carry import COUNTER


def begin_while(
    build: Builder, init: Sequence[SSAValue], count: int
) -> tuple[Operation, Emitter, list[SSAValue]]:
    """Start a loop of `count` iterations whose first carried element is the counter.

    Returns the builder of its body, and the carried values in the body. `end_while` finishes the
    loop.
    """
    start = build.tuple(init)
    cond, body = Block(arg_types=[start.type]), Block(arg_types=[start.type])
    for block in (cond, body):
        block.add_op(OP_CLASSES["hlo.return"].create(operands=[block.args[0]]))
    assert cond.last_op is not None and body.last_op is not None
    loop = OP_CLASSES["hlo.while"].create(
        operands=[start],
        result_types=[start.type],
        properties={"trip_count": i64_attr(count)},
        attributes={COUNTER: index_triple((0, 0, 1))},
        regions=[Region(cond), Region(body)],
    )
    build.insert(loop)
    test = Emitter(cond.last_op, source=loop)
    number = test.tuple_element(cond.args[0], 0)
    cond.last_op.operands[0] = test.compare(number, test.scalar(count, i32), "LT")
    inside = Emitter(body.last_op, source=loop)
    return loop, inside, [inside.tuple_element(body.args[0], k) for k in range(len(init))]


def end_while(loop: Operation, inside: Emitter, number: SSAValue, rest: Sequence[SSAValue]) -> None:
    """Finish the body: carry `rest` and the next counter to the next iteration."""
    counted = inside.binary("add", number, inside.scalar(1, i32))
    last = loop.regions[1].block.last_op
    assert last is not None
    last.operands[0] = inside.tuple([counted, *rest])

"""Build while loops with a known trip count."""

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import TupleType, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from neuronir.dialects.hlo.attributes import i64_attr
from neuronir.passes.hlo.counted_loop import CountedLoop, Linear
from neuronir.passes.hlo.support.build import OP_CLASSES, Builder, Emitter
from neuronir.passes.hlo.support.values import element, integer
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.hlo.unroll_while import index_triple
from neuronir.passes.hlo.while_carry import COUNTER, GTE


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


def affine(build: Builder, number: SSAValue, at: Linear, kind: Attribute) -> SSAValue:
    """Return `at.factor * number + at.first` in an integer type."""
    found = build.convert(number, kind)
    if at.factor != 1:
        found = build.binary("multiply", found, build.scalar(at.factor, kind))
    return build.binary("add", found, build.scalar(at.first, kind)) if at.first else found


def replace_while(
    loop: CountedLoop, build: Builder, new: Operation, names: Mapping[int, int]
) -> None:
    """Erase a loop, and read its results from another one.

    `names` maps carried elements of the old loop, except its counter, to those of the new one.
    """
    replace_loop(loop, build, lambda i: build.tuple_element(new.results[0], names[i]))


def _read_elements(op: Operation) -> None:
    """Let the readers of the whole result of a loop read a tuple of its elements."""
    result, behind = op.results[0], op.next_op
    readers = [use for use in result.uses if use.operation.name != GTE]
    if not readers or behind is None:
        return
    build = Emitter(behind, source=op)
    type_ = result.type
    assert isinstance(type_, TupleType)
    whole = build.tuple([build.tuple_element(result, i) for i in range(len(type_.types.data))])
    for use in readers:
        use.operation.operands[use.index] = whole


def replace_loop(loop: CountedLoop, build: Builder, result: Callable[[int], SSAValue]) -> None:
    """Erase a loop; `result` gives the replacement of a carried element, except the counter."""
    parts = loop.parts
    _read_elements(parts.op)
    for use in list(parts.op.results[0].uses):
        get = use.operation
        i = integer(get, "index")
        if i == loop.counter:
            number = loop.number.first + loop.number.factor * loop.count
            value: SSAValue = build.scalar(number, element(get.results[0]))
        else:
            value = result(i)
        get.results[0].replace_all_uses_with(value)
        get.detach()
        get.erase()
    start = parts.op.operands[0].owner
    parts.op.detach()
    parts.op.erase()
    if isinstance(start, Operation):
        erase_dead(start)

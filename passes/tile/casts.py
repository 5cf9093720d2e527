"""Move conversions to narrower floats right after the producer of a value.

The eviction from PSUM then converts, and views are of the narrower value.
"""

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, tensor
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.numbers import number_of

VIEWS = frozenset(("hlo.reshape", "hlo.bitcast", "hlo.transpose", "hlo.slice"))
"""Ops that move elements and read each at most once."""


def cast_at_once(op: Operation) -> None:
    """Convert a result at its producer if all of several readers convert it to one narrower float.

    Views in between are allowed. The results are bit-identical, and less data is stored.
    """
    if op.name in VIEWS or op.name in ("hlo.convert", "hlo.constant", "hlo.iota"):
        return
    if len(op.results) != 1 or not isinstance(op.results[0].type, TensorType):
        return
    (result,) = op.results
    if not any(use.operation.name in VIEWS for use in result.uses) or not is_float(element(result)):
        return
    views: list[Operation] = []
    casts: list[Operation] = []
    if not _readers(result, op.parent, views, casts):
        return
    kinds = {element(c.results[0]) for c in casts}
    if len(kinds) != 1 or len(casts) < 2:
        return
    (kind,) = kinds
    if not is_float(kind) or byte_size(kind) >= byte_size(element(result)):
        return
    _narrow(op, result, kind, views, casts)


def cast_before_select(op: Operation) -> None:
    """Convert the operands of a select to a narrower float instead of its result, if they are
    broadcasts, which read fewer elements:

        %b = hlo.broadcast %x                %n = hlo.convert %x
        %s = hlo.select %p, %b, %c     ->    %b = hlo.broadcast %n
        %r = hlo.convert %s                  %r = hlo.select %p, %b, %c

    Views between the select and the conversion are of the narrower value, then.
    """
    if not isinstance(op, ConvertOp):
        return
    kind = element(op.results[0])
    views: list[Operation] = []
    select = op.operands[0].owner
    while isinstance(select, Operation) and select.name in VIEWS:
        views.append(select)
        select = select.operands[0].owner
    if not isinstance(select, Operation) or select.name != "hlo.select":
        return
    wide = element(op.operands[0])
    if not (is_float(kind) and is_float(wide) and byte_size(kind) < byte_size(wide)):
        return
    values = list(select.operands[1:])
    makers = [v.owner for v in values]
    if not all(maker.results[0].has_one_use() for maker in (select, *views)) or not all(
        isinstance(m, Operation) and m.name == "hlo.broadcast" for m in makers
    ):
        return
    build = Emitter(op)
    narrow: list[SSAValue] = []
    for value in values:
        maker = value.owner
        assert isinstance(maker, Operation)
        number = number_of(value)
        if number is not None:
            narrow.append(build.fill(number, tensor(shape_of(value), kind)))
            continue
        source = build.convert(maker.operands[0], kind)
        narrow.append(build.like(maker, [source], tensor(shape_of(value), kind)))
    whole = tensor(shape_of(select.results[0]), kind)
    new = build.like(select, [select.operands[0], *narrow], whole)
    for view in reversed(views):
        new = build.like(view, [new], tensor(shape_of(view.results[0]), kind))
    op.results[0].replace_all_uses_with(new)
    erase_dead(op)


def _readers(
    value: SSAValue, block: Block | None, views: list[Operation], casts: list[Operation]
) -> bool:
    """Collect the views of a value and their conversions; return False if it has other readers."""
    for use in value.uses:
        reader = use.operation
        if reader.parent is not block:
            return False
        if reader.name == "hlo.convert":
            casts.append(reader)
        elif reader.name in VIEWS:
            views.append(reader)
            if not _readers(reader.results[0], block, views, casts):
                return False
        else:
            return False
    return bool(casts)


def _narrow(
    op: Operation,
    result: SSAValue,
    kind: Attribute,
    views: list[Operation],
    casts: list[Operation],
) -> None:
    new = ConvertOp.create(operands=[result], result_types=[tensor(shape_of(result), kind)])
    new.location = op.location
    assert op.parent is not None
    op.parent.insert_op_after(new, op)
    for use in list(result.uses):
        if use.operation is not new:
            use.operation.operands[use.index] = new.results[0]
    for view in views:
        view.results[0]._type = tensor(shape_of(view.results[0]), kind)
    for cast in casts:
        cast.results[0].replace_all_uses_with(cast.operands[0])
        erase_dead(cast)

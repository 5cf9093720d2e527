"""Simplify tuples and ops that only return their operand."""

from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import integer, producer
from neuronir.passes.hlo.support.walk import Rule


def get_tuple_element(op: Operation, e: Emitter) -> SSAValue | None:
    """Return the element of a known tuple; an optimization barrier is kept."""
    made = producer(op.operands[0], "tuple")
    return None if made is None else made.operands[integer(op, "index")]


def tuple_(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a tuple of all the elements of one tuple, in order, by that tuple.

    A tuple that a loop carries is kept, so that its elements are seen (while_carry.py).
    """
    if any(_carries(use.operation) for use in op.results[0].uses):
        return None
    source: SSAValue | None = None
    for i, value in enumerate(op.operands):
        part = producer(value, "get_tuple_element")
        if part is None or integer(part, "index") != i:
            return None
        if source is not None and part.operands[0] is not source:
            return None
        source = part.operands[0]
    return source if source is not None and source.type == op.results[0].type else None


def _carries(reader: Operation) -> bool:
    """Return whether a reader of a tuple passes it on to a loop or to its next iteration."""
    if reader.name == "hlo.while":
        return True
    return reader.name == "hlo.return" and getattr(reader.parent_op(), "name", "") == "hlo.while"


def forward(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove copy and bitcast between equal types."""
    operand = op.operands[0]
    return operand if operand.type == op.results[0].type else None


RULES: dict[str, tuple[Rule, ...]] = {
    "hlo.get_tuple_element": (get_tuple_element,),
    "hlo.tuple": (tuple_,),
    "hlo.copy": (forward,),
}

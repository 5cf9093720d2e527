"""Recognise attention: a dot whose rows pass through a softmax into another dot."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import splat

PLAIN = (
    "hlo.broadcast",
    "hlo.constant",
    "hlo.divide",
    "hlo.exponential",
    "hlo.reduce",
    "hlo.reshape",
    "hlo.subtract",
)
"""Composites that are a plain softmax, without guards for fully masked rows."""


@dataclass(frozen=True)
class Attention:
    """An attention: operand `which` of `product` is the softmax of `scale` * `scores`.

    The softmax is along the last dimension. `between` are the ops after `scores` up to `product`.
    """

    scores: DotOp
    product: DotOp
    which: int
    scale: float
    between: tuple[Operation, ...]

    @property
    def queries(self) -> SSAValue:
        """Return the operand of `scores` whose free dimension numbers the rows."""
        return self.scores.operands[0]

    def inside(self) -> list[SSAValue]:
        """Return values that are never whole: the scores and their derived values."""
        return [op.results[0] for op in (self.scores, *self.between) if op is not self.product]


def _number(value: SSAValue) -> float | None:
    """Return the value that fills a constant, if it is known."""
    array = splat(value)
    return None if array is None else float(array)


def match_attention(
    scores: Operation, machine: Machine, number: Callable[[SSAValue], float | None] = _number
) -> Attention | None:
    """Match the attention that starts with a dot, if a row of scores exceeds a PSUM bank.

    Shorter rows are computed whole, by the rules of their ops.
    """
    if not isinstance(scores, DotOp):
        return None
    shape = shape_of(scores.results[0])
    depth = [shape_of(scores.operands[0])[d] for d in ints(scores.lhs_contracting_dims)]
    batch = len(ints(scores.lhs_batch_dims))
    if len(shape) != batch + 2 or prod(depth) > min(machine.pe_rows, machine.partitions):
        return None
    if shape[-1] * 4 <= machine.psum_bank_bytes:
        return None
    scale, between = 1.0, []
    op = _user(scores)
    while op is not None and op.name in ("hlo.convert", "hlo.multiply"):
        if op.name == "hlo.multiply":
            numbers = [n for n in map(number, op.operands) if n is not None]
            if len(numbers) != 1 or not numbers[0] > 0.0:
                return None
            scale *= numbers[0]
        between.append(op)
        op = _user(op)
    if not isinstance(op, CompositeOp) or op.kind.data != "softmax":
        return None
    inner = [o for o in op.regions[0].block.ops if o is not op.regions[0].block.last_op]
    last = len(shape) - 1
    if any(o.name not in PLAIN for o in inner) or ints(op.params.data["axes"]) != (last,):
        return None
    between.append(op)
    op = _user(op)
    while op is not None and op.name == "hlo.convert":
        between.append(op)
        op = _user(op)
    if not isinstance(op, DotOp) or op.operands[0] is op.operands[1]:
        return None
    which = 0 if op.operands[0] is between[-1].results[0] else 1
    contracted = (op.lhs_contracting_dims, op.rhs_contracting_dims)
    batched = (op.lhs_batch_dims, op.rhs_batch_dims)
    if ints(contracted[which]) != (last,) or sorted(ints(batched[which])) != list(range(batch)):
        return None
    values = shape_of(op.operands[1 - which])
    if len(values) != batch + 2 or prod(values) // prod(shape[:batch]) // shape[-1] >= (
        machine.matmul_max_moving
    ):
        return None
    if op.operands[1 - which].type.element_type != op.operands[which].type.element_type:  # type: ignore[attr-defined]
        return None
    return Attention(scores, op, which, scale, tuple(between))


def _user(op: Operation) -> Operation | None:
    """Return the single user of the result, or None."""
    result = op.results[0]
    return next(iter(result.uses)).operation if result.has_one_use() else None

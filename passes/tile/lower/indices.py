"""Indices of the tiled level as sums: a number, and rounds of emitted loops times numbers."""

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.support.errors import NeuronError

Terms = tuple[int, tuple[tuple[SSAValue, int], ...]]
"""A number, and (round of a loop, factor) of each term."""


@dataclass(frozen=True)
class Round:
    """The variable of a loop: the round of the loop that was emitted, times its step."""

    index: SSAValue
    step: int


class Indices:
    """What the indices of the tiled level are, in rounds of emitted loops."""

    def __init__(self) -> None:
        self.rounds: dict[SSAValue, Round] = {}
        self.counts: dict[SSAValue, int] = {}  # rounds of emitted loops

    def of(self, value: SSAValue) -> Terms:
        """An index as a sum; NIR_LOW008 where it is none."""
        if value in self.rounds:
            found = self.rounds[value]
            return 0, ((found.index, found.step),)
        op = value.owner
        if isinstance(op, arith.ConstantOp):
            return constant_index(value), ()
        if isinstance(op, arith.AddiOp):
            (a, left), (b, right) = self.of(op.lhs), self.of(op.rhs)
            return a + b, left + right
        if isinstance(op, arith.MuliOp):
            (a, left), (b, right) = self.of(op.lhs), self.of(op.rhs)
            if not right:
                return a * b, tuple((v, k * b) for v, k in left)
            if not left:
                return a * b, tuple((v, k * a) for v, k in right)
        raise NeuronError("NIR_LOW008", "an index of a slice is not affine in loop variables")

    def places(self, op: ExtractSliceOp | InsertSliceOp) -> list[Terms]:
        """Where a slice begins along each dimension."""
        given = iter(op.offsets)
        return [
            self.of(next(given)) if n == DYNAMIC_INDEX else (n, ()) for n in ints(op.static_offsets)
        ]


def constant_index(value: SSAValue) -> int:
    """The number that an index is; NIR_LOW008 where it is none."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        raise NeuronError("NIR_LOW008", "a bound of a loop is not constant")
    return int(op.value.value.data)

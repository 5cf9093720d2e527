"""Represent indices as sums: a constant, and iterations of emitted loops times factors."""

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.support.errors import NeuronError

Terms = tuple[int, tuple[tuple[SSAValue, int], ...]]
"""A constant, and (iteration of a loop, factor) terms."""


@dataclass(frozen=True)
class Round:
    """The variable of a loop: the iteration of the emitted loop times its step."""

    index: SSAValue
    step: int


class Indices:
    """The indices of the tiled level in terms of emitted loop iterations."""

    def __init__(self) -> None:
        self.rounds: dict[SSAValue, Round] = {}
        self.counts: dict[SSAValue, int] = {}  # iterations of emitted loops
        self.registers: dict[SSAValue, SSAValue] = {}  # loaded trip counts

    def of(self, value: SSAValue) -> Terms:
        """Return an index as a sum; raises NIR_LOW008 if it is not one."""
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
        """Return the start of a slice along each dimension."""
        given = iter(op.offsets)
        return [
            self.of(next(given)) if n == DYNAMIC_INDEX else (n, ()) for n in ints(op.static_offsets)
        ]


def constant_index(value: SSAValue) -> int:
    """Return a constant index; raises NIR_LOW008 if it is not constant."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        raise NeuronError("NIR_LOW008", "a bound of a loop is not constant")
    return int(op.value.value.data)

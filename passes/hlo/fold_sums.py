"""hlo-fold-sums: combine constants that are added one after another."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.constants import constant_array
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, is_tensor, producer, shape
from neuronir.passes.hlo.support.walk import blocks, erase_dead
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class _Term:
    """A broadcast constant: its values along some dimensions of the result, in order."""

    array: NDArray[np.float32]
    dims: tuple[int, ...]

    def along(self, dims: tuple[int, ...]) -> NDArray[np.float32]:
        """Expand the values to the dimensions `dims`, with size 1 where they repeat."""
        sizes = [self.array.shape[self.dims.index(d)] if d in self.dims else 1 for d in dims]
        return self.array.reshape(sizes)


def _term(value: SSAValue) -> _Term | None:
    dims = tuple(range(len(shape(value))))
    spread = producer(value, "broadcast")
    if spread is not None:
        value, dims = spread.operands[0], ints(spread, "dimensions")
    made = producer(value, "constant")
    if made is None or list(dims) != sorted(dims):
        return None
    return _Term(constant_array(made).astype(np.float32, copy=False), dims)


def _operand_and_term(op: Operation) -> tuple[SSAValue, _Term] | None:
    for k in (1, 0):
        term = _term(op.operands[k])
        if term is not None:
            return op.operands[1 - k], term
    return None


def fold(op: Operation) -> bool:
    """Rewrite (x + a) + b to x + (a + b), if no constant grows and the sum is finite."""
    if not is_tensor(op.results[0]) or element(op.results[0]) != f32:
        return False
    outer = _operand_and_term(op)
    inner_op = producer(outer[0], "add") if outer is not None else None
    if outer is None or inner_op is None or not outer[0].has_one_use():
        return False
    inner = _operand_and_term(inner_op)
    if inner is None or producer(inner[0], "dot") or producer(inner[0], "convolution"):
        return False
    a, b = inner[1], outer[1]
    dims = tuple(sorted({*a.dims, *b.dims}))
    with np.errstate(all="ignore"):
        total = a.along(dims) + b.along(dims)
    if total.size > max(a.array.size, b.array.size) or not np.isfinite(total).all():
        return False
    emitter = Emitter(op)
    result = shape(op.results[0])
    spread = emitter.broadcast(emitter.constant(total, owned=True), result, dims)
    op.results[0].replace_all_uses_with(emitter.binary("add", inner[0], spread))
    erase_dead(op)
    return True


def _fold_block(block: Block) -> int:
    return sum(fold(op) for op in tuple(block.ops) if op.name == "hlo.add")


@dataclass(frozen=True)
class HloFoldSumsPass(ModulePass):
    """Combine constants that are added to a value one after another.

    (x + a) + b becomes x + (a + b) for fp32 constants or broadcasts of constants, if a + b is
    finite and no larger than the larger of the two. This changes the order of rounding. Additions
    to the result of a dot are not changed, because they are free during its eviction.
    """

    name = "hlo-fold-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record(self.name, "folded", sum(_fold_block(block) for block in blocks(op)))

"""hlo-constant-fold: evaluate values that depend on constants only."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.contiguous import contiguous
from neuronir.dialects.support.dtypes import is_tf32
from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.evaluate import can_evaluate, lazy_value
from neuronir.passes.hlo.support.values import element, one_number, size
from neuronir.passes.hlo.support.walk import blocks, erase_dead
from neuronir.passes.statistics import record

_KEPT = frozenset(("hlo.constant", "hlo.broadcast", "hlo.iota"))
"""Ops that are not folded, because folding only makes a constant larger."""


class _Folder:
    """Folds one block; tracks known values with the bytes of the constants they come from."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.known: dict[SSAValue, Array | LazyArray] = {}
        self.folded = 0

    def learn(self, op: Operation) -> bool:
        """Evaluate an op with known operands, if the result is not too large."""
        for value in op.operands:
            if value not in self.known:
                return False
        if not can_evaluate(op):
            return False
        result = op.results[0]
        if is_tf32(element(result)) and size(result) > 1:
            return False  # numpy has no array of it
        budget = max(self.limit, sum(self.known[v].size for v in op.operands))
        if size(result) > budget and op.name != "hlo.constant":
            return False
        self.known[result] = lazy_value(op, [self.known[v] for v in op.operands])
        return True

    def run(self, block: Block) -> None:
        frontier: dict[SSAValue, None] = {}
        for reader in ops_of(block):
            if not self.learn(reader):
                for value in reader.operands:
                    if value in self.known:
                        frontier[value] = None
        pending = list(frontier)
        while pending:
            value = pending.pop()
            op = value.owner
            if not isinstance(op, Operation) or op.parent is None or op.name == "hlo.constant":
                continue
            if value not in self.known:  # the replacement of a constant
                continue
            array = self.known[value]
            if op.name in _KEPT:
                # Kept, so its operands (of a broadcast) still have a user.
                new = [v for v in op.operands if v not in frontier]
                frontier.update((v, None) for v in new)
                pending.extend(new)
                continue
            self.replace(op, array)

    def replace(self, op: Operation, array: Array | LazyArray) -> None:
        emitter = Emitter(op)
        one = one_number(array)
        if one is not None:
            value = emitter.fill(one, op.results[0].type)
        else:
            kind = element(op.results[0])
            value = emitter.constant(_in_order(array), element=kind, owned=True)
        op.results[0].replace_all_uses_with(value)
        erase_dead(op)
        self.folded += 1


def _in_order(array: Array | LazyArray) -> Array | LazyArray:
    return array if isinstance(array, LazyArray) else contiguous(array)


def fold_block(block: Block, limit: int) -> int:
    """Fold one block without nested regions, and return the number of folded ops."""
    folder = _Folder(limit)
    folder.run(block)
    return folder.folded


@dataclass(frozen=True)
class HloConstantFoldPass(ModulePass):
    """Evaluate ops with constant operands.

    The reference semantics compute the result. A result becomes a constant if it has at most
    `limit` elements, or no more elements than its operands (such as a transposed or converted
    weight). A uniform result becomes a scalar constant and a broadcast. Broadcasts and iotas are
    not folded.
    """

    name = "hlo-constant-fold"
    limit: int = field(
        default=16384, metadata={"help": "largest number of elements of a new constant"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record(self.name, "folded", sum(fold_block(block, self.limit) for block in blocks(op)))

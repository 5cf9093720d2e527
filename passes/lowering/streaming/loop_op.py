"""The loop op around ops that were emitted as its body."""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Region

from neuronir.passes.lowering.emitter import Emitter


def make_loop(emitter: Emitter, rounds: int, body: Block) -> None:
    """End the innermost body that is open and put `rounds` rounds of it into what is around; its
    ops use the argument of `body` as the round number."""
    body.add_ops([*emitter.leave(), scf.YieldOp()])
    bounds = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, rounds, 1)]
    low, high, step = (b.result for b in bounds)
    for op in (*bounds, scf.ForOp(low, high, step, [], Region(body))):
        emitter.place(op)

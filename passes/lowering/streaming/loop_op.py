"""The loop op around ops that were emitted as its body."""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Block, Region

from neuronir.dialects.nc.structure import ROLLED
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.nc.bodies import FUNCTION


def make_loop(
    emitter: Emitter, rounds: int, body: Block, function: str = "", *, rolled: bool = False
) -> None:
    """End the innermost body that is open and put `rounds` rounds of it into what is around; its
    ops use the argument of `body` as the round number.

    With `function` the body becomes a function of that name in the end (passes/nc/bodies.py); with
    `rolled` the loop stays as it is.
    """
    body.add_ops([*emitter.leave(), scf.YieldOp()])
    bounds = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in (0, rounds, 1)]
    low, high, step = (b.result for b in bounds)
    loop = scf.ForOp(low, high, step, [], Region(body))
    if function:
        loop.attributes[FUNCTION] = StringAttr(function)
    if rolled:
        loop.attributes[ROLLED] = UnitAttr()
    for op in (*bounds, loop):
        emitter.place(op)

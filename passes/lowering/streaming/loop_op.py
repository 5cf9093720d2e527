"""Create the loop op around ops that were emitted as its body."""

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Block, Region, SSAValue

from neuronir.dialects.nc.counts import condition_loop
from neuronir.dialects.nc.structure import ROLLED
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.nc.bodies import FUNCTION


def make_loop(
    emitter: Emitter,
    rounds: int | SSAValue,
    body: Block,
    function: str = "",
    *,
    rolled: bool = False,
) -> None:
    """End the innermost open body and append a loop of `rounds` iterations of it.

    `rounds` is a constant, or the result of a nc.register_load.
    Its ops use the argument of `body` as the iteration number. With `function`, the body finally
    becomes a function of that name (passes/nc/bodies.py). With `rolled`, the loop is never
    unrolled.
    """
    body.add_ops([*emitter.leave(), scf.YieldOp()])
    constants = (0, rounds, 1) if isinstance(rounds, int) else (0, 1)
    bounds = [arith.ConstantOp(IntegerAttr(n, IndexType())) for n in constants]
    low, step = bounds[0].result, bounds[-1].result
    high = bounds[1].result if isinstance(rounds, int) else rounds
    loop = scf.ForOp(low, high, step, [], Region(body))
    if function:
        loop.attributes[FUNCTION] = StringAttr(function)
    if rolled:
        loop.attributes[ROLLED] = UnitAttr()
    for op in (*bounds, loop):
        emitter.place(op)


def make_condition_loop(emitter: Emitter, first: SSAValue, again: SSAValue, body: Block) -> None:
    """End the innermost open body and append a loop over it that runs while a register is not 0.

    `first` is loaded before the loop and `again` in `body`, whose arguments are the iteration
    number and the register.
    """
    body.add_ops([*emitter.leave(), scf.YieldOp(body.args[0], again)])
    for op in condition_loop(first, body):
        emitter.place(op)

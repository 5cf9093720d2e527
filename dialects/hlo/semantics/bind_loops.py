"""Bind scf loops, tensor slices and index arithmetic, which the tiled level uses."""

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.semantics.execution import BlockPlan, captured
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.hlo.semantics.registry import (
    Bound,
    binder,
    index_list,
    result_of,
    unsupported,
)
from neuronir.dialects.support.iterations import count_iteration
from neuronir.dialects.support.loops import (
    NOT_EQUAL,
    LoopOp,
    first_result,
    initial_value,
    initial_values,
)


@binder("arith.constant")
def _constant(op: Operation) -> Bound:
    assert isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr)
    number = np.asarray(op.value.value.data, np.int64)
    return lambda: number


@binder("arith.addi")
def _addi(op: Operation) -> Bound:
    return lambda a, b: np.asarray(a + b)


@binder("arith.muli")
def _muli(op: Operation) -> Bound:
    return lambda a, b: np.asarray(a * b)


@binder("arith.cmpi")
def _cmpi(op: Operation) -> Bound:
    assert isinstance(op, arith.CmpiOp)
    if op.predicate.value.data != NOT_EQUAL:
        raise unsupported(op, "only the predicate 'ne' of arith.cmpi is supported")
    return lambda a, b: np.asarray(a != b)


@binder("tensor.empty", "tile.empty")
def _empty(op: Operation) -> Bound:
    shape, dtype = result_of(op)
    return lambda: np.zeros(shape, dtype)


def _places(op: Operation, indices: tuple[Value, ...]) -> tuple[slice, ...]:
    given = iter(indices)
    starts = [
        int(np.asarray(next(given))) if n == DYNAMIC_INDEX else n
        for n in index_list(op, "static_offsets")
    ]
    sizes = index_list(op, "static_sizes")
    return tuple(slice(a, a + n) for a, n in zip(starts, sizes, strict=True))


@binder("tensor.extract_slice")
def _extract_slice(op: Operation) -> Bound:
    return lambda source, *indices: source[_places(op, indices)]


@binder("tensor.insert_slice")
def _insert_slice(op: Operation) -> Bound:
    ours = _made_here(op.operands[1])

    def run(source: Array, target: Array, *indices: Value) -> Array:
        new = target if ours and target.flags.writeable else target.copy()
        new[_places(op, indices)] = source
        return new

    return run


def _made_here(value: SSAValue) -> bool:
    """Return whether a tensor was created empty and has no other reader, so it can be
    overwritten.
    """
    if not value.has_one_use():
        return False
    if isinstance(value, BlockArgument):
        begin = initial_value(value)
        return begin is not None and _made_here(begin)
    if isinstance(value, OpResult) and isinstance(value.op, LoopOp):
        return _made_here(initial_values(value.op)[value.index - first_result(value.op)])
    assert isinstance(value.owner, Operation)
    if value.owner.name == "tensor.insert_slice":
        return _made_here(value.owner.operands[1])
    return value.owner.name in ("tensor.empty", "tile.empty")


@binder("scf.for")
def _for(op: Operation) -> Bound:
    block = op.regions[0].block
    outer = captured(op)
    plan = BlockPlan(block, outer=outer)
    carried = len(op.results)

    def run(low: Array, high: Array, step: Array, *values: Value) -> Value:
        state, around = values[:carried], values[carried:]
        for i in range(int(low), int(high), int(step)):
            state = plan.run([np.asarray(i, np.int64), *state, *around])
        return state[0] if carried == 1 else tuple(state)

    return run


@binder("scf.while")
def _while(op: Operation) -> Bound:
    assert isinstance(op, scf.WhileOp)
    outer = captured(op)
    test = BlockPlan(op.before_region.block, outer=outer)
    plan = BlockPlan(op.after_region.block, outer=outer)
    carried = len(op.operands)

    def run(*values: Value) -> Value:
        state, around = values[:carried], values[carried:]
        count = 0
        while True:
            more, *passed = test.run([*state, *around])
            if not more:
                return passed[0] if len(passed) == 1 else tuple(passed)
            count = count_iteration(count)
            state = plan.run([*passed, *around])

    return run

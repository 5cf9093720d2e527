"""Bind tuples, calls, loops and branches to their functions."""

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.hlo.semantics.execution import BlockPlan
from neuronir.dialects.hlo.semantics.numeric import Array, Value
from neuronir.dialects.hlo.semantics.regions import is_pointwise, nested_blocks
from neuronir.dialects.hlo.semantics.registry import Bound, binder, integer, unsupported
from neuronir.dialects.support.iterations import count_iteration


@binder("hlo.tuple")
def _tuple(op: Operation) -> Bound:
    return lambda *values: tuple(values)


@binder("hlo.get_tuple_element")
def _get_tuple_element(op: Operation) -> Bound:
    index = integer(op, "index")
    return lambda value: value[index]


@binder("hlo.optimization_barrier", "hlo.domain")
def _identity(op: Operation) -> Bound:
    return lambda value: value


@binder("hlo.add_dependency")
def _add_dependency(op: Operation) -> Bound:
    return lambda value, token: value


@binder("hlo.after_all")
def _after_all(op: Operation) -> Bound:
    # A token carries no data.
    return lambda *tokens: ()


@binder("hlo.copy_start")
def _copy_start(op: Operation) -> Bound:
    # The destination, the source, and a context without information.
    return lambda value: (value, value, np.zeros((), np.uint32))


@binder("hlo.copy_done")
def _copy_done(op: Operation) -> Bound:
    return lambda parts: parts[0]


@binder("hlo.call", "hlo.fusion", "hlo.composite")
def _call(op: Operation) -> Bound:
    (block,) = nested_blocks(op)
    # Inside a reducer a value may represent a batch of scalars, so shapes are not checked.
    plan = BlockPlan(block, pointwise=is_pointwise(block))

    def run(*operands: Value) -> Value:
        return plan.run(operands)[0]

    return run


@binder("hlo.while")
def _while(op: Operation) -> Bound:
    condition, body = (BlockPlan(region.block) for region in op.regions)
    counted = "trip_count" in op.properties

    def run(*state: Value) -> Value:
        values: tuple[Value, ...] = state
        count = 0
        while _truth(condition.run(values)[0]):
            if not counted:
                count = count_iteration(count)
            values = body.run(values)
        return values[0]

    return run


def _truth(value: Value) -> bool:
    assert not isinstance(value, tuple)
    return bool(value)


@binder("hlo.conditional")
def _conditional(op: Operation) -> Bound:
    plans = [BlockPlan(region.block) for region in op.regions]
    if not plans:
        raise unsupported(op, "conditional without branches")

    def run(index: Array, *operands: Value) -> Value:
        if index.dtype.kind == "b":
            branch = 0 if bool(index) else 1
        else:
            branch = int(index)
            if not 0 <= branch < len(plans):
                branch = len(plans) - 1
        return plans[branch].run([operands[branch]])[0]

    return run

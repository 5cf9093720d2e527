"""Import If, Loop, and Scan of static length."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph import control_flow as flow
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.reductions import axis_from
from neuronir.frontends.onnx.node import Node, Subgraph
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape

MOST_ROUNDS = 10_000
"""Loops whose shapes change are unrolled, up to this many iterations."""


@operator("If")
def _if(n: Node) -> list[SSAValue]:
    branches = [n.body("then_branch"), n.body("else_branch")]
    known = n.b.known(n[0])
    if known is not None:
        taken = branches[0 if bool(known.reshape(-1)[0]) else 1]
        return taken.build(n.b, [], taken.captured)
    captured = [value for branch in branches for value in branch.captured]
    split = len(branches[0].captured)

    def step(i: int) -> flow.Step:
        part = slice(0, split) if i == 0 else slice(split, None)
        return lambda b, _, outer: branches[i].build(b, [], outer[part])

    return flow.conditional(n.b, n.b.reshape(n[0], ()), captured, [step(0), step(1)])


@operator("Loop")
def _loop(n: Node) -> list[SSAValue]:
    body = n.body("body")
    carried = [n[i] for i in range(2, len(n.operands))]
    stacks = len(body.outputs) - 1 - len(carried)
    most = None if n.get(0) is None else n.b.known(n[0])
    start = None if n.get(1) is None else n.b.known(n[1])
    if start is not None and not bool(start.reshape(-1)[0]):
        most, start = start.astype("i8") * 0, None
    trial = _trial(n, body, carried)
    condition = None if trial is None else trial[0].known(trial[1][0])
    always = condition is not None and bool(condition.reshape(-1)[0])
    always = always and (n.get(1) is None or start is not None or most is not None)
    count = None if most is None else max(0, int(most.reshape(-1)[0]))
    if count is not None and trial is not None and always:
        return _counted(n, body, carried, count, trial[1], stacks)
    if count is not None:
        return _written_out(n, body, carried, count, stacks)
    if stacks:
        n.b.need_known(n[0 if n.get(0) is not None else 1], "its trip count")
    return _dynamic(n, body, carried)


def _trial(
    n: Node, body: Subgraph, carried: Sequence[SSAValue]
) -> tuple[BlockBuilder, list[SSAValue]] | None:
    """Build the body on trial and discard it; None if its state changes type."""
    number, going = tensor_type((), i64), tensor_type((), i1)
    types = [number, *(v.type for v in carried)]
    scratch, (count, *state), outer = flow.rehearse(n.b, types, body.captured)
    going_on = scratch.fill(1, going)
    try:
        results = body.build(scratch, [count, going_on, *state], outer)
    except NeuronError as error:
        if error.code == "NIR_IMP002":  # values that depend on the iteration number
            return None
        raise
    for before, after in zip(carried, results[1:], strict=False):
        if before.type != after.type:
            return None
    return scratch, results


def _counted(
    n: Node,
    body: Subgraph,
    carried: Sequence[SSAValue],
    count: int,
    trial: Sequence[SSAValue],
    stacks: int,
) -> list[SSAValue]:
    outs = [
        n.b.fill(0, tensor_type((count, *shape(v)), element(v)))
        for v in trial[len(trial) - stacks :]
    ]

    def step(
        b: BlockBuilder, number: SSAValue, state: list[SSAValue], outer: list[SSAValue]
    ) -> list[SSAValue]:
        own = state[: len(carried)]
        going = b.fill(1, tensor_type((), i1))
        results = body.build(b, [b.convert(number, i64), going, *own], outer)
        after, put = results[1 : 1 + len(own)], results[1 + len(own) :]
        stored = [
            flow.stacked(b, stack, number, value)
            for stack, value in zip(state[len(own) :], put, strict=True)
        ]
        return [*after, *stored]

    return flow.counted_loop(n.b, count, [*carried, *outs], body.captured, step)


def _written_out(
    n: Node, body: Subgraph, carried: Sequence[SSAValue], count: int, stacks: int
) -> list[SSAValue]:
    """Unroll a loop, for shapes that change and conditions that follow from the iteration
    number.
    """
    if count > MOST_ROUNDS:
        refuse(f"shapes change in each of {count} iterations; at most {MOST_ROUNDS} are supported")
    b, state = n.b, list(carried)
    going = b.fill(1, tensor_type((), i1))
    rounds: list[list[SSAValue]] = []
    for i in range(count):
        number = b.constant(np.asarray(i, np.int64))
        results = body.build(b, [number, going, *state], body.captured)
        condition = b.need_known(results[0], "whether the loop goes on")
        state = results[1 : 1 + len(state)]
        rounds.append(results[1 + len(state) :])
        if not bool(condition.reshape(-1)[0]):
            break
    if stacks and not rounds:
        refuse("its trip count is 0: the shapes of its outputs are unknown")
    return [*state, *(_stack(b, [r[i] for r in rounds], 0) for i in range(stacks))]


def _stack(b: BlockBuilder, values: Sequence[SSAValue], axis: int) -> SSAValue:
    wide = [b.reshape(v, (*shape(v)[:axis], 1, *shape(v)[axis:])) for v in values]
    return b.concatenate(wide, axis)


def _dynamic(n: Node, body: Subgraph, carried: Sequence[SSAValue]) -> list[SSAValue]:
    """Build a loop with a data-dependent trip count, which a target may reject."""
    b = n.b
    going = n[1] if n.get(1) is not None else b.fill(1, tensor_type((), i1))
    state = [b.scalar(0, i64), b.reshape(going, ()), *carried]
    captured = list(body.captured)
    if n.get(0) is not None:
        captured.append(b.reshape(b.convert(n[0], i64), ()))
    limited = n.get(0) is not None

    def condition(b: BlockBuilder, state: list[SSAValue], outer: list[SSAValue]) -> list[SSAValue]:
        if not limited:
            return [state[1]]
        return [b.binary("and", state[1], b.compare(state[0], outer[-1], "LT"))]

    def step(b: BlockBuilder, state: list[SSAValue], outer: list[SSAValue]) -> list[SSAValue]:
        results = body.build(b, state, outer[: len(body.captured)])
        following = b.binary_number("add", state[0], 1)
        return [following, b.reshape(results[0], ()), *results[1:]]

    return flow.while_loop(b, state, captured, condition, step)[2:]


@operator("Scan", since=9)
def _scan(n: Node) -> list[SSAValue]:
    body = n.body("body")
    return _scan_over(n, body, [n[i] for i in range(len(n.operands))])


def _scan_over(n: Node, body: Subgraph, operands: Sequence[SSAValue]) -> list[SSAValue]:
    b = n.b
    count = n.integer("num_scan_inputs", 0)
    states, scanned = (
        list(operands[: len(operands) - count]),
        list(operands[len(operands) - count :]),
    )
    if count < 1 or not scanned:
        refuse("num_scan_inputs must be positive")
    axes = n.ints("scan_input_axes") or [0] * count
    backwards = n.ints("scan_input_directions") or [0] * count
    stacks = len(body.outputs) - len(states)
    out_axes = n.ints("scan_output_axes") or [0] * stacks
    out_backwards = n.ints("scan_output_directions") or [0] * stacks
    fronted = []
    for value, axis, reverse in zip(scanned, axes, backwards, strict=True):
        moved = _to_front(b, value, axis_from(axis, len(shape(value))))
        fronted.append(b.reverse(moved, [0]) if reverse else moved)
    steps = shape(fronted[0])[0]
    put = _put_types(b, body, states, fronted)
    outs = [b.fill(0, tensor_type((steps, *shape(v)), element(v))) for v in put[len(states) :]]

    def step(
        inner: BlockBuilder, number: SSAValue, state: list[SSAValue], outer: list[SSAValue]
    ) -> list[SSAValue]:
        parts = [flow.unstacked(inner, value, number) for value in outer[:count]]
        results = body.build(inner, [*state[: len(states)], *parts], outer[count:])
        stored = [
            flow.stacked(inner, stack, number, value)
            for stack, value in zip(state[len(states) :], results[len(states) :], strict=True)
        ]
        return [*results[: len(states)], *stored]

    results = flow.counted_loop(b, steps, [*states, *outs], [*fronted, *body.captured], step)
    final = []
    for value, axis, reverse in zip(results[len(states) :], out_axes, out_backwards, strict=True):
        value = b.reverse(value, [0]) if reverse else value
        final.append(_from_front(b, value, axis_from(axis, len(shape(value)))))
    return [*results[: len(states)], *final]


def _put_types(
    b: BlockBuilder, body: Subgraph, states: Sequence[SSAValue], fronted: Sequence[SSAValue]
) -> list[SSAValue]:
    """Build one step on trial to find the types of its results."""
    parts = [tensor_type(shape(v)[1:], element(v)) for v in fronted]
    types = [*(v.type for v in states), *parts]
    scratch, values, outer = flow.rehearse(b, types, body.captured)
    return body.build(scratch, values, outer)


def _to_front(b: BlockBuilder, value: SSAValue, axis: int) -> SSAValue:
    rank = len(shape(value))
    return b.transpose(value, [axis, *(d for d in range(rank) if d != axis)])


def _from_front(b: BlockBuilder, value: SSAValue, axis: int) -> SSAValue:
    order = list(range(1, len(shape(value))))
    order.insert(axis, 0)
    return b.transpose(value, order)


@operator("Scan")
def _scan_by_batch(n: Node) -> list[SSAValue]:
    """Import opset 8: everything has a leading batch dimension, with optional lengths per batch."""
    if n.get(0) is not None:
        refuse("sequence_lens are not supported")
    body = n.body("body")
    operands = [n[i] for i in range(1, len(n.operands))]
    batches = shape(operands[0])[0]
    rounds = []
    for i in range(batches):
        parts = []
        for value in operands:
            dims = shape(value)
            low, high = [i, *[0] * (len(dims) - 1)], [i + 1, *dims[1:]]
            parts.append(n.b.reshape(n.b.slice(value, low, high), dims[1:]))
        rounds.append(_scan_over(n, body, parts))
    return [_stack(n.b, [r[k] for r in rounds], 0) for k in range(len(rounds[0]))]

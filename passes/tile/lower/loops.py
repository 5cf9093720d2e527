"""Lower loops, and their indices that ops read as data."""

from dataclasses import replace
from math import prod

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import (
    LoopOp,
    body_of,
    carried_values,
    final_values,
    initial_values,
    next_values,
    tests_index,
    yield_of,
)
from neuronir.dialects.support.walking import walk_in
from neuronir.dialects.tile.ops import IndexOp, ToIndexOp
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.rules.elementwise import engine_for
from neuronir.passes.lowering.streaming.loop_op import make_condition_loop, make_loop
from neuronir.passes.tile.layouts.carried import assembled
from neuronir.passes.tile.layouts.values import trips
from neuronir.passes.tile.lower.banks import assign, held
from neuronir.passes.tile.lower.carry import carry
from neuronir.passes.tile.lower.homes import find_homes
from neuronir.passes.tile.lower.indices import Round, constant_index
from neuronir.passes.tile.lower.memory import copy
from neuronir.passes.tile.lower.state import Lower, fill, register_lowering
from neuronir.passes.tile.lower.values import Number

MOST_NUMBERS = 4096
"""Limit of the trip count of loops whose iteration numbers are in a table; others use a counter."""


@register_lowering("scf.for")
def lower_for(state: Lower, op: Operation) -> None:
    """Lower a loop; accumulators stay in a buffer."""
    assert isinstance(op, scf.ForOp)
    low, step = constant_index(op.lb), constant_index(op.step)
    loaded = state.indices.registers.get(op.ub)
    rounds = trips(op)
    assert low == 0 and (rounds > 1 or loaded is not None)
    block = op.body.block
    sums = _begin_all(state, op)
    body = Block(arg_types=[IndexType()])
    state.indices.rounds[block.args[0]] = Round(body.args[0], step)
    state.indices.counts[body.args[0]] = rounds
    counter = _count(state, op, body.args[0], rounds)
    _lower_body(state, op, sums)
    if counter is not None:
        view = counter.at(0, counter.partitions, ((1, 1),))
        engine = engine_for(AluOp.ADD, DType.I32, state.machine.has_pool)
        state.emitter.tensor_scalar(view, view, AluOp.ADD, 1, engine=engine)
    make_loop(state.emitter, rounds if loaded is None else loaded, body)
    _end_all(state, op, sums)


@register_lowering("scf.while")
def lower_while(state: Lower, op: Operation) -> None:
    """Lower a loop whose condition is in a register, loaded again in each iteration.

    Raises NIR_TIL009 if a condition is not a tile.to_index.
    """
    assert isinstance(op, scf.WhileOp)
    registers = state.indices.registers
    first, again = registers.get(op.operands[0]), yield_of(op).operands[0]
    if first is None or not isinstance(again.owner, ToIndexOp) or not tests_index(op):
        raise NeuronError("NIR_TIL009", "the condition of a loop is not a tile.to_index")
    sums = _begin_all(state, op)
    body = Block(arg_types=[IndexType(), IndexType()])
    _lower_body(state, op, sums)
    make_condition_loop(state.emitter, first, registers[again], body)
    _end_all(state, op, sums)


def _begin_all(state: Lower, op: LoopOp) -> dict[int, Form]:
    """Place the carried values of a loop; return the buffers of those that are not assembled."""
    sums: dict[int, Form] = {}
    for i, (init, argument) in enumerate(zip(initial_values(op), carried_values(op), strict=True)):
        if init in state.memory:
            if not assembled(init):
                raise NeuronError("NIR_TIL009", "a loop-carried value is in HBM")
            state.memory[argument] = state.memory[init]
        elif assembled(init):
            state.values[argument] = state.values[init]
        else:
            sums[i] = state.allocate(argument)
            _begin(state, init, sums[i])
            state.set(argument, sums[i])
    return sums


def _lower_body(state: Lower, op: LoopOp, sums: dict[int, Form]) -> None:
    """Emit the body of a loop, with the assignment of its states, to a new scope."""
    find_homes(state, op, sums)
    state.emitter.enter()
    for inner in body_of(op).ops:
        if not isinstance(inner, scf.YieldOp):
            state.lower(inner)
    carry(state, next_values(op), carried_values(op))


def _end_all(state: Lower, op: LoopOp, sums: dict[int, Form]) -> None:
    """Give the results of an emitted loop the buffers of its carried values."""
    if state.requests and not state.emitter.depth:
        _share_banks(state)
    for i, (init, result) in enumerate(zip(initial_values(op), final_values(op), strict=True)):
        if i in sums:
            state.set(result, sums[i])
        elif init in state.memory:
            state.memory[result] = state.memory[init]
        else:
            state.values[result] = state.values[init]


def _share_banks(state: Lower) -> None:
    """Share the PSUM banks among the ops of the last emitted loops, and allocate them before
    these.
    """
    m = state.machine
    width = m.psum_bank_bytes // DType.F32.size
    loop = state.emitter.ops.pop()
    left = max(1, m.psum_banks - held(loop, state.requests, m))
    count = min(left, len(state.requests))
    slots = [state.emitter.psum(m.partitions, width) for _ in range(count)]
    state.emitter.ops.append(loop)
    assign(state.requests, slots)
    for r in state.requests:
        alloc = r.bank.owner
        assert isinstance(alloc, Operation)
        alloc.detach()
        alloc.erase()
    state.requests = []


def _begin(state: Lower, init: SSAValue, form: Form) -> None:
    """Fill a buffer with the initial value of an accumulator."""
    found = state.get(init)
    if isinstance(found, Number):
        fill(state, form, found.value)
    else:
        copy(state, state.held(init), form)


def _count(state: Lower, loop: scf.ForOp, index: SSAValue, rounds: int) -> Form | None:
    """Create a counter before a long loop whose iteration number is read as data."""
    if rounds <= MOST_NUMBERS or not any(isinstance(o, IndexOp) for o in walk_in(loop.body.block)):
        return None
    n = state.machine.partitions
    form = Form(state.emitter.sbuf(n, 1, DType.I32), (), (), copies=n)
    state.emitter.memset(form.at(0, n, ((1, 1),)), 0.0)
    state.counters[index] = form
    return form


@register_lowering("tile.index")
def lower_index(state: Lower, op: Operation) -> None:
    """Lower a loop index that ops read as data.

    It is an element of a constant table, whose address depends on the iteration, or a counter if
    the loops have more than MOST_NUMBERS iterations. Raises NIR_TIL009 if an index of nested loops
    needs a larger table.
    """
    assert isinstance(op, IndexOp)
    number, terms = state.indices.of(op.index)
    dtype = state.dtype(op.result)
    if prod(state.indices.counts[r] for r, _ in terms) > MOST_NUMBERS:
        if len(terms) != 1 or dtype not in (DType.I32, DType.U32):
            raise NeuronError("NIR_TIL009", "too many iterations for a table of loop indices")
        state.set(op.result, _counted(state, state.counters[terms[0][0]], terms[0][1], number))
        return
    table = np.full((1,), number, np.int64)
    stride, moved = 1, []
    for round_, factor in reversed(terms):
        count = state.indices.counts[round_]
        table = (np.arange(count)[:, None] * factor + table[None, :]).reshape(-1)
        moved.append((round_, stride))
        stride *= count
    n = state.machine.partitions
    name = f"indices.{dtype.name}.{table.tobytes().hex()}"
    data = np.broadcast_to(table.astype(dtype.numpy), (n, stride))
    buffer, offset = state.constants.keep(name, data, dtype)
    form = Form(buffer, (), (), 0, offset, dtype.name.lower(), n, False, tuple(moved))
    state.set(op.result, form)


def _counted(state: Lower, counter: Form, factor: int, number: int) -> Form:
    """Return a copy with counter * factor + number; the counter itself if they are equal."""
    if factor == 1 and not number:
        return counter
    engine = engine_for(AluOp.ADD, DType.I32, state.machine.has_pool)
    n = counter.partitions
    out = replace(counter, buffer=state.emitter.sbuf(n, 1, DType.I32))
    dst, src = (f.at(0, n, ((1, 1),)) for f in (out, counter))
    state.emitter.tensor_scalar(dst, src, AluOp.MULTIPLY, factor, AluOp.ADD, number, engine=engine)
    return out

"""nc-verify-order: exchanged instructions are refused, or make no difference when they are run."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.nc.ops import InstructionOp, View
from neuronir.dialects.nc.structure import VariableOp
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc import flow_cache
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.borders import Borders
from neuronir.passes.nc.flow_steps import FlowProgram
from neuronir.passes.nc.flow_values import Flow
from neuronir.passes.nc.listing import Listing, Node, variables
from neuronir.passes.nc.spill import NcSpillPass
from neuronir.passes.nc.split_transfers import NcSplitTransfersPass
from neuronir.passes.nc.value_flow import flow_of
from neuronir.passes.nc.verify_order import _Comparison, check_order, take_snapshot
from neuronir.targets.simulator.functional import Options
from neuronir.targets.simulator.ir_runner import run_module
from tests.passes_nc.ordering import is_refused, ordering
from tests.passes_nc.programs import Program, looped, mlp, rows, tile

PLACED = (NcAssignBanksPass(), NcAllocatePass(), NcSplitTransfersPass())


def _passed(module: ModuleOp, *steps: ModulePass) -> ModuleOp:
    """The module behind passes, each of which is checked."""
    borders = Borders()
    for index, step in enumerate(steps):
        borders.before(module, steps, index)
        step.apply(Context(), module)
        borders.check(module)
    return module


@dataclass(frozen=True)
class _Swap(NcAllocatePass):
    """Allocation that also exchanges an instruction with the first one that reads its result."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        super().apply(ctx, op)
        first = next(o for o in op.walk() if isinstance(o, InstructionOp) and o.name != "nc.dma")
        result = next(v.buffer for v in first.dst_views() if v is not None)
        readers = (u.operation for u in result.uses if u.operation is not first)
        _swap(first, cast(InstructionOp, next(readers)))


def _layers() -> ModuleOp:
    """A loop over layers with a weight stream, which loads ahead."""
    p = Program()
    x = p.variable("x", "input", (32, 64))
    w = p.variable("w", "input", (6 * 32, 32), index=1)
    y = p.variable("y", "output", (32, 64))
    a = p.sbuf((32, 64))
    p.copy(tile(a, 64, 32), rows(x, 64, 64, 32))
    i = p.loop(6)
    weights = p.sbuf((32, 32), role="stream")
    p.copy(tile(weights, 32, 32), View(w, 0, 32, ((1, 32),), 0, ((i, 32 * 32),), 32))
    out = p.psum((32, 64))
    p.matmul(tile(out, 64, 32), tile(weights, 32, 32), tile(a, 64, 32))
    b = p.sbuf((32, 64))
    p.activate(tile(b, 64, 32), tile(out, 64, 32))
    p.add(tile(a, 64, 32), tile(a, 64, 32), tile(b, 64, 32))
    p.end()
    p.copy(rows(y, 64, 64, 32), tile(a, 64, 32))
    return p.finish()


PROGRAMS: dict[str, Callable[[], ModuleOp]] = {
    "written out": lambda: _passed(_bound(mlp(2, 2, 64)), *ordering(), *PLACED),
    "pipelined": lambda: _passed(_bound(looped(40)), *ordering(), *PLACED),
    "nested": lambda: _passed(_bound(looped(40, outer=3)), *ordering(pipeline=False), *PLACED),
    "layers": lambda: _passed(_layers(), *ordering(unroll=0), *PLACED),
    "spilled": lambda: _passed(_bound(mlp(3, 2, 64)), *ordering(), NcSpillPass(sbuf=2560), *PLACED),
}


def _bound(module: ModuleOp) -> ModuleOp:
    """The module with inputs in the place of its constants, which have no values."""
    count = sum(op.kind.data == "input" for op in variables(module).values())
    for op in variables(module).values():
        if op.kind.data == "constant":
            op.properties["kind"] = StringAttr("input")
            op.properties["index"] = IntegerAttr(count, i64)
            count += 1
    return module


def _inputs(module: ModuleOp) -> list[NDArray[Any]]:
    rng = np.random.default_rng(0)
    found = [op for op in variables(module).values() if op.kind.data == "input"]
    types = [op.type for op in sorted(found, key=_position)]
    return [rng.standard_normal(t.get_shape()).astype(np_dtype(t.element_type)) for t in types]


def _position(op: VariableOp) -> int:
    return op.index.value.data if op.index is not None else -1


def _blocks(module: ModuleOp) -> list[Block]:
    """The blocks with more than one instruction, the larger the more often."""
    blocks = [b for op in module.walk() for r in op.regions for b in r.blocks]
    return [b for b in blocks for op in b.ops if isinstance(op, InstructionOp)]


def _exchange(module: ModuleOp, rng: random.Random) -> tuple[InstructionOp, InstructionOp]:
    """Let two instructions of a block change places, most often near ones."""
    while True:
        ops = [op for op in rng.choice(_blocks(module)).ops if isinstance(op, InstructionOp)]
        if len(ops) > 1:
            i = rng.randrange(len(ops))
            j = min(i + rng.choice((1, 1, 2, 3, 5, 8, 13, 50)), len(ops) - 1)
            if i != j:
                _swap(ops[i], ops[j])
                return ops[i], ops[j]


def _swap(a: InstructionOp, b: InstructionOp) -> None:
    block = a.parent
    assert block is not None
    ops = list(block.ops)
    i, j = ops.index(a), ops.index(b)
    ops[i], ops[j] = ops[j], ops[i]
    for op in ops:
        op.detach()
    block.add_ops(ops)


def _exchanges(module: ModuleOp, inputs: Sequence[NDArray[Any]], count: int) -> tuple[int, int]:
    """(refused, harmless) of so many exchanges, each of which is undone."""
    machine, rng = get_machine("trn1"), random.Random(7)
    options = Options(uninitialized="zero")
    expected = [o.tobytes() for o in run_module(module, inputs, machine, options)]
    before = take_snapshot(module)
    refused = harmless = 0
    for _ in range(count):
        a, b = _exchange(module, rng)
        if is_refused(before, module):
            refused += 1
        else:
            found = run_module(module, inputs, machine, options)
            assert [o.tobytes() for o in found] == expected, (str(a), str(b))
            harmless += 1
        _swap(a, b)
    assert not is_refused(before, module)
    return refused, harmless


@pytest.mark.parametrize("name", PROGRAMS)
def test_exchanged_instructions_are_refused_or_harmless(name: str) -> None:
    module = PROGRAMS[name]()
    refused, harmless = _exchanges(module, _inputs(module), 8)
    assert refused >= 2 and harmless >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_two_hundred_exchanges_are_refused_or_harmless(name: str) -> None:
    module = PROGRAMS[name]()
    refused, _ = _exchanges(module, _inputs(module), 200)
    assert refused >= 40


def _two_rows(*, apart: bool, second: int = 1536) -> ModuleOp:
    """Two pieces of 512 numbers of each row of an input, loaded by one transfer or by one each."""
    p = Program()
    x = p.variable("x", "input", (128, 2048))
    y = p.variable("y", "output", (128, 1024))
    both = p.sbuf((128, 1024))
    if apart:
        p.copy(tile(both, 512), rows(x, 512, 2048))
        p.copy(tile(both, 512, offset=512), rows(x, 512, 2048, offset=second))
    else:
        p.copy(
            View(both, 0, 128, ((512, 2), (1, 512))),
            View(x, 0, 128, ((second, 2), (1, 512)), 0, (), 2048),
        )
    p.copy(rows(y, 1024, 1024), tile(both, 1024))
    return p.finish()


def test_rows_that_are_loaded_together_or_each_alone_are_the_same() -> None:
    for first in (False, True):
        before = take_snapshot(_two_rows(apart=first))
        check_order(before, take_snapshot(_two_rows(apart=not first)))
        with pytest.raises(NeuronError, match="NIR_NC011"):
            check_order(before, take_snapshot(_two_rows(apart=not first, second=1024)))


def test_a_violation_for_one_trip_count_is_not_dropped_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Loops with a runtime count are compared with no iterations, and with some."""
    before, behind = take_snapshot(_two_rows(apart=True)), take_snapshot(_two_rows(apart=True))
    behind.whole = True
    for listing in (*before.listings.values(), *behind.listings.values()):
        listing.loops.append(Node(0, listing.nodes[0].op, None, [], counted=True))
    wrong = None, "y"
    monkeypatch.setattr(_Comparison, "_pieces", lambda self: {0: []})
    monkeypatch.setattr(_Comparison, "_wrong", lambda self, pieces, trips: None if trips else wrong)
    with pytest.raises(NeuronError, match="NIR_NC011"):
        check_order(before, behind)


def test_each_program_is_visited_once_between_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[Listing] = []

    def count(program: FlowProgram, *rest: Any, **more: Any) -> Flow:
        visited.append(program.listing)
        return flow_of(program, *rest, **more)

    monkeypatch.setattr(flow_cache, "flow_of", count)
    _passed(_bound(mlp(2, 2, 64)), *ordering(), *PLACED)
    assert len({id(listing) for listing in visited}) == len(visited) > len(PLACED)


def test_a_fault_behind_passes_that_were_checked_is_found() -> None:
    """The program before a pass is not visited again, and the one behind it is."""
    steps = (*ordering(), NcAssignBanksPass())
    _passed(_bound(mlp(2, 2, 64)), *steps, NcAllocatePass())
    with pytest.raises(NeuronError, match="NIR_NC011"):
        _passed(_bound(mlp(2, 2, 64)), *steps, _Swap())

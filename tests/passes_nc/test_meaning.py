"""The same results in program order before the passes and on five engines after them."""

import numpy as np
import pytest
from hypothesis import given, settings
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.nc.machine import get_machine
from neuronir.passes.nc.allocate import NcAllocate
from neuronir.passes.nc.order import NcOrder
from neuronir.passes.nc.synchronise import NcSynchronise
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module
from tests.passes_nc.strategies import Case, straight_line, with_loops


def _check(module: ModuleOp, order: NcOrder, allocate: NcAllocate, columns: int) -> None:
    machine = get_machine("trn1")
    x = np.random.default_rng(0).standard_normal((32, columns)).astype(np.float32)
    zeros = Options(uninitialized="zero")
    expected = [o.tobytes() for o in run_module(module, [x], machine, zeros)]
    for step in (order, allocate, NcSynchronise()):
        step.apply(Context(), module)
        found = run_module(module, [x], machine, zeros)
        assert [o.tobytes() for o in found] == expected, step.name
    program = program_from_module(module, machine)
    for options in (
        Options(uninitialized="zero", races=True),
        Options(uninitialized="zero", order="reversed", dma_mode="on_wait"),
        Options(uninitialized="zero", order=7, dma_mode="on_wait"),
    ):
        found = run(program, [x], machine, options).outputs
        assert [o.tobytes() for o in found] == expected, options


@settings(max_examples=25)
@given(straight_line())
def test_straight_line(case: Case) -> None:
    _check(case.module, NcOrder(), NcAllocate(sbuf=256 * 8), 64)


@pytest.mark.parametrize("pipeline", [False, True])
def test_loops(pipeline: bool) -> None:
    @settings(max_examples=25)
    @given(with_loops())
    def check(case: Case) -> None:
        _check(case.module, NcOrder(unroll=0, pipeline=pipeline), NcAllocate(), 512)

    check()

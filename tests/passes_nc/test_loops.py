"""Loops: carried dependences, rotation and pipelining, checked by writing the loops out."""

import pytest
from hypothesis import given, settings
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.synchronise import NcSynchronisePass
from tests.passes_nc.ordering import ordering
from tests.passes_nc.programs import looped
from tests.passes_nc.strategies import Case, with_loops
from tests.passes_nc.trace import check_memory, check_synchronised


def _compile(module: ModuleOp, *order: ModulePass) -> None:
    for step in (*order, NcAssignBanksPass(), NcAllocatePass(), NcSynchronisePass()):
        step.apply(Context(), module)
        module.verify()
    check_memory(module)
    check_synchronised(module)


@settings(max_examples=60)
@given(with_loops())
def test_loops_that_stay(case: Case) -> None:
    _compile(case.module, *ordering(unroll=0, pipeline=False))


@settings(max_examples=60)
@given(with_loops())
def test_pipelined_loops(case: Case) -> None:
    _compile(case.module, *ordering(unroll=0))


@settings(max_examples=20)
@given(with_loops())
def test_unrolled_loops(case: Case) -> None:
    _compile(case.module, *ordering())


@pytest.mark.parametrize("pipeline", [False, True])
@pytest.mark.parametrize("trips,outer", [(9, 0), (40, 0), (23, 2)])
def test_looped(trips: int, outer: int, pipeline: bool) -> None:
    _compile(looped(trips, outer=outer), *ordering(unroll=0, pipeline=pipeline))

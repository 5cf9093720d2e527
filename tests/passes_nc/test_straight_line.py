"""Straight-line programs: order keeps dependences, memory is never shared in time, waits hold."""

import pytest
from hypothesis import given, settings
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp

from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.synchronise import NcSynchronisePass
from tests.passes_nc.ordering import order
from tests.passes_nc.programs import mlp
from tests.passes_nc.strategies import Case, straight_line
from tests.passes_nc.trace import check_memory, check_synchronised, conflicting, trace


def _compile(module: ModuleOp, *, sbuf: int = 0) -> None:
    before = trace(module, placed=False)
    place_before = {e.node.op: i for i, e in enumerate(before)}
    order(module, sbuf=sbuf)
    after = {e.node.op: i for i, e in enumerate(trace(module, placed=False))}
    assert after.keys() == place_before.keys()
    for j, event in enumerate(before):
        for other in before[:j]:
            if conflicting(other, event):
                assert after[other.node.op] < after[event.node.op]
    NcAllocatePass(sbuf=sbuf).apply(Context(), module)
    check_memory(module)
    NcSynchronisePass().apply(Context(), module)
    module.verify()
    check_synchronised(module)


@settings(max_examples=60)
@given(straight_line())
def test_random_programs_keep_their_meaning(case: Case) -> None:
    _compile(case.module)


@settings(max_examples=40)
@given(straight_line())
def test_random_programs_in_a_tight_memory(case: Case) -> None:
    _compile(case.module, sbuf=256 * 7)


@pytest.mark.parametrize("sbuf", [0, 12288])
def test_mlp(sbuf: int) -> None:
    _compile(mlp(3, 3), sbuf=sbuf)


def test_no_wait_is_superfluous() -> None:
    """Every wait that is taken away breaks a dependence: the set is minimal."""
    module = mlp(2, 2)
    _compile(module)
    for op in list(module.walk()):
        waits = op.properties.get("waits")
        if not isinstance(waits, ArrayAttr):
            continue
        for i in range(len(waits.data)):
            op.properties["waits"] = ArrayAttr([*waits.data[:i], *waits.data[i + 1 :]])
            with pytest.raises(AssertionError):
                check_synchronised(module)
        op.properties["waits"] = waits

"""What passes say that they gained: only where it is asked for, and by the same cost model."""

from collections.abc import Iterator

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from benchmarks.techniques import TECHNIQUES, without
from neuronir.driver.phases import PHASES, pipeline_of
from neuronir.passes import statistics
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.listing import functions, list_function, variables
from neuronir.passes.nc.replay import replay_ns
from neuronir.targets.registry import get_target
from neuronir.targets.trn1.machine import TRN1
from tests.passes_nc.ordering import ordering
from tests.passes_nc.programs import looped, mlp


@pytest.fixture(autouse=True)
def no_counts() -> Iterator[None]:
    """Counts are of the whole process."""
    statistics.reset()
    yield
    statistics.reset()


def counted(module: ModuleOp) -> dict[str, int]:
    """What ordering and allocating a module counts."""
    for step in (*ordering(), NcAssignBanksPass(), NcAllocatePass()):
        step.apply(Context(), module)
    found = statistics.snapshot()
    names = ("nc-pipeline", "nc-schedule", "nc-assign-banks", "nc-allocate")
    return {key: n for name in names for key, n in found.get(name, {}).items()}


def test_estimates_on_request() -> None:
    assert not any("estimated ns" in key for key in counted(mlp(2, 4)))
    statistics.reset(gains=True)
    asked = counted(mlp(2, 4))
    chosen = asked["list scheduling: estimated ns in the order chosen"]
    assert 0 < chosen <= asked["list scheduling: estimated ns in program order"]
    with statistics.unrecorded():
        assert not statistics.gains()
    assert statistics.gains()


def test_asking_changes_no_code() -> None:
    plain, asked = mlp(2, 4), mlp(2, 4)
    counted(plain)
    statistics.reset(gains=True)
    counted(asked)
    assert str(plain) == str(asked)


def replayed(trips: int) -> float:
    module = looped(trips)
    (func,) = functions(module)
    listing = list_function(func, variables(module), placed=False)
    return replay_ns(listing, listing.nodes, TRN1)


def test_rounds_of_a_loop() -> None:
    """Each round after the first ones takes the same."""
    assert replayed(1) < replayed(2) < replayed(3) < replayed(4)
    more = (replayed(40) - replayed(20)) / 20
    assert more == pytest.approx(replayed(4) - replayed(3))


def test_techniques_are_in_the_pipelines() -> None:
    """Each technique changes what is run."""
    usual = [pipeline_of(get_target("trn1"), p, "none", "bf16", 2) for p in PHASES]
    for technique in TECHNIQUES:
        assert [without(text, technique) for text in usual] != usual

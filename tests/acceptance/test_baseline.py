"""No change makes the code of the fast subset slower unseen (benchmarks/baseline.py)."""

import pytest

from benchmarks.baseline import SUBSET, TOLERANCE, simulated_ns, stored
from benchmarks.corpus import models


@pytest.mark.parametrize("name", SUBSET)
def test_simulated_time_is_not_above_the_stored_one(name: str) -> None:
    (model,) = models(names=[name])
    now, before = simulated_ns(model), stored()[name]
    assert now <= before * (1 + TOLERANCE), (
        f"{now:.0f} ns instead of {before:.0f} ns; if that must be so, store it with "
        "`python -m benchmarks.baseline --update` and say why in the commit"
    )

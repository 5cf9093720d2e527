"""Variables by address, some of which share bytes."""

import random

import pytest

from neuronir.dialects.nc.instruction import Variable
from neuronir.targets.simulator.by_address import ByAddress


@pytest.mark.parametrize("seed", range(20))
def test_a_variable_that_holds_all_bytes_is_found(seed: int) -> None:
    choose = random.Random(seed)
    variables = [
        Variable(f"v{i}", "spill", choose.randrange(1, 30), choose.randrange(60))
        for i in range(choose.randrange(8))
    ]
    by_address = ByAddress(variables)
    for low in range(90):
        for high in range(low + 1, min(low + 12, 90)):
            holding = [
                i
                for i, v in enumerate(variables)
                if v.address <= low and high <= v.address + v.size
            ]
            found = by_address.holding(low, high)
            assert found in holding if holding else found == -1
            if holding:
                assert variables[found].address == max(variables[i].address for i in holding)

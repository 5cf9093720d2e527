"""The report counts the arithmetic of the model apart from what is executed for it."""

import pytest

from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import binary, machine


@pytest.mark.parametrize(
    ("name", "flops"),
    [
        # three dense layers, a batch of 32
        ("mlp", 2 * 32 * (784 * 512 + 512 * 256 + 256 * 10)),
        # two convolutions and three dense layers, a batch of 8
        (
            "lenet",
            2 * 8 * (28 * 28 * 6 * 25 + 10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10),
        ),
    ],
)
def test_useful_flops(name: str, flops: int) -> None:
    report = build_report(simulate_timing(binary(name), machine()))
    rows = report["ops"]
    assert sum(row["useful_flops"] for row in rows) == flops

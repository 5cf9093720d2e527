"""The timing model against published measurements of the hardware."""

from collections.abc import Callable

import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.targets.simulator.report import Report, build_report
from neuronir.targets.simulator.timing import simulate_timing
from tests.timing.kernels import Kernel, adamw, published, rope, silu

OVERHEAD = get_machine("trn1").program_overhead_ns / 1e3

# Kernels whose streams are well determined by what was published. In the others the vendor's
# compiler chose an order and an engine split that is not known.
_DETERMINED = {
    "CS-vadd-fd200",
    "CS-vadd-256k-fd1000",
    "CS-vadd-256k-fd2000",
    "NKI-mm-3",
    "AO-bmm",
    "AO-transpose_matmul",
    "AC-3_mamba-7",
    "AC-4_conv1d-6",
}
_KERNELS = [entry for entry in published() if entry[0] in _DETERMINED]


def report_of(make: Callable[[], Kernel]) -> Report:
    """The report of a kernel."""
    return build_report(simulate_timing(make().program()))


@pytest.mark.parametrize(("name", "make", "latency"), _KERNELS, ids=[k[0] for k in _KERNELS])
def test_latency_is_within_15_percent(
    name: str, make: Callable[[], Kernel], latency: float
) -> None:
    assert report_of(make)["total_time_us"] + OVERHEAD == pytest.approx(latency, rel=0.15)


@pytest.mark.parametrize(
    ("make", "vector_us"),
    [(adamw, 1800.0), (silu, 985.0), (rope, 3104.0)],
    ids=["AO-adamw", "AO-silu", "AO-rope"],
)
def test_vector_engine_time_is_within_15_percent(
    make: Callable[[], Kernel], vector_us: float
) -> None:
    report = report_of(make)
    assert report["resource_us"]["vector"] == pytest.approx(vector_us, rel=0.15)

"""The design is in the code: bytes, spills, time and size of the models that were promised."""

import time

import pytest

from benchmarks.measure import simulate
from neuronir.targets.simulator.timing import simulate_timing
from tests.acceptance.programs import LARGE, SMALL, compiled, figures, machine, model

pytestmark = pytest.mark.slow

ODD = (("bert_odd_h760_a10_s120", "hf_bert_base"), ("resnet50_200x200", "hf_resnet50"))


def test_bert_base_reads_its_weights_once() -> None:
    found = figures("hf_bert_base")
    assert found.hbm_bytes <= 1.1 * found.least_bytes
    assert 165e6 < found.least_bytes < 180e6
    assert found.spill_bytes == 0


def test_bert_base_time() -> None:
    assert figures("hf_bert_base").total_us < 1300


def test_resnet50_time() -> None:
    assert figures("hf_resnet50").total_us < 700


def test_bert_base_module_is_small() -> None:
    assert figures("hf_bert_base").nc_ops <= 6000


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_few_barriers(name: str) -> None:
    assert figures(name, weights=False).barriers <= 2


@pytest.mark.parametrize(("odd", "regular"), ODD)
def test_odd_sizes_come_as_near_to_the_roofline(odd: str, regular: str) -> None:
    mine, other = figures(odd), figures(regular)
    assert mine.roofline_percent >= 0.8 * other.roofline_percent


@pytest.mark.parametrize("name", ["hf_bert_base", "hf_resnet50"])
def test_compile_time(name: str) -> None:
    found = figures(name)
    assert found.compile_s < 60
    assert found.compile_rss_gib < 4


def test_simulation_time() -> None:
    result = compiled("hf_bert_base")
    assert result.program is not None
    start = time.perf_counter()
    simulate_timing(result.program, machine())
    assert time.perf_counter() - start < 10
    start = time.perf_counter()
    simulate(result.program, model("hf_bert_base").args(), result)
    assert time.perf_counter() - start < 120

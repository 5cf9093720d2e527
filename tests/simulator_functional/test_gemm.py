"""The hand-written matrix product on the functional simulator, in every order."""

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.races import check_races
from neuronir.targets.simulator.walker import DmaMode, Order
from tests.simulator_functional.gemm import gemm

MACHINE = get_machine("trn1")


def operands(contraction: int, rows: int, columns: int) -> list[np.ndarray]:
    generator = np.random.default_rng(7)
    return [
        generator.standard_normal(shape).astype(ml_dtypes.bfloat16)
        for shape in ((contraction, rows), (contraction, columns))
    ]


@pytest.mark.parametrize("order", ["forward", "reversed", 1, 2])
@pytest.mark.parametrize("dma_mode", ["eager", "on_wait"])
def test_product_in_every_order(order: Order, dma_mode: DmaMode) -> None:
    inputs = operands(256, 8 * 128, 256)
    result = run(gemm(8, 256, 256), inputs, MACHINE, Options(order=order, dma_mode=dma_mode))
    expected = inputs[0].astype(np.float32).T @ inputs[1].astype(np.float32)
    np.testing.assert_allclose(result.outputs[0], expected, rtol=1e-5, atol=1e-4)
    assert result.statistics.matmul_flops == 2 * 256 * 1024 * 256
    assert result.statistics.read_bytes == {"input": 256 * 1024 * 2 + 256 * 256 * 2}
    assert result.statistics.written_bytes == {"output": 1024 * 256 * 4}
    assert result.statistics.instructions["pe"] == 16


def test_no_races() -> None:
    check_races(gemm(8, 256, 256))
    run(gemm(4, 256, 64), operands(256, 512, 64), MACHINE, Options(races=True))

"""Whole networks of rows E of docs/features.md on inf1, at their published sizes, with random
weights.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("jax")

from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.judge import judge_compile
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.noise import judge_precision
from tests.acceptance import networks
from tests.acceptance.networks import Network
from tests.oracle import hlo_text, run_xla

Array = NDArray[Any]
INF1 = get_target("inf1")


def agrees(network: Network, *shape: int, dtype: Any = np.float32) -> None:
    """Compile a network for inf1, and compare it with the interpreter and with XLA."""
    x = np.random.default_rng(shape).standard_normal(shape, np.float32).astype(dtype)
    function, args = networks.with_weights(network, x)
    text = hlo_text(function, args)
    program = compile_text(text, "inf1", CompileOptions()).program
    assert program is not None
    outputs = run(program, args, INF1.machine, Options()).outputs
    lowered = compile_text(text, "inf1", CompileOptions(compile_to="hlo")).module
    kept = judge_compile(lowered, args, outputs)
    assert kept.ok, kept.render()
    reference = {f"out{i}": value for i, value in enumerate(run_xla(text, args))}
    precision = judge_precision(program, args, INF1.machine, outputs, reference)
    assert precision.ok, precision.render()


@pytest.mark.slow
def test_e01_resnet50_v2_fp16_batch_5() -> None:
    agrees(networks.resnet([3, 4, 6, 3]), 5, 224, 224, 3, dtype=np.float16)


@pytest.mark.slow
def test_e03_ssd_300() -> None:
    agrees(networks.ssd300, 1, 300, 300, 3)


@pytest.mark.slow
@pytest.mark.parametrize("size", [400, 736])
def test_e04_posenet(size: int) -> None:
    agrees(networks.posenet, 1, size, size, 3)

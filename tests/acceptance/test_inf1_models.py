"""Whole networks of rows E of docs/features.md on inf1, with random weights: at their published
sizes, or with all of their layers on a small image or a short sequence.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("jax")

from benchmarks.measure import inputs_of
from neuronir.dialects.nc.instruction import Program
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.judge import judge_compile
from neuronir.driver.specification import specify
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.noise import judge_precision
from tests.acceptance import networks
from tests.acceptance.networks import Network
from tests.oracle import hlo_text, run_xla

Array = NDArray[Any]
INF1 = get_target("inf1")


@dataclass(frozen=True)
class Computed:
    """A network that was compiled for inf1 and run: its arguments, and those that it reads."""

    text: str
    program: Program
    args: list[Array]
    inputs: list[Array]
    outputs: list[Array]


def computed(network: Network, *shape: int, dtype: Any = np.float32) -> Computed:
    """Compile and run a network, and compare it with the interpreter on the rounded program."""
    x = np.random.default_rng(shape).standard_normal(shape, np.float32).astype(dtype)
    function, args = networks.with_weights(network, x)
    text = hlo_text(function, args)
    program = compile_text(text, "inf1", CompileOptions()).program
    assert program is not None
    inputs = inputs_of(program, args)  # a network may have weights that no result depends on
    outputs = run(program, inputs, INF1.machine, Options()).outputs
    specification = specify(partial(compile_text, text, "inf1"), CompileOptions())
    kept = judge_compile(specification, args, outputs)
    assert kept.ok, kept.render()
    return Computed(text, program, args, inputs, outputs)


def agrees(network: Network, *shape: int, dtype: Any = np.float32) -> None:
    """Compare a network with the interpreter, and with XLA in fp32."""
    made = computed(network, *shape, dtype=dtype)
    reference = {f"out{i}": value for i, value in enumerate(run_xla(made.text, made.args))}
    precision = judge_precision(made.program, made.inputs, INF1.machine, made.outputs, reference)
    assert precision.ok, precision.render()


@pytest.mark.slow
def test_e01_resnet50_v2_fp16_batch_5() -> None:
    agrees(networks.resnet([3, 4, 6, 3]), 5, 224, 224, 3, dtype=np.float16)


@pytest.mark.slow
def test_e01_resnet152_batch_2_on_64_pixels() -> None:
    agrees(networks.resnet([3, 8, 36, 3]), 2, 64, 64, 3)


@pytest.mark.slow
def test_e03_ssd_300() -> None:
    agrees(networks.ssd300, 1, 300, 300, 3)


@pytest.mark.slow
@pytest.mark.parametrize("size", [400, 736])
def test_e04_posenet(size: int) -> None:
    agrees(networks.posenet, 1, size, size, 3)


@pytest.mark.slow
def test_e03_yolo_v4_on_64_pixels() -> None:
    computed(networks.yolo_v4, 1, 64, 64, 3)


@pytest.mark.slow
def test_e03_yolo_v3_on_64_pixels() -> None:
    computed(networks.yolo_v3, 1, 64, 64, 3)


@pytest.mark.slow
def test_e04_openpose_on_64_pixels() -> None:
    computed(networks.openpose, 1, 64, 64, 3)


@pytest.mark.slow
def test_e06_wavenet_of_600_samples() -> None:
    agrees(networks.wavenet, 1, 600, 1)


@pytest.mark.slow
def test_e05_prosotron_of_40_steps() -> None:
    agrees(networks.prosotron, 40, 1, 512)


@pytest.mark.slow
def test_e06_gnmt_of_10_words() -> None:
    """All layers in their published widths: five words read, five written."""
    agrees(networks.gnmt, 10, 1, 1024)

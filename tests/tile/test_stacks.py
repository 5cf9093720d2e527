"""Conversions that stack free digits on partitions, where PE has fewer columns than partitions."""

from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

from neuronir.dialects.nc.enums import DType
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.layouts.layout import atom
from neuronir.passes.tile.layouts.conversions import Way, way
from neuronir.passes.tile.layouts.maps import Partition
from neuronir.passes.tile.layouts.stacks import elements_of, stacked, starts_of
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from tests.oracle import hlo_text, run_xla

INF1, TRN1 = get_target("inf1").machine, get_target("trn1").machine
LOW: Partition = ((atom(64, 1), 1),)
HIGH: Partition = ((atom(128, 1), 1),)


def test_outer_digits_start_at_the_second_half() -> None:
    outer = stacked(INF1, LOW, HIGH)
    assert outer == ((atom(2, 64), 64),)
    assert starts_of(outer) == [0, 64] and elements_of(outer) == [0, 64]
    assert stacked(INF1, HIGH, LOW) is None


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (((atom(48, 1), 1),), ((atom(96, 1), 1),)),  # no access of 48 partitions starts at 48
        (((atom(16, 1), 1),), ((atom(32, 1), 1),)),
        (((atom(64, 2), 1),), HIGH),  # other digits
        ((), HIGH),
    ],
)
def test_no_stacks(low: Partition, high: Partition) -> None:
    assert stacked(INF1, low, high) is None


@pytest.mark.parametrize("dtype", [DType.F32, DType.BF16, DType.I32, DType.U8])
def test_a_narrow_array_stacks(dtype: DType) -> None:
    for pair in ((LOW, HIGH), (HIGH, LOW)):
        assert way(INF1, 1024, dtype, *pair, special=True) is Way.STACK
        assert way(TRN1, 1024, dtype, *pair, special=True) is Way.MEMORY


def convolutions(x: Any, *weights: Any) -> Any:
    for w in weights:
        y = lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(y)
    return x


@pytest.mark.parametrize("features", [128, 192, 256])
def test_features_of_one_convolution_are_contracted_by_the_next(features: int) -> None:
    rng = np.random.default_rng(features)
    shapes = [(1, 14, 14, 64), (3, 3, 64, features), (3, 3, features, features)]
    args = [rng.standard_normal(s, np.float32) * np.float32((9 * s[-2]) ** -0.5) for s in shapes]
    text = hlo_text(convolutions, args)
    program = compile_text(text, "inf1", CompileOptions(tiling="always")).program
    assert program is not None
    assert not [v for v in program.variables if v.kind == "scratch"]
    (got,), (expected,) = run(program, args, INF1).outputs, run_xla(text, args)
    # Operands of two products are rounded to bf16, by up to 2^-9 each: errors of a sum are random.
    assert np.abs(got - expected).max() <= 4 * 2.0**-9 * np.abs(expected).max()

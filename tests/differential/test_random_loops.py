"""Random loops on trn1 against XLA, through phase tiled, which keeps them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.measure import inputs_of
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.differential.generate_loops import loop_program
from tests.oracle import run_xla

MACHINE = get_target("trn1").machine
ROUNDINGS = 2
"""Of one operation: functions of ACT round their argument, too."""


def check(seed: int) -> None:
    made = loop_program(seed)
    rng = np.random.default_rng(seed)
    args: list[NDArray[np.generic]] = [
        rng.standard_normal(made.shape, np.float32) for _ in range(made.states)
    ]
    args.append(np.asarray(made.argument, np.int32))
    options = CompileOptions(auto_cast="none", tiling="always")
    program = compile_text(made.text, "trn1", options).program
    assert program is not None
    found = run(program, inputs_of(program, args), MACHINE, Options(races=True)).outputs
    for got, wanted in zip(found, run_xla(made.text, args), strict=True):
        # No operation enlarges an error: sums are halved, and slopes are at most 1. Each of up to
        # six in an iteration adds roundings by 2^-24 of values below 8.
        assert np.abs(got - wanted).max() <= ROUNDINGS * made.count * 6 * 8 * 2.0**-24


@pytest.mark.parametrize("seed", range(16))
def test_random_loops(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 160))
def test_more_random_loops(seed: int) -> None:
    check(seed)

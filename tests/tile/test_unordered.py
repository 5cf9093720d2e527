"""Conversions of values whose free digits are not in the order of their elements."""

from pathlib import Path

import numpy as np

from neuronir.driver import CompileOptions, compile_file
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run

IR = Path(__file__).parents[2] / "lit" / "passes" / "tile" / "convert-unordered.mlir"


def test_digits_are_brought_in_order_before_they_are_transposed() -> None:
    x = np.random.default_rng(0).standard_normal((832, 2, 64)).astype(np.float32)
    options = CompileOptions(compile_from="tiled")
    program = compile_file(str(IR), "inf1", options).program
    assert program is not None
    (output,) = run(program, [x], get_target("inf1").machine).outputs
    assert np.array_equal(output, x)

"""Conversions of values whose free digits are not in the order of their elements."""

from pathlib import Path

import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_file
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run

LIT = Path(__file__).parents[2] / "lit" / "passes" / "tile"


@pytest.mark.parametrize(
    ("name", "target", "shape"),
    [
        ("convert-unordered", "inf1", (832, 2, 64)),
        ("convert-cut-rows", "trn1", (2, 48, 48, 192)),
    ],
)
def test_digits_are_brought_in_order(name: str, target: str, shape: tuple[int, ...]) -> None:
    """Before columns are transposed if they are those of the source, else afterwards."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    options = CompileOptions(compile_from="tiled")
    program = compile_file(str(LIT / f"{name}.mlir"), target, options).program
    assert program is not None
    (output,) = run(program, [x], get_target(target).machine).outputs
    assert np.array_equal(output, x)

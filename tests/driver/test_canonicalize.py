"""xDSL's `canonicalize` after a phase changes no result: its patterns hold in every phase."""

from functools import cache

import numpy as np
import pytest

from neuronir.api import Array
from neuronir.driver import CompileOptions, compile_file
from neuronir.driver.user_passes import user_passes
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from tests.corpus import CORPUS, program_args

PROGRAMS = ("core/mlp", "core/lstm_scan", "ops/cumulative_ops", "ops/cond_switch")
"""Loops, recurrences, branches, and products with their layouts."""
PHASES = ("tiled", "virtual", "ordered", "allocated", "synchronised")


@cache
def outputs(program: str, phase: str) -> list[Array]:
    """Return the outputs of a program; "" as phase: without the pass."""
    path = CORPUS / "hlo" / f"{program}.hlo"
    users = user_passes([f"{phase}=canonicalize"], []) if phase else None
    options = CompileOptions(user_passes=users, tiling="always", reproducers=False)
    compiled = compile_file(str(path), "trn1", options)
    assert compiled.program is not None
    used = {v.index for v in compiled.program.variables if v.kind == "input"}
    arguments = [a for i, a in enumerate(program_args(path)) if i in used]
    return list(run(compiled.program, arguments, get_target("trn1").machine).outputs)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.thin(3)
def test_results_are_the_same(program: str, phase: str) -> None:
    for got, wanted in zip(outputs(program, phase), outputs(program, ""), strict=True):
        np.testing.assert_array_equal(got, wanted)

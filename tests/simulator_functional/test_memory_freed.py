"""A run leaves no cycles that would keep its memories."""

import gc
import weakref

import numpy as np
import pytest

from neuronir.dialects.nc.machine import get_machine
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.memory import Memory
from tests.simulator_functional.gemm import gemm


@pytest.mark.parametrize("races", [False, True])
def test_memories_are_freed_without_a_collection(races: bool) -> None:
    machine = get_machine("trn1")
    program = gemm(8, 256, 256)
    inputs = [np.zeros(v.shape, v.dtype.numpy) for v in program.variables if v.kind == "input"]
    gc.collect()
    gc.disable()
    try:
        memory = Memory(machine, program.variables)
        kept = weakref.ref(memory)
        result = run(program, inputs, machine, Options(races=races), memory)
        del memory
        assert kept() is None
    finally:
        gc.enable()
    assert not result.outputs[0].any()

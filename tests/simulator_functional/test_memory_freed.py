"""A run leaves no cycles that would keep its memories."""

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import Instruction
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator import ir_runner
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.memory import Memory
from tests.simulator_functional.build import copy, program, tile
from tests.simulator_functional.gemm import gemm

MACHINE = get_machine("trn1")


@contextmanager
def _without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("races", [False, True])
def test_memories_are_freed_without_a_collection(races: bool) -> None:
    binary = gemm(8, 256, 256)
    inputs = [np.zeros(v.shape, v.dtype.numpy) for v in binary.variables if v.kind == "input"]
    with _without_collections():
        memory = Memory(MACHINE, binary.variables)
        kept = weakref.ref(memory)
        result = run(binary, inputs, MACHINE, Options(races=races), memory)
        del memory
        assert kept() is None
    assert not result.outputs[0].any()


def test_memories_of_a_run_that_fails() -> None:
    """It fails in its second instruction, when each has its payload."""
    reads = copy(Engine.DVE, tile(64, 8), tile(0, 8))
    writes = Instruction("memset", Engine.DVE, (tile(0, 4),), (), {"value": 2.0})
    binary = program({Engine.DVE: [writes, reads]})
    with _without_collections():
        memory = Memory(MACHINE, binary.variables)
        kept = weakref.ref(memory)
        with pytest.raises(NeuronError, match="NIR_SIM001"):
            run(binary, [], MACHINE, memory=memory)
        del memory
        assert kept() is None


@pytest.mark.parametrize("phase", ["virtual", "synchronised"])
def test_memories_of_a_module(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """HloModule m
ENTRY e {
  x = f32[128,256] parameter(0)
  ROOT y = f32[128,256] tanh(x)
}
"""
    module = compile_text(text, "trn1", CompileOptions(compile_to=phase)).module
    made: list[weakref.ref[Memory]] = []

    def watched(*args: Any) -> Memory:
        memory = Memory(*args)
        made.append(weakref.ref(memory))
        return memory

    monkeypatch.setattr(ir_runner, "Memory", watched)
    with _without_collections():
        (output,) = ir_runner.run_module(module, [np.zeros((128, 256), np.float32)])
        assert [kept() for kept in made] == [None]
    assert not output.any()

"""Rotated loops and evictions that are left away: the same bytes in every phase, without races."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir._xdsl import LocatedParser
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.nc.structure import FuncOp
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.engines import QueueAllotter, assign_engines
from neuronir.passes.nc.forward import NcForwardPsumPass
from neuronir.passes.nc.listing import list_function, variables
from neuronir.passes.nc.rewrite import hoist_buffers
from neuronir.passes.nc.rotation import beginning, rotate_loop
from neuronir.passes.nc.synchronise import NcSynchronisePass
from neuronir.registry import Registry
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module
from tests.passes_nc.ordering import ordering

LIT = Path(__file__).parents[2] / "lit" / "passes" / "nc"
TRN1 = get_machine("trn1")


def _module(name: str) -> ModuleOp:
    text = (LIT / name).read_text()
    return LocatedParser(Registry.discover().context(), text, name).parse_module()


def _inputs(name: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    if name == "rotate.mlir":
        x = rng.standard_normal((128, 1024)).astype(np.float32)
        return [x, (rng.standard_normal((6, 128, 128)) / 8).astype(ml_dtypes.bfloat16)]
    return [rng.standard_normal((64, 128)).astype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("rotate.mlir", ordering(unroll=0)),
        ("rotate.mlir", ordering(unroll=0, rotate=False)),
        ("forward-psum.mlir", ordering()),
    ],
)
def test_every_phase_gives_the_same_bytes(name: str, order: tuple[ModulePass, ...]) -> None:
    module, inputs = _module(name), _inputs(name)
    expected = run_module(module, inputs, TRN1)[0].tobytes()
    for step in (
        NcForwardPsumPass(),
        *order,
        NcAssignBanksPass(),
        NcAllocatePass(),
        NcSynchronisePass(),
    ):
        step.apply(Context(), module)
        module.verify()
        assert run_module(module, inputs, TRN1)[0].tobytes() == expected, step.name
    program = program_from_module(module, TRN1)
    for options in (Options(races=True), Options(order="reversed", dma_mode="on_wait")):
        assert run(program, inputs, TRN1, options).outputs[0].tobytes() == expected


def test_a_rotation_can_be_undone() -> None:
    module, inputs = _module("rotate.mlir"), _inputs("rotate.mlir")
    expected = run_module(module, inputs, TRN1)[0].tobytes()
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    kinds = variables(module)
    assign_engines(func.body.block, TRN1, QueueAllotter(TRN1, kinds))
    hoist_buffers(func.body.block)
    before = str(module)
    listing = list_function(func, kinds, placed=False)
    loop = next(n for n in listing.nodes if isinstance(n.op, scf.ForOp))
    rotation = rotate_loop(listing, loop, beginning(listing, loop))
    assert len(rotation.copies) == 2
    assert str(module) != before
    rotation.undo()
    module.verify()
    assert sorted(str(module).splitlines()) == sorted(before.splitlines())
    assert run_module(module, inputs, TRN1)[0].tobytes() == expected
    list_function(func, kinds, placed=False)  # buffers come before who uses them


def test_a_bank_that_is_written_again_is_copied() -> None:
    text = (LIT / "forward-psum.mlir").read_text()
    again = "nc.matmul (%p[0:128 | 128:1 | 0])"
    line = next(part for part in text.splitlines() if again in part)
    text = text.replace("    %m = nc.alloc", f"{line}\n    %m = nc.alloc", 1)
    module = LocatedParser(Registry.discover().context(), text, "m.mlir").parse_module()
    before = str(module)
    NcForwardPsumPass().apply(Context(), module)
    assert str(module) == before

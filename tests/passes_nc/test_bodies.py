"""Functions that loops call: kept through all phases, with buffers of the caller as arguments."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from neuronir._xdsl import LocatedParser
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import ARGUMENT, Affine, Call
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.nc.structure import CallOp, FuncOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.nc.allocate import NcAllocatePass
from neuronir.passes.nc.assign_banks import NcAssignBanksPass
from neuronir.passes.nc.bodies import FUNCTION, bodies_in_place
from neuronir.passes.nc.synchronise import NcSynchronisePass
from neuronir.registry import Registry
from neuronir.targets.encoding.encoding import Encoding
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator.functional import Options, run
from neuronir.targets.simulator.ir_runner import run_module
from tests.passes_nc.ordering import order, ordering

HBM, SBUF = '#nc.space<"hbm">', '#nc.space<"sbuf">'
TRN1 = get_machine("trn1")
ROUNDS = 40

SUMS = f"""
builtin.module attributes {{nc.machine = "trn1", neuronir.phase = "virtual"}} {{
  nc.variable "x" : "input" memref<{ROUNDS}x32x64xf32, {HBM}> index 0
  nc.variable "y" : "output" memref<32x64xf32, {HBM}> index 0
  nc.func "layer" {{
  ^bb0(%i: index, %x: memref<{ROUNDS}x32x64xf32, {HBM}>, %sum: memref<32x64xf32, {SBUF}>):
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %a = nc.alloc : memref<32x64xf32, {SBUF}>
    scf.for %half = %zero to %two step %one {{
      nc.dma (%a[0:32 | 32:1 | 0 + 32 * %half]) =
        (%x[0:32 * 64 | 32:1 | 0 + 2048 * %i + 32 * %half])
    }}
    nc.tensor_tensor (%sum[0:32 | 64:1 | 0]) =
      (%sum[0:32 | 64:1 | 0], %a[0:32 | 64:1 | 0]) {{op = "add"}}
    nc.return
  }}
  nc.func "main" {{
    %x = nc.address_of @x : memref<{ROUNDS}x32x64xf32, {HBM}>
    %y = nc.address_of @y : memref<32x64xf32, {HBM}>
    %sum = nc.alloc : memref<32x64xf32, {SBUF}>
    %zero = arith.constant 0 : index
    %trips = arith.constant {ROUNDS} : index
    %one = arith.constant 1 : index
    nc.memset (%sum[0:32 | 64:1 | 0]) = () {{value = 0.0}}
    scf.for %i = %zero to %trips step %one {{
      nc.call @layer(%i, %x, %sum)
    }}
    nc.dma (%y[0:32 * 64 | 64:1 | 0]) = (%sum[0:32 | 64:1 | 0])
    nc.return
  }}
}}
"""

PASSED = f"""
builtin.module attributes {{nc.machine = "trn1", neuronir.phase = "synchronised"}} {{
  nc.variable "a" : "input" memref<32x64xf32, {HBM}> index 0 at 0
  nc.variable "b" : "input" memref<32x64xf32, {HBM}> index 1 at 8192
  nc.variable "y" : "output" memref<2x32x64xf32, {HBM}> index 0 at 16384
  nc.func "layer" {{
  ^bb0(%i: index, %y: memref<2x32x64xf32, {HBM}>, %w: memref<32x64xf32, {HBM}>):
    %t = nc.alloc at 0 : memref<32x64xf32, {SBUF}>
    nc.dma (%t[0:32 | 64:1 | 0]) = (%w[0:32 * 64 | 64:1 | 0]) on dma0
      wait [<1, 0 + 16 * %i>] update [<0, 16>]
    nc.dma (%y[0:32 * 64 | 64:1 | 0 + 2048 * %i]) = (%t[0:32 | 64:1 | 0]) on dma1
      wait [<0, 16 + 16 * %i>] update [<1, 16>]
    nc.return
  }}
  nc.func "main" {{
    %a = nc.address_of @a : memref<32x64xf32, {HBM}>
    %b = nc.address_of @b : memref<32x64xf32, {HBM}>
    %y = nc.address_of @y : memref<2x32x64xf32, {HBM}>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    nc.call @layer(%zero, %y, %a)
    nc.call @layer(%one, %y, %b)
    nc.return
  }}
}}
"""


def _module(text: str) -> ModuleOp:
    module = LocatedParser(Registry.discover().context(), text, "m.mlir").parse_module()
    module.verify()
    return module


def _functions(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]


def test_a_layer_stays_one_function_in_every_phase() -> None:
    module = _module(SUMS)
    x = np.random.default_rng(1).integers(-8, 8, (ROUNDS, 32, 64)).astype(np.float32)
    for step in (*ordering(unroll=0), NcAssignBanksPass(), NcAllocatePass(), NcSynchronisePass()):
        assert np.array_equal(run_module(module, [x], TRN1)[0], x.sum(0))
        step.apply(Context(), module)
        module.verify()
        assert _functions(module) == ["layer", "main"]
        module = _module(str(module))
    program = program_from_module(module, TRN1)
    calls = [i for i in program.streams["main"][Engine.DVE] if not hasattr(i, "opcode")]
    assert len(calls) == 1
    assert np.array_equal(run(program, [x], TRN1, Options(races=True)).outputs[0], x.sum(0))
    flat = Encoding("flat", control_flow=False).legalise(program)
    assert list(flat.streams) == ["main"]
    assert np.array_equal(run(flat, [x], TRN1, Options(races=True)).outputs[0], x.sum(0))


def test_putting_bodies_in_place_and_back_changes_nothing() -> None:
    module = _module(SUMS)
    before = str(module)
    with bodies_in_place(module):
        assert _functions(module) == ["main"]
        assert not any(isinstance(op, CallOp) for op in module.walk())
    assert str(module) == before
    assert not any(FUNCTION in op.attributes for op in module.walk())


def test_buffers_that_differ_from_call_to_call_come_in_registers() -> None:
    module = _module(PASSED)
    x = np.random.default_rng(2).standard_normal((2, 32, 64)).astype(np.float32)
    program = program_from_module(module, TRN1)
    calls = [i for i in program.streams["main"][Engine.SP] if isinstance(i, Call)]
    assert [c.arguments for c in calls] == [
        (Affine(0), Affine(0)),
        (Affine(1), Affine(8192)),
    ]
    load = program.streams["layer"][Engine.SP][0]
    assert not isinstance(load, Call) and load.src[0].address == Affine(0, ((ARGUMENT + 1, 1),))  # type: ignore[union-attr]
    for outputs in (run_module(module, list(x), TRN1), run(program, list(x), TRN1).outputs):
        assert np.array_equal(outputs[0], x)
    run(program, list(x), TRN1, Options(races=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SUMS.replace("@layer(%i, %x, %sum)", "@layer(%i, %x)"), "its arguments are"),
        (SUMS.replace("@layer(%i, %x, %sum)", "@layer(%i, %x, %y)"), "its arguments are"),
        (
            SUMS.replace("nc.call @layer(%i, %x, %sum)\n", "nc.call @layer(%i, %x)\n" * 2),
            "its arguments are",
        ),
    ],
)
def test_arguments_must_be_those_of_the_function(text: str, message: str) -> None:
    with pytest.raises(NeuronError, match="NIR_NC009") as caught:
        order(_module(text))
    assert message in caught.value.message


def test_only_the_body_of_a_loop_may_take_buffers_once_it_is_ordered() -> None:
    text = PASSED.replace('"synchronised"', '"ordered"')
    with pytest.raises(NeuronError, match="NIR_NC009") as caught:
        NcAllocatePass().apply(Context(), _module(text))
    assert "takes a buffer" in caught.value.message


def test_a_call_that_does_not_fit_is_not_encoded() -> None:
    text = PASSED.replace("@layer(%one, %y, %b)", "@layer(%one, %y)")
    with pytest.raises(NeuronError, match="NIR_ENC006") as caught:
        program_from_module(_module(text), TRN1)
    assert "other arguments" in caught.value.message

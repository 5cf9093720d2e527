"""Modules run in program order: loops, calls, registers, buffers with and without addresses."""

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import Builtin, ModuleOp

from neuronir._xdsl import LocatedParser
from neuronir.dialects.nc.dialect import NC
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.functional import Options
from neuronir.targets.simulator.ir_runner import run_module, simulate_module

HBM, SBUF, PSUM = '#nc.space<"hbm">', '#nc.space<"sbuf">', '#nc.space<"psum">'


def module(body: str, variables: str = "", functions: str = "") -> ModuleOp:
    """A module of @main with `body`."""
    context = Context()
    for dialect in (Builtin, NC, arith.Arith, scf.Scf):
        context.load_dialect(dialect)
    text = f"""builtin.module attributes {{nc.machine = "trn1"}} {{
      {variables}
      nc.func "main" {{ {body} nc.return }}
      {functions}
    }}"""
    return LocatedParser(context, text, "test.mlir").parse_module()


DOUBLED = f"""
  %x = nc.address_of @x : memref<256x8xf32, {HBM}>
  %y = nc.address_of @y : memref<256x8xf32, {HBM}>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  scf.for %i = %zero to %two step %one {{
    %a = nc.alloc AT_A : memref<128x8xf32, {SBUF}>
    %b = nc.alloc : memref<128x8xf32, {SBUF}>
    nc.dma (%a[0:128 | 8:1 | 0]) = (%x[0:128 * 8 | 8:1 | 0 + 1024 * %i])
    nc.tensor_tensor (%b[0:128 | 8:1 | 0]) =
      (%a[0:128 | 8:1 | 0], %a[0:128 | 8:1 | 0]) {{op = "add"}}
    nc.dma (%y[0:128 * 8 | 8:1 | 0 + 1024 * %i]) = (%b[0:128 | 8:1 | 0])
  }}
"""
VARIABLES = f"""
  nc.variable "x" : "input" memref<256x8xf32, {HBM}> index 0
  nc.variable "y" : "output" memref<256x8xf32, {HBM}> index 0
"""
X = np.arange(2048, dtype=np.float32).reshape(256, 8)


@pytest.mark.parametrize("address", ["", "at 4096"])
def test_loop_with_and_without_addresses(address: str) -> None:
    result = simulate_module(module(DOUBLED.replace("AT_A", address), VARIABLES), [X])
    assert np.array_equal(result.outputs[0], 2 * X)
    assert result.statistics.instructions == {"dma0": 4, "dve": 2}


def test_buffers_may_exceed_the_memory_before_allocation() -> None:
    body = DOUBLED.replace("AT_A", "")
    body += f"%big = nc.alloc : memref<128x65536xf32, {SBUF}>\n"
    body += "nc.memset (%big[0:128 | 1:1 | 65535]) = () {value = 1.0}\n"
    assert np.array_equal(run_module(module(body, VARIABLES), [X])[0], 2 * X)


def test_calls_and_registers() -> None:
    body = f"""
      %n = nc.address_of @n : memref<1xi32, {HBM}>
      %r = nc.register_load () = (%n[0:1 | 1:1 | 0])
        {{low = 0 : i64, high = 200 : i64}} on sp -> index
      %zero = arith.constant 0 : index
      %one = arith.constant 8 : index
      nc.call @row(%r, %zero)
      nc.call @row(%r, %one)
    """
    functions = f"""
      nc.func "row" {{
      ^bb0(%r : index, %to : index):
        %x = nc.address_of @x : memref<256x8xf32, {HBM}>
        %y = nc.address_of @y : memref<2x8xf32, {HBM}>
        nc.dma (%y[0:1 | 8:1 | 0 + 1 * %to]) = (%x[0:1 | 8:1 | 8 + 8 * %r + 1 * %to])
        nc.return
      }}
    """
    variables = f"""
      nc.variable "x" : "input" memref<256x8xf32, {HBM}> index 0
      nc.variable "n" : "input" memref<1xi32, {HBM}> index 1
      nc.variable "y" : "output" memref<2x8xf32, {HBM}> index 0
    """
    whole = module(body, variables, functions)
    out = run_module(whole, [X, np.array([41], np.int32)])[0]
    assert np.array_equal(out, X[42:44])


def test_errors_name_the_source() -> None:
    body = f"""
      %a = nc.alloc : memref<128x8xf32, {SBUF}>
      %p = nc.alloc : memref<128x8xf32, {PSUM}>
      nc.tensor_copy (%p[0:128 | 8:1 | 0]) = (%a[0:128 | 8:1 | 0])
        loc(fused<{{metadata = {{op_name = "layer/copy"}}}}>["copy"])
    """
    with pytest.raises(NeuronError, match="NIR_SIM001(.|\n)*layer/copy"):
        run_module(module(body), [])
    run_module(module(body), [], options=Options(uninitialized="zero"))


def test_a_module_needs_main_and_a_machine() -> None:
    empty = module("")
    del empty.attributes["nc.machine"]
    with pytest.raises(NeuronError, match="does not name its machine"):
        run_module(empty, [])
    with pytest.raises(NeuronError, match=r"nc.call of @f, which does not exist"):
        run_module(module("nc.call @f()"), [])

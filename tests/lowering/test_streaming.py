"""Tile loops for what does not fit in SBUF: small programs on a machine with a small SBUF."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.arg_spec import parse_pipeline

import neuronir.passes.hlo as hlo_passes
import neuronir.passes.lowering as lowering_passes
import neuronir.passes.nc as nc_passes
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine, register_machine
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes import pipelines
from neuronir.targets.encoding.from_ir import program_from_module
from neuronir.targets.simulator import functional
from neuronir.targets.trn1.machine import TRN1
from tests.oracle import random_array, run_xla

PASSES = {**hlo_passes.PASSES, **lowering_passes.PASSES, **nc_passes.PASSES}
Array = NDArray[Any]


def small(kilobytes: int) -> Machine:
    """Trn1 with that much SBUF in each partition."""
    machine = replace(TRN1, name=f"trn1-{kilobytes}k", sbuf_usable_partition_bytes=1024 * kilobytes)
    register_machine(machine)
    return machine


def virtual(text: str, machine: Machine, cast: str = "none") -> ModuleOp:
    """The nc module of an HLO program."""
    module = import_hlo_text(text, "test")
    run_passes(module, pipelines.to_target("trn1", auto_cast=cast))
    module.attributes["nc.machine"] = StringAttr(machine.name)
    run_passes(module, "hlo-assign-layouts,hlo-choose-blocks,lower-hlo-to-nc")
    module.verify()
    return module


def run_passes(module: ModuleOp, passes: str) -> None:
    """Run a pass string."""
    for spec in parse_pipeline(passes):
        PASSES[spec.name]().from_spec(spec).apply(Context(), module)


def execute(module: ModuleOp, machine: Machine, args: Sequence[Array]) -> list[Array]:
    """Run through all phases, as decoded, with the race checker."""
    run_passes(module, f"{pipelines.ORDERED},nc-spill,nc-assign-banks,nc-allocate,nc-synchronise")
    program: Program = program_from_module(module, machine)
    inputs = sorted((v for v in program.variables if v.kind == "input"), key=lambda v: v.index)
    options = functional.Options(races=True)
    return functional.run(program, [args[v.index] for v in inputs], machine, options).outputs


def check(text: str, kilobytes: int, loops: int, shapes: Sequence[Sequence[int]]) -> None:
    """Lower for a small SBUF, count the loops, and compare with XLA."""
    machine = small(kilobytes)
    rng = np.random.default_rng(0)
    args = [random_array(rng, shape, np.float32) for shape in shapes]
    module = virtual(text, machine)
    assert sum(op.name == "scf.for" for op in module.walk()) == loops
    for got, want in zip(execute(module, machine, args), run_xla(text, args), strict=True):
        np.testing.assert_allclose(
            np.asarray(got).reshape(want.shape), want, rtol=2e-4, atol=2e-5 * np.abs(want).max()
        )


ADD = """
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
"""
SOFTMAX = """
top {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
"""


def test_elementwise_rows() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[1024,256] parameter(0)
  y = f32[1024,256] parameter(1)
  s = f32[1024,256] multiply(x, y)
  t = f32[1024,256] tanh(s)
  ROOT r = f32[1024,256] add(t, x)
}"""
    check(text, 16, 1, [(1024, 256)] * 2)


def test_a_last_shorter_tile() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[1093,256] parameter(0)
  t = f32[1093,256] tanh(x)
  ROOT r = f32[1093,256] multiply(t, x)
}"""
    check(text, 16, 1, [(1093, 256)])


def test_two_results_and_a_row_vector() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[1024,256] parameter(0)
  g = f32[256] parameter(1)
  b = f32[1024,256] broadcast(g), dimensions={1}
  s = f32[1024,256] multiply(x, b)
  t = f32[1024,256] tanh(s)
  ROOT r = (f32[1024,256], f32[1024,256]) tuple(s, t)
}"""
    check(text, 16, 1, [(1024, 256), (256,)])


def test_reduction_that_comes_back() -> None:
    text = f"""HloModule m
{ADD}
ENTRY main {{
  x = f32[1024,256] parameter(0)
  zero = f32[] constant(0)
  s = f32[1024] reduce(x, zero), dimensions={{1}}, to_apply=sum
  n = f32[] constant(256)
  nb = f32[1024] broadcast(n), dimensions={{}}
  mean = f32[1024] divide(s, nb)
  mb = f32[1024,256] broadcast(mean), dimensions={{0}}
  ROOT r = f32[1024,256] subtract(x, mb)
}}"""
    check(text, 16, 1, [(1024, 256)])


def test_columns_where_rows_are_reduced() -> None:
    text = f"""HloModule m
{ADD}
ENTRY main {{
  x = f32[128,8192] parameter(0)
  t = f32[128,8192] tanh(x)
  zero = f32[] constant(0)
  s = f32[8192] reduce(t, zero), dimensions={{0}}, to_apply=sum
  sb = f32[128,8192] broadcast(s), dimensions={{1}}
  ROOT r = f32[128,8192] multiply(t, sb)
}}"""
    check(text, 32, 1, [(128, 8192)])


def test_rows_of_a_dot() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[1024,256] parameter(0)
  w = f32[256,512] parameter(1)
  d = f32[1024,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[1024,512] tanh(d)
}"""
    check(text, 22, 1, [(1024, 256), (256, 512)])


def test_columns_of_a_dot_stored_block_by_block() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[64,128] parameter(0)
  w = f32[5003,128] parameter(1)
  ROOT d = f32[64,5003] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}"""
    check(text, 16, 1, [(64, 128), (5003, 128)])


def test_attention_by_rows() -> None:
    text = f"""HloModule m
{ADD}{SOFTMAX}
ENTRY main {{
  q = f32[512,64] parameter(0)
  k = f32[512,64] parameter(1)
  kt = f32[64,512] transpose(k), dimensions={{1,0}}
  d = f32[512,512] dot(q, kt), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  low = f32[] constant(-inf)
  m = f32[512] reduce(d, low), dimensions={{1}}, to_apply=top
  mb = f32[512,512] broadcast(m), dimensions={{0}}
  sub = f32[512,512] subtract(d, mb)
  e = f32[512,512] exponential(sub)
  zero = f32[] constant(0)
  s = f32[512] reduce(e, zero), dimensions={{1}}, to_apply=sum
  sb = f32[512,512] broadcast(s), dimensions={{0}}
  p = f32[512,512] divide(e, sb)
  v = f32[512,64] parameter(2)
  ROOT r = f32[512,64] dot(p, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}"""
    check(text, 16, 1, [(512, 64)] * 3)


def test_what_fits_is_not_streamed() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[256,256] parameter(0)
  ROOT t = f32[256,256] tanh(x)
}"""
    check(text, 16, 0, [(256, 256)])


@pytest.mark.slow
def test_default_machine() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[8192,4096] parameter(0)
  t = f32[8192,4096] tanh(x)
  ROOT r = f32[8192,4096] multiply(t, x)
}"""
    module = virtual(text, TRN1)
    args = [random_array(np.random.default_rng(0), (8192, 4096), np.float32)]
    (got,) = execute(module, TRN1, args)
    np.testing.assert_allclose(np.asarray(got), np.tanh(args[0]) * args[0], rtol=1e-4, atol=1e-6)

"""`--auto-cast-type tf32` and `fp8_e4m3`: rounded operands of products, judged by XLA."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.measure import simulate
from neuronir.dialects.nc.cost import matmul_passes
from neuronir.dialects.support.tf32 import round_tf32
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.targets.registry import get_target
from tests.acceptance.programs import decoded
from tests.lowering.helpers import entry
from tests.oracle import run_xla
from tests.simulator_functional.faults import instructions

Array = NDArray[Any]
PROGRAMS = {
    "dot": (
        (4, 8),
        (8, 16),
        "f32[4,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    "batch": (
        (3, 5, 129),
        (3, 129, 7),
        "f32[3,5,7] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    ),
    "convolution": (
        (2, 9, 9, 3),
        (3, 3, 3, 5),
        "f32[2,7,7,5] convolution(a, b), window={size=3x3}, dim_labels=b01f_01io->b01f",
    ),
}


def round_fp8(values: Array) -> Array:
    return values.astype(ml_dtypes.float8_e4m3).astype(np.float32)


ROUND = {"tf32": round_tf32, "fp8_e4m3": round_fp8}


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
@pytest.mark.parametrize("kind", ROUND)
def test_products(kind: str, name: str, bound: bool) -> None:
    left, right, op = PROGRAMS[name]
    rng = np.random.default_rng(5)
    args = [rng.standard_normal(s).astype(np.float32) for s in (left, right)]
    dims = [",".join(map(str, s)) for s in (left, right)]
    text = entry(
        f"a = f32[{dims[0]}] parameter(0)", f"b = f32[{dims[1]}] parameter(1)", f"r = {op}"
    )
    (wanted,) = run_xla(text, [ROUND[kind](a) for a in args])
    (unrounded,) = run_xla(text, args)
    options = CompileOptions(auto_cast_type=kind, weights={"b": args[1]} if bound else {})
    result = compile_text(text, "trn1", options)
    (mine,) = simulate(decoded(result), args, result)
    np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-5)
    assert np.abs(unrounded - wanted).max() > 1e-4  # the rounding shows


@pytest.mark.parametrize("kind", ROUND)
def test_a_repeated_constant(kind: str) -> None:
    """Its conversion is folded into a scalar constant of the narrow type."""
    text = entry(
        "a = f32[4,8] parameter(0)",
        "c = f32[] constant(0.3)",
        "b = f32[8,16] broadcast(c), dimensions={}",
        "r = f32[4,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    a = np.arange(32, dtype=np.float32).reshape(4, 8) / 16
    rounded = ROUND[kind](a) @ ROUND[kind](np.full((8, 16), 0.3, np.float32))
    result = compile_text(text, "trn1", CompileOptions(auto_cast_type=kind))
    (mine,) = simulate(decoded(result), [a], result)
    np.testing.assert_allclose(mine, rounded, rtol=1e-6)


def test_a_product_takes_one_pass() -> None:
    """As in bf16: fp32 alone takes four."""
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = entry(
        "a = f32[256,256] parameter(0)",
        "b = f32[256,256] parameter(1)",
        f"r = f32[256,256] dot(a, b), {dims}",
    )
    machine = get_target("trn1").machine
    passes = {}
    for kind in ("bf16", "tf32", "fp8_e4m3"):
        program = decoded(compile_text(text, "trn1", CompileOptions(auto_cast_type=kind)))
        products = [i for i in instructions(program) if i.opcode == "matmul"]
        passes[kind] = [matmul_passes(i, machine) for i in products]
    assert set(passes["bf16"]) == {1}
    assert passes["tf32"] == passes["fp8_e4m3"] == passes["bf16"]


ATTENTION = """HloModule m

max { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT m = f32[] maximum(x, y) }

add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }

ENTRY main {
  q = f32[4,16,1,64] parameter(0)
  k = f32[4,16,777,64] parameter(1)
  v = f32[4,16,777,64] parameter(2)
  t = f32[4,16,64,777] transpose(k), dimensions={0,1,3,2}
  f = f32[4,16,1,777] dot(q, t), lhs_batch_dims={0,1}, lhs_contracting_dims={3},
    rhs_batch_dims={0,1}, rhs_contracting_dims={2}
  c = f32[] constant(0.125)
  w = f32[4,16,1,777] broadcast(c), dimensions={}
  s = f32[4,16,1,777] multiply(f, w)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[4,16,1] reduce(s, low), dimensions={3}, to_apply=max
  mw = f32[4,16,1,777] broadcast(m), dimensions={0,1,2}
  d = f32[4,16,1,777] subtract(s, mw)
  e = f32[4,16,1,777] exponential(d)
  n = f32[4,16,1] reduce(e, zero), dimensions={3}, to_apply=add
  nw = f32[4,16,1,777] broadcast(n), dimensions={0,1,2}
  p = f32[4,16,1,777] divide(e, nw)
  ROOT r = f32[4,16,1,64] dot(p, v), lhs_batch_dims={0,1}, lhs_contracting_dims={3},
    rhs_batch_dims={0,1}, rhs_contracting_dims={2}
}
"""


def test_attention_whose_last_product_is_computed_by_tiles() -> None:
    """The scores were left to the end of attention, which was no part of it: an internal error."""
    options = CompileOptions(auto_cast_type="tf32", tiling="never")
    with pytest.raises(RunFailure, match="NCC_EOOM002"):
        compile_text(ATTENTION, "trn1", options)

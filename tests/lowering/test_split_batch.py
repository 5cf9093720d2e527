"""Strands: the batch in slices, by XLA's numbers, and where it is not worth it."""

from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.batch import split_batch
from neuronir.passes.lowering.batch.split_batch import HloSplitBatchPass
from neuronir.passes.lowering.batch.strands import interleaved
from neuronir.targets.trn1.machine import TRN1
from tests.lowering.helpers import at_hlo
from tests.lowering.test_streaming import execute, run_passes
from tests.oracle import random_array, run_xla

ATTENTION = """HloModule m
top {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[4,16,32] parameter(0)
  w = f32[32,32] parameter(1)
  m = f32[4,16] parameter(2)
  q = f32[4,16,32] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  h = f32[4,16,2,16] reshape(q)
  s = f32[4,2,16,16] dot(h, h), lhs_batch_dims={0,2}, rhs_batch_dims={0,2},
    lhs_contracting_dims={3}, rhs_contracting_dims={3}
  b = f32[4,2,16,16] broadcast(m), dimensions={0,3}
  t = f32[4,2,16,16] add(s, b)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  n = f32[4,2,16] reduce(t, low), dimensions={3}, to_apply=top
  nb = f32[4,2,16,16] broadcast(n), dimensions={0,1,2}
  u = f32[4,2,16,16] subtract(t, nb)
  e = f32[4,2,16,16] exponential(u)
  d = f32[4,2,16] reduce(e, zero), dimensions={3}, to_apply=sum
  db = f32[4,2,16,16] broadcast(d), dimensions={0,1,2}
  p = f32[4,2,16,16] divide(e, db)
  o = f32[4,2,16,16] dot(p, h), lhs_batch_dims={0,1}, rhs_batch_dims={0,2},
    lhs_contracting_dims={3}, rhs_contracting_dims={1}
  k = f32[4,16,2,16] transpose(o), dimensions={0,2,1,3}
  y = f32[4,16,32] reshape(k)
  r = f32[4,16,32] add(y, x)
  c = f32[4,1,32] slice(r), slice={[0:4], [0:1], [0:32]}
  f = f32[4,32] reshape(c)
  ROOT z = (f32[4,16,32], f32[4,32]) tuple(r, f)
}"""


def ops(module: ModuleOp, name: str) -> int:
    return sum(op.name == name for op in module.walk())


@pytest.mark.parametrize("strands", [2, 4])
def test_attention(strands: int) -> None:
    shapes: Sequence[Sequence[int]] = [(4, 16, 32), (32, 32), (4, 16)]
    rng = np.random.default_rng(0)
    args = [random_array(rng, shape, np.float32) for shape in shapes]
    module = at_hlo(ATTENTION)
    before = ops(module, "hlo.dot")
    HloSplitBatchPass(target="trn1", strands=strands).apply(Context(), module)
    module.verify()
    assert ops(module, "hlo.dot") == strands * before
    assert ops(module, "hlo.concatenate") == 2
    for got, want in zip(lowered(module, args), run_xla(ATTENTION, args), strict=True):
        np.testing.assert_allclose(np.asarray(got).reshape(want.shape), want, rtol=2e-4, atol=1e-5)


def lowered(module: ModuleOp, args: Sequence[np.ndarray]) -> list[np.ndarray]:
    run_passes(
        module,
        "hlo-assign-layouts{target=trn1},hlo-choose-blocks{target=trn1},"
        "lower-hlo-to-nc{target=trn1}",
    )
    return execute(module, TRN1, args)


def test_small_products_are_left_alone() -> None:
    module = at_hlo(ATTENTION)
    HloSplitBatchPass(target="trn1").apply(Context(), module)
    assert not ops(module, "hlo.concatenate")


def test_a_batch_that_does_not_divide_is_left_alone() -> None:
    module = at_hlo(ATTENTION)
    HloSplitBatchPass(target="trn1", strands=3).apply(Context(), module)
    assert not ops(module, "hlo.concatenate")


def test_arguments_that_transfers_convert_are_left_alone() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[4096,3072] parameter(0)
  w = f32[3072,1024] parameter(1)
  ROOT d = f32[4096,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
    module = compile_text(text, "trn1", CompileOptions(compile_to="hlo")).module
    before = str(module)
    run_passes(module, "hlo-split-batch{target=trn1}")
    assert str(module) == before


def test_what_is_needed_whole_comes_once() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[4,32] parameter(0)
  w = f32[32,32] parameter(1)
  n = f32[32,32] tanh(w)
  d = f32[4,32] dot(x, n), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[4,32] exponential(d)
}"""
    module = at_hlo(text)
    HloSplitBatchPass(target="trn1", strands=2).apply(Context(), module)
    module.verify()
    assert ops(module, "hlo.tanh") == 1
    assert ops(module, "hlo.exponential") == 2


def test_rows_that_are_mixed_are_left_alone() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[4,4] parameter(0)
  t = f32[4,4] transpose(x), dimensions={1,0}
  e = f32[4,4] exponential(x)
  ROOT r = f32[4,4] dot(t, e), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
    module = at_hlo(text)
    HloSplitBatchPass(target="trn1", strands=2).apply(Context(), module)
    module.verify()
    assert ops(module, "hlo.exponential") == 1


PHASES = """HloModule m
ENTRY main {
  x = f32[8,128,512] parameter(0)
  w = f32[512,512] parameter(1)
  a = f32[8,128,512] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  b = f32[8,128,512] dot(a, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  s = f32[8,128,512] add(b, x)
  c = f32[8,128,512] dot(s, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  ROOT t = f32[8,128,512] add(c, x)
}"""


def test_the_strand_with_the_least_products_before_a_vector_phase_goes_first() -> None:
    (function,) = at_hlo(PHASES).ops
    assert isinstance(function, FuncOp)
    dots = [op for op in function.body.block.ops if isinstance(op, DotOp)]
    mine = [op for op in function.body.block.ops if op.results and not isinstance(op, ConstantOp)]
    number = {op: i for i, op in enumerate(dots)}
    order = [(s, number[op]) for s, op in interleaved(mine, 2, TRN1) if isinstance(op, DotOp)]
    assert order == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_layers_of_a_large_program_are_left_by_all_strands_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(split_batch, "MOST_COPIES", 2)
    module = at_hlo(ATTENTION)
    HloSplitBatchPass(target="trn1", strands=2).apply(Context(), module)
    assert "hlo.strands" not in str(module)
    assert ops(module, "hlo.concatenate") == 2

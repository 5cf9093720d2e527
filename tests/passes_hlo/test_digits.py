"""Products of 32-bit integers in digits: exact, in steps that fp32 computes exactly."""

from itertools import product as pairs_of

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.walking import walk
from neuronir.passes.hlo.integers import digits
from neuronir.passes.hlo.integers.pairs import full_product
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.walk import erase_dead
from tests.passes_hlo.helpers import program, run_passes

EDGES = [0, 1, 2047, 2048, 65535, 65536, 2**22 - 1, 2**22, 2**31 - 1, 2**31, 2**32 - 1]
FACTOR = 3528531795


def _module(second: str) -> ModuleOp:
    """A sum and a difference of `p` and `second`: an argument `q`, or a constant `k`."""
    return program(f"""ENTRY e {{
  p = u32[200] parameter(0)
  q = u32[200] parameter(1)
  c = u32[] constant({FACTOR})
  k = u32[200] broadcast(c), dimensions={{}}
  l = u32[200] add(p, {second})
  h = u32[200] subtract(p, {second})
  ROOT t = (u32[200], u32[200]) tuple(l, h)
}}
""")


def _op(module: ModuleOp, name: str) -> Operation:
    return next(op for op in walk(module) if op.name == name)


def _with_product(module: ModuleOp) -> ModuleOp:
    """Put the halves of a product in place of the sum and the difference."""
    low, high = _op(module, "hlo.add"), _op(module, "hlo.subtract")
    found = digits.full_product(Emitter(low), *low.operands)
    low.results[0].replace_all_uses_with(found.low)
    high.results[0].replace_all_uses_with(found.high)
    for op in (low, high):
        erase_dead(op)
    return run_passes(module, "hlo-canonicalize,hlo-constant-fold,hlo-canonicalize,hlo-cse,hlo-dce")


@pytest.mark.parametrize("second", ["q", "k"])
def test_products_of_64_bits(second: str) -> None:
    edges = np.array(list(pairs_of(EDGES, EDGES)), np.uint64)
    drawn = np.random.default_rng(0).integers(0, 2**32, (200 - len(edges), 2), dtype=np.uint64)
    x, y = np.concatenate([edges, drawn]).T
    module = _with_product(_module(second))
    low, high = interpret(module, [v.astype(np.uint32) for v in (x, y)])
    expected = x * (y if second == "q" else np.uint64(FACTOR))
    np.testing.assert_array_equal(low, expected & np.uint64(0xFFFFFFFF))
    np.testing.assert_array_equal(high, expected >> np.uint64(32))


@pytest.mark.parametrize("second", ["q", "k"])
def test_every_step_is_exact_in_fp32(second: str) -> None:
    """The intervals of hlo-exact-integers find nothing to rewrite."""
    module = _with_product(_module(second))
    before = str(module)
    assert str(run_passes(module, "hlo-exact-integers")) == before


def test_products_of_halves_are_not_exact_in_fp32() -> None:
    """The check above fails for the steps of machines that compute integers."""
    module = _module("q")
    low = _op(module, "hlo.add")
    low.results[0].replace_all_uses_with(full_product(Emitter(low), *low.operands).high)
    erase_dead(low)
    before = str(module)
    assert str(run_passes(module, "hlo-exact-integers")) != before

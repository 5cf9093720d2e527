"""hlo-find-composites on the ways in which functions are printed, and on what must not be taken."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.passes import statistics
from neuronir.passes.pipelines import PIPELINES
from tests.passes_hlo.helpers import assert_same, program, run_passes

REDUCERS = """
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
"""


def found(body: str, *shapes: tuple[int, ...]) -> dict[str, int]:
    """What is found in an entry computation of parameters p0, p1 ...; values have to stay."""
    lines = [f"  p{i} = f32[{','.join(map(str, s))}] parameter({i})" for i, s in enumerate(shapes)]
    module = program(REDUCERS + "\nENTRY main {\n" + "\n".join(lines) + "\n" + body + "}\n")
    rng = np.random.default_rng(1)
    args = [rng.uniform(0.2, 2, s).astype(np.float32) for s in shapes]
    before = interpret(module, args)
    statistics.reset()
    run_passes(module, PIPELINES["hlo-simplify"] + ",hlo-find-composites")
    assert_same(before, interpret(module, args))
    counts = statistics.snapshot()["hlo-find-composites"]
    return {k: n for k, n in counts.items() if k != "composites"}


GELU_ERF = """
  s = f32[] constant({scale})
  sb = f32[4,8] broadcast(s), dimensions={{}}
  h = f32[] constant({half})
  hb = f32[4,8] broadcast(h), dimensions={{}}
  one = f32[] constant(1)
  ob = f32[4,8] broadcast(one), dimensions={{}}
  a = f32[4,8] multiply(p0, sb)
  e = f32[4,8] erf(a)
  t = f32[4,8] add(e, ob)
  x = f32[4,8] multiply(p0, t)
  ROOT r = f32[4,8] multiply(x, hb)
"""


@pytest.mark.parametrize(
    ("scale", "half", "wanted"),
    [
        (0.70710678, 0.5, {"gelu_exact": 1}),
        (0.7070, 0.5, {}),
        (0.70710678, 0.4999, {}),
        (1.41421356, 0.5, {}),
    ],
)
def test_gelu_needs_its_constants(scale: float, half: float, wanted: dict[str, int]) -> None:
    assert found(GELU_ERF.format(scale=scale, half=half), (4, 8)) == wanted


def test_tanh_form_of_logistic() -> None:
    body = """
  h = f32[] constant(0.5)
  hb = f32[4,8] broadcast(h), dimensions={}
  one = f32[] constant(1)
  ob = f32[4,8] broadcast(one), dimensions={}
  a = f32[4,8] multiply(p0, hb)
  t = f32[4,8] tanh(a)
  b = f32[4,8] add(t, ob)
  ROOT r = f32[4,8] multiply(b, hb)
"""
    assert found(body, (4, 8)) == {"logistic": 1}


LAYER_NORM = """
  zero = f32[] constant(0)
  n = f32[] constant({count})
  nb = f32[4] broadcast(n), dimensions={{}}
  eps = f32[] constant(1e-5)
  eb = f32[4] broadcast(eps), dimensions={{}}
  s = f32[4] reduce(p0, zero), dimensions={{1}}, to_apply=sum
  m = f32[4] divide(s, nb)
  mb = f32[4,8] broadcast(m), dimensions={{0}}
  c = f32[4,8] subtract(p0, mb)
  q = f32[4,8] multiply(c, c)
  qs = f32[4] reduce(q, zero), dimensions={{1}}, to_apply=sum
  v = f32[4] divide(qs, nb)
  ve = f32[4] add(v, eb)
  d = f32[4] sqrt(ve)
  db = f32[4,8] broadcast(d), dimensions={{0}}
  z = f32[4,8] divide(c, db)
  gb = f32[4,8] broadcast(p1), dimensions={{1}}
  zg = f32[4,8] multiply(z, gb)
  bb = f32[4,8] broadcast(p2), dimensions={{1}}
  ROOT r = f32[4,8] add(zg, bb)
"""


def test_layer_norm_in_the_form_of_torch() -> None:
    assert found(LAYER_NORM.format(count=8), (4, 8), (8,), (8,)) == {"layer_norm": 1}


def test_layer_norm_by_another_count_is_none() -> None:
    assert found(LAYER_NORM.format(count=7), (4, 8), (8,), (8,)) == {}


SOFTMAX = """
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  m = f32[4] reduce(p0, low), dimensions={{{peak}}}, to_apply=max
  mb = f32[4,4] broadcast(m), dimensions={{0}}
  d = f32[4,4] subtract(p0, mb)
  e = f32[4,4] exponential(d)
  s = f32[4] reduce(e, zero), dimensions={{1}}, to_apply=sum
  sb = f32[4,4] broadcast(s), dimensions={{{spread}}}
  ROOT r = f32[4,4] divide(e, sb)
"""


@pytest.mark.parametrize(
    ("peak", "spread", "wanted"), [(1, 0, {"softmax": 1}), (1, 1, {}), (0, 0, {})]
)
def test_softmax_needs_matching_dimensions(peak: int, spread: int, wanted: dict[str, int]) -> None:
    assert found(SOFTMAX.format(peak=peak, spread=spread), (4, 4)) == wanted


BATCH_NORM = """
  eps = f32[] constant(1e-5)
  eb = f32[3] broadcast(eps), dimensions={}
  mb = f32[2,5,5,3] broadcast(p3), dimensions={3}
  c = f32[2,5,5,3] subtract(p0, mb)
  ve = f32[3] add(p4, eb)
  i = f32[3] rsqrt(ve)
  s = f32[3] multiply(i, p1)
  sb = f32[2,5,5,3] broadcast(s), dimensions={3}
  z = f32[2,5,5,3] multiply(c, sb)
  bb = f32[2,5,5,3] broadcast(p2), dimensions={3}
  ROOT r = f32[2,5,5,3] add(z, bb)
"""


def test_batch_norm() -> None:
    shapes = ((2, 5, 5, 3), (3,), (3,), (3,), (3,))
    assert found(BATCH_NORM, *shapes) == {"batch_norm_inference": 1}


def test_operands_follow_the_documented_order() -> None:
    shapes = ((2, 5, 5, 3), (3,), (3,), (3,), (3,))
    lines = [f"  p{i} = f32[{','.join(map(str, s))}] parameter({i})" for i, s in enumerate(shapes)]
    module = program("ENTRY main {\n" + "\n".join(lines) + BATCH_NORM + "}\n")
    run_passes(module, PIPELINES["hlo-simplify"] + ",hlo-find-composites")
    function = next(iter(module.body.block.ops))
    block = function.regions[0].block
    composite = next(op for op in block.ops if op.name == "hlo.composite")
    assert list(composite.operands) == list(block.args)

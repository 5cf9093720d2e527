"""Products of a gate, on machines whose SBUF holds neither side whole: h = f(x @ w1) * (x @ w2)."""

import re

import numpy as np
import pytest

from neuronir.targets.trn1.machine import TRN1
from tests.lowering.test_streaming import execute, small, virtual
from tests.oracle import random_array, run_xla


def gated(
    rest: str, rows: int = 1024, width: int = 512, features: int = 1024, last: str = ""
) -> str:
    """h of so many rows and features, of x of that width, and the lines of `rest`, which may use a
    weight `w3`."""
    h = f"f32[{rows},{features}]"
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    return f"""HloModule m
ENTRY main {{
  x = f32[{rows},{width}] parameter(0)
  w1 = f32[{width},{features}] parameter(1)
  w2 = f32[{width},{features}] parameter(2)
  w3 = f32[{last or f"{features},{width}"}] parameter(3)
  a = {h} dot(x, w1), {dims}
  g = {h} tanh(a)
  u = {h} dot(x, w2), {dims}
  h = {h} multiply(g, u)
  {rest}
}}"""


PRODUCT = "ROOT r = f32[1024,512] dot(h, w3), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
BESIDE = PRODUCT.replace("ROOT r", "p")
SUM = """add {
  b = f32[] parameter(0)
  c = f32[] parameter(1)
  ROOT d = f32[] add(b, c)
}
"""
PROGRAMS = {
    "one product": (gated(PRODUCT), 40),
    "contraction in rows": (
        gated(
            PRODUCT.replace("rhs_contracting_dims={0}", "rhs_contracting_dims={1}"),
            last="512,1024",
        ),
        40,
    ),
    "a shorter tile": (gated(PRODUCT, features=1088), 44),
    "two products": (
        gated(
            BESIDE
            + """
  q = f32[512,1024] dot(w3, h), lhs_contracting_dims={0}, rhs_contracting_dims={1}
  ROOT r = (f32[1024,512], f32[512,1024]) tuple(p, q)"""
        ),
        64,
    ),
    "a result": (
        gated(BESIDE + "\n  ROOT r = (f32[1024,512], f32[1024,1024]) tuple(p, h)"),
        40,
    ),
    "a sum": (
        gated(
            BESIDE
            + """
  s = f32[] constant(0)
  t = f32[1024] reduce(h, s), dimensions={1}, to_apply=add
  ROOT r = (f32[1024,512], f32[1024]) tuple(p, t)"""
        ).replace("ENTRY", SUM + "ENTRY"),
        40,
    ),
    "few rows": (gated(PRODUCT.replace("1024,512", "64,512"), rows=64, features=2048), 24),
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_gate_that_does_not_fit(what: str) -> None:
    text, kilobytes = PROGRAMS[what]
    machine = small(kilobytes)
    rng = np.random.default_rng(0)
    shapes = re.findall(r"[xw]\d? = f32\[(\S+)\] parameter", text)
    args = [random_array(rng, [int(n) for n in s.split(",")], np.float32) for s in shapes]
    module = virtual(text, machine)
    for got, want in zip(execute(module, machine, args), run_xla(text, args), strict=True):
        np.testing.assert_allclose(
            np.asarray(got).reshape(want.shape), want, rtol=2e-4, atol=2e-5 * np.abs(want).max()
        )


GATES = {
    "plain": ["ROOT r = T multiply(u, g)"],
    "after a bias": ["p = T add(u, b)", "ROOT r = T multiply(g, p)"],
    "after a scale": ["p = T multiply(u, k)", "ROOT r = T multiply(p, g)"],
    "after both": ["p = T multiply(u, k)", "q = T add(p, b)", "ROOT r = T multiply(q, g)"],
    "before a function": ["p = T multiply(u, g)", "ROOT r = T maximum(p, z)"],
    "before a bias": ["p = T multiply(u, g)", "ROOT r = T add(p, b)"],
    "twice": ["p = T multiply(u, g)", "ROOT r = T multiply(p, g)"],
}


@pytest.mark.parametrize("what", GATES)
def test_gate_is_multiplied_as_the_product_is_evicted(what: str) -> None:
    lines = [
        "x = f32[64,96] parameter(0)",
        "w = f32[96,200] parameter(1)",
        "v = f32[96,200] parameter(2)",
        "c = f32[200] parameter(3)",
        "b = T broadcast(c), dimensions={1}",
        "half = f32[] constant(0.5)",
        "k = T broadcast(half), dimensions={}",
        "zero = f32[] constant(0)",
        "z = T broadcast(zero), dimensions={}",
        "a = T dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "g = T tanh(a)",
        "u = T dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        *GATES[what],
    ]
    text = "HloModule m\nENTRY main {\n" + "\n".join(lines) + "\n}"
    text = text.replace("= T ", "= f32[64,200] ")
    rng = np.random.default_rng(1)
    args = [random_array(rng, s, np.float32) for s in ((64, 96), (96, 200), (96, 200), (200,))]
    module = virtual(text, TRN1)
    for got, want in zip(execute(module, TRN1, args), run_xla(text, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)

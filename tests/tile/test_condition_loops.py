"""Loops whose condition depends on what their iterations compute, at every phase, against XLA."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.driver import CompileOptions, compile_text
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from tests.differential.stages import NC_PHASES, judge, stages
from tests.oracle import hlo_text, run_xla

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

Array = NDArray[Any]
Program = Callable[..., Any]


def _random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _halve(x: Any) -> Any:
    return lax.while_loop(lambda v: jnp.max(v) > 1, lambda v: v * 0.5, x)


def _newton(a: Any) -> Any:
    """Square roots; the error is squared in each iteration, so roundings do not decide."""

    def off(x: Any) -> Any:
        return jnp.max(jnp.abs(x * x - a))

    return lax.while_loop(lambda x: off(x) > 1e-2, lambda x: 0.5 * (x + a / x), a)


def _power(a: Any, v: Any) -> Any:
    """Power iteration until the residual is small."""

    def body(c: Any) -> Any:
        v, _, n = c
        w = a @ v
        w = w / jnp.sqrt(jnp.sum(w * w))
        return w, jnp.sum((w - v) ** 2), n + 1

    return lax.while_loop(lambda c: c[1] > 3e-2, body, (v, jnp.float32(9), jnp.int32(0)))


def _collatz(n: Any) -> Any:
    def body(c: Any) -> Any:
        n, steps = c
        return jnp.where(n & 1 == 1, 3 * n + 1, n >> 1), steps + 1

    return lax.while_loop(lambda c: c[0] != 1, body, (n, jnp.int32(0)))


def _euclid(a: Any, b: Any) -> Any:
    """The greatest common divisor by subtraction: the states exchange their values."""

    def body(c: Any) -> Any:
        a, b = c
        return jnp.minimum(a, b), jnp.maximum(a, b) - jnp.minimum(a, b)

    return lax.while_loop(lambda c: c[1] != 0, body, (a, b))


def _exchange(x: Any, y: Any) -> Any:
    return lax.while_loop(lambda c: jnp.sum(c[0]) > 20.0, lambda c: (c[1], c[0] * 0.5), (x, y))


def _bf16(x: Any) -> Any:
    return lax.while_loop(
        lambda v: jnp.max(v) > 1, lambda v: v * jnp.bfloat16(0.5), x.astype(jnp.bfloat16)
    )


def _flag(x: Any) -> Any:
    """The condition itself is a state."""

    def body(c: Any) -> Any:
        v, _ = c
        return jnp.tanh(v), jnp.max(v) < 0.5

    return lax.while_loop(lambda c: jnp.logical_not(c[1]), body, (x, jnp.min(x) > 100.0))


def _limit(x: Any, n: Any) -> Any:
    """At most `n` iterations."""

    def more(c: Any) -> Any:
        return (c[0] < n) & (jnp.max(c[1]) > 0.3)

    return lax.while_loop(more, lambda c: (c[0] + 1, c[1] * 0.75), (jnp.int32(0), x))


def _inner(x: Any) -> Any:
    return lax.while_loop(lambda v: jnp.max(v) > 1, lambda v: v * 0.75, x)


def _in_a_while(x: Any) -> Any:
    def body(c: Any) -> Any:
        v, scale = c
        return _inner(v) * scale, scale * 0.5

    return lax.while_loop(lambda c: c[1] > 0.9, body, (x, jnp.float32(6)))


def _in_a_counted_loop(x: Any, n: Any) -> Any:
    return lax.fori_loop(0, n, lambda i, v: _inner(v) * 2.5, x)


def _in_a_static_loop(x: Any) -> Any:
    return lax.fori_loop(0, 70, lambda i, v: _inner(v) * 1.5 + 0.1, x)


def _counted_inside(x: Any, n: Any) -> Any:
    def body(v: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, u: u * 0.9, v) - 0.25

    return lax.while_loop(lambda v: jnp.max(v) > 1, body, x)


def _static_inside(x: Any) -> Any:
    def body(v: Any) -> Any:
        return lax.fori_loop(0, 70, lambda i, u: u * 0.99, v)

    return lax.while_loop(lambda v: jnp.max(v) > 1, body, x)


def _branch(x: Any) -> Any:
    def body(c: Any) -> Any:
        v, n = c
        return lax.cond(n % 2 == 0, lambda u: u * 0.5, lambda u: u - 0.1, v), n + 1

    return lax.while_loop(lambda c: jnp.max(c[0]) > 0.4, body, (x, jnp.int32(0)))


def _decode(table: Any, first: Any) -> Any:
    """Greedy decoding: write tokens until the end token, or until there is no room."""
    end, room = 3, 12

    def body(c: Any) -> Any:
        tokens, i, token = c
        token = lax.argmax(table[token], 0, jnp.int32)
        return lax.dynamic_update_slice(tokens, token[None], (i,)), i + 1, token

    def more(c: Any) -> Any:
        return (c[2] != end) & (c[1] < room)

    return lax.while_loop(more, body, (jnp.zeros(room, jnp.int32), jnp.int32(0), first))


def _two(x: Any) -> Any:
    first = _inner(x)
    return lax.while_loop(lambda v: jnp.min(v) > -3, lambda v: v - jnp.abs(first), first * 2), first


def _outside(x: Any) -> Any:
    """A condition with a large value from outside, and outputs that the loop does not change."""
    y = jnp.tanh(x)
    z = lax.while_loop(lambda v: jnp.sum(v * y) > 5, lambda v: v * 0.5, x)
    return y, z, z + y


def _dot(x: Any) -> Any:
    return lax.while_loop(lambda v: jnp.max(v) > 1, lambda v: (v @ v) * 0.01, x)


def _nested_condition(x: Any) -> Any:
    """The condition contains a loop."""
    return lax.while_loop(lambda v: jnp.sum(_inner(v)) > 1, lambda v: v * 0.5 - 0.01, x)


BIG = np.abs(_random(40, 64)) * 10
SPD = (lambda m: m @ m.T / 32 + 4 * np.ones((32, 32), np.float32) / 32)(_random(32, 32))
TABLE = np.roll(np.eye(8, dtype=np.float32), 1, 1)
PROGRAMS: list[tuple[Program, list[list[Any]]]] = [
    (_halve, [[BIG], [BIG / 100], [BIG * 1e6]]),
    (_halve, [[np.float32(37)], [np.float32(1)]]),
    (_newton, [[np.abs(_random(8)) + 1], [np.ones(8, np.float32)]]),
    (_power, [[SPD, _random(32, seed=1)]]),
    (_collatz, [[np.int32(n)] for n in (1, 2, 27)]),
    (_euclid, [[np.int32(84), np.int32(36)], [np.int32(7), np.int32(0)]]),
    (_exchange, [[BIG, BIG * 2], [BIG * 0, BIG]]),
    (_bf16, [[BIG], [BIG / 100]]),
    (_flag, [[BIG], [BIG + 200]]),
    (_limit, [[BIG, np.int32(n)] for n in (0, 3, 100)]),
    (_in_a_while, [[BIG]]),
    (_in_a_counted_loop, [[BIG, np.int32(n)] for n in (0, 1, 4)]),
    (_in_a_static_loop, [[BIG]]),
    (_counted_inside, [[BIG, np.int32(n)] for n in (0, 5)]),
    (_static_inside, [[BIG], [BIG / 100]]),
    (_branch, [[BIG]]),
    (_decode, [[TABLE, np.int32(n)] for n in (0, 3, 4)]),
    (_two, [[BIG]]),
    (_outside, [[BIG], [BIG / 1000]]),
    (_dot, [[BIG[:32, :32] / 4], [BIG[:32, :32] / 1000]]),
    (_nested_condition, [[BIG]]),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=lambda n: PROGRAMS[n][0].__name__)
@pytest.mark.thin(2)
def test_every_phase(number: int) -> None:
    """The binary is run with the race checker."""
    function, inputs = PROGRAMS[number]
    text = hlo_text(function, inputs[0])
    module = import_hlo_text(text, "test.hlo")
    for args in inputs:
        args = [np.asarray(a) for a in args]
        reference = {f"out{i}": a for i, a in enumerate(run_xla(text, args))}
        for stage in stages(text, args, phases=("hlo", "tiled", *NC_PHASES, "binary")):
            report = judge(module, stage.outputs, args, reference)
            assert report.ok, f"{stage.phase}: {report.render()}"


def test_all_states_are_results() -> None:
    """The root of the program is the tuple that the loop returns."""
    text = """HloModule m
body {
  t = (f32[8], s32[]) parameter(0)
  x = f32[8] get-tuple-element(t), index=0
  n = s32[] get-tuple-element(t), index=1
  one = s32[] constant(1)
  next = s32[] add(n, one)
  c = f32[] constant(0.5)
  half = f32[8] broadcast(c), dimensions={}
  y = f32[8] multiply(x, half)
  ROOT r = (f32[8], s32[]) tuple(y, next)
}
cond {
  t = (f32[8], s32[]) parameter(0)
  n = s32[] get-tuple-element(t), index=1
  bits = s32[] constant(7)
  low = s32[] and(n, bits)
  zero = s32[] constant(0)
  ROOT g = pred[] compare(low, zero), direction=NE
}
ENTRY e {
  x = f32[8] parameter(0)
  n = s32[] parameter(1)
  t = (f32[8], s32[]) tuple(x, n)
  ROOT w = (f32[8], s32[]) while(t), condition=cond, body=body
}
"""
    x = np.arange(8, dtype=np.float32)
    program = compile_text(text, "trn1", CompileOptions(auto_cast="none")).program
    assert program is not None
    for first, end, count in ((3, 8, 5), (16, 16, 0)):
        args = [x, np.asarray(first, np.int32)]
        outputs = run(program, args, get_target("trn1").machine).outputs
        np.testing.assert_array_equal(outputs[0], x * 0.5**count)
        assert int(outputs[1]) == end


@pytest.mark.slow
def test_a_state_that_stays_in_hbm() -> None:
    """The condition is a reduction over an array that is larger than SBUF."""
    array = np.abs(_random(4096, 2048)) * 10
    text = hlo_text(_halve, [array])
    module = import_hlo_text(text, "test.hlo")
    reference = {"out0": run_xla(text, [array])[0]}
    for stage in stages(text, [array], phases=("tiled", "virtual", "synchronised")):
        report = judge(module, stage.outputs, [array], reference)
        assert report.ok, f"{stage.phase}: {report.render()}"

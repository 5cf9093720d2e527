"""Loops whose trip count the program computes, at every phase, against XLA."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.frontends.hlo_text import import_hlo_text
from tests.differential.stages import NC_PHASES, judge, stages
from tests.oracle import hlo_text, run_xla

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

Array = NDArray[Any]
ROWS = np.random.default_rng(0).standard_normal((40, 64)).astype(np.float32)
SQUARE = (np.random.default_rng(1).standard_normal((128, 128)) / 8).astype(np.float32)


def _dot(x: Any, n: Any) -> Any:
    return lax.fori_loop(0, n, lambda i, v: jnp.tanh(v @ v + 0.1), x)


def _counter(x: Any, n: Any) -> Any:
    return lax.fori_loop(0, n, lambda i, v: v * 0.5 + i.astype(jnp.float32), x)


def _between(x: Any, a: Any, b: Any) -> Any:
    return lax.fori_loop(a, b, lambda i, v: v * 0.5 + i.astype(jnp.float32), x)


def _down(x: Any, n: Any) -> Any:
    def body(carried: Any) -> Any:
        i, v = carried
        return i - 1, jnp.sin(v) + i.astype(jnp.float32)

    return lax.while_loop(lambda c: c[0] > 0, body, (n, x))


def _down_to(x: Any, n: Any) -> Any:
    def body(carried: Any) -> Any:
        i, v = carried
        return i - 1, jnp.tanh(v + 0.3)

    return lax.while_loop(lambda c: c[0] >= 2, body, (n, x))


def _up_to(x: Any, n: Any) -> Any:
    def body(carried: Any) -> Any:
        i, v = carried
        return i + 1, jnp.tanh(v + 0.3)

    return lax.while_loop(lambda c: c[0] <= n, body, (jnp.int32(2), x))


def _until_equal(x: Any, n: Any) -> Any:
    return lax.while_loop(lambda c: c[0] != n, lambda c: (c[0] + 1, c[1] * 0.5), (jnp.int32(-2), x))


def _unsigned(x: Any, n: Any) -> Any:
    count = n.astype(jnp.uint32)
    start = jnp.uint32(2)
    return lax.while_loop(lambda c: c[0] < count, lambda c: (c[0] + 1, c[1] * 0.5), (start, x))


def _in_a_loop(x: Any, n: Any) -> Any:
    def outer(j: Any, u: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, v: jnp.tanh(v + 0.3), u) * 0.9

    return lax.fori_loop(0, 3, outer, x)


def _triangle(x: Any, n: Any) -> Any:
    def outer(j: Any, u: Any) -> Any:
        return lax.fori_loop(0, j, lambda i, v: jnp.tanh(v + 0.3), u) * 0.9

    return lax.fori_loop(0, n, outer, x)


def _static_inside(x: Any, n: Any) -> Any:
    def outer(j: Any, u: Any) -> Any:
        return lax.fori_loop(0, 70, lambda i, v: jnp.tanh(v + 0.3), u) * 0.9

    return lax.fori_loop(0, n, outer, x)


def _slices(x: Any, n: Any) -> Any:
    def body(i: Any, c: Any) -> Any:
        return c[0] + x[i], c[1].at[i].set(c[0])

    return lax.fori_loop(0, n, body, (jnp.zeros(64, jnp.float32), x * 2))


def _ignores_its_state(x: Any, n: Any) -> Any:
    return lax.fori_loop(
        0, n, lambda i, v: jnp.full(v.shape, 2.0, jnp.float32) * i.astype(jnp.float32), x
    )


def _two(x: Any, n: Any) -> Any:
    first = lax.fori_loop(0, n, lambda i, v: jnp.tanh(v + 0.3), x)
    return lax.fori_loop(0, n + 1, lambda i, v: jnp.cos(v), first + 1)


def _computed(x: Any, n: Any) -> Any:
    count = jnp.sum(x > n.astype(jnp.float32) * 0.1 + 2, dtype=jnp.int32)
    return lax.fori_loop(0, count, lambda i, v: jnp.tanh(v + 0.3), x)


PROGRAMS: list[tuple[Callable[..., Any], Array, list[tuple[int, ...]]]] = [
    (_dot, SQUARE, [(0,), (1,), (5,)]),
    (_counter, ROWS, [(0,), (-3,), (5,)]),
    (_between, ROWS, [(2, 2), (-3, 4), (5, 1)]),
    (_down, ROWS, [(0,), (4,), (-2,)]),
    (_down_to, ROWS, [(1,), (2,), (6,)]),
    (_up_to, ROWS, [(1,), (2,), (6,)]),
    (_until_equal, ROWS, [(-2,), (3,)]),
    (_unsigned, ROWS, [(0,), (2,), (7,)]),
    (_in_a_loop, ROWS, [(0,), (1,), (4,)]),
    (_triangle, ROWS, [(0,), (1,), (4,)]),
    (_static_inside, ROWS, [(0,), (3,)]),
    (_slices, ROWS, [(0,), (7,)]),
    (_ignores_its_state, ROWS, [(0,), (4,)]),
    (_two, ROWS, [(0,), (4,)]),
    (_computed, ROWS, [(0,), (50,)]),
]


@pytest.mark.parametrize(
    ("function", "array", "counts"), PROGRAMS, ids=[p[0].__name__[1:] for p in PROGRAMS]
)
@pytest.mark.thin(2)
def test_every_phase(
    function: Callable[..., Any], array: Array, counts: list[tuple[int, ...]]
) -> None:
    """The binary is run with the race checker."""
    given = [array, *(np.array(n, np.int32) for n in counts[0])]
    text = hlo_text(function, given)
    module = import_hlo_text(text, "test.hlo")
    for count in counts:
        args = [array, *(np.array(n, np.int32) for n in count)]
        reference = {f"out{i}": a for i, a in enumerate(run_xla(text, args))}
        for stage in stages(text, args, phases=("hlo", "tiled", *NC_PHASES, "binary")):
            report = judge(module, stage.outputs, args, reference)
            assert report.ok, f"{count}, {stage.phase}: {report.render()}"


@pytest.mark.slow
def test_a_state_that_stays_in_hbm() -> None:
    """Each iteration reads what the one before has written, in a loop with a known count, too."""

    def function(x: Any) -> Any:
        return lax.fori_loop(0, 40, lambda i, v: jnp.tanh(v) * 1.5, x)

    array = np.random.default_rng(2).standard_normal((4096, 2048)).astype(np.float32)
    text = hlo_text(function, [array])
    reference = {"out0": run_xla(text, [array])[0]}
    module = import_hlo_text(text, "test.hlo")
    for stage in stages(text, [array], phases=("tiled", "virtual")):
        report = judge(module, stage.outputs, [array], reference)
        assert report.ok, f"{stage.phase}: {report.render()}"

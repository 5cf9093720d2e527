"""The states of a loop change all at once: a value may be the old value of another state."""

from collections.abc import Callable
from math import cos, sin
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run
from tests.oracle import hlo_text, run_xla

jax = pytest.importorskip("jax")
jnp = jax.numpy
Array = NDArray[Any]
C, S = np.float32(cos(0.3)), np.float32(sin(0.3))
STEPS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "exchange": lambda x, y: (y, x),
    "scaled": lambda x, y: (y * 1.01, x),
    "delay": lambda x, y: (0.5 * x + 0.5 * y, x),
    "rotation": lambda x, y: (x * C - y * S, x * S + y * C),
    "reverse": lambda x, y: (x[::-1], y + x),
    "roll": lambda x, y: (jnp.roll(y, 1, 0), x),
    "transpose": lambda x, y: (x.T, y + x),
}


def check(step: Callable[..., Any], args: list[Array], count: int, *, computed: bool) -> None:
    """Compare a loop, whose trip count may be an argument, with XLA."""

    def function(*given: Any) -> Any:
        *states, number = given if computed else (*given, np.int32(count))
        return jax.lax.fori_loop(np.int32(0), number, lambda i, s: step(*s), tuple(states))

    whole: list[Array] = [*args, np.asarray(count, np.int32)] if computed else args
    text = hlo_text(function, whole).replace("s64", "s32")  # the counter
    program = compile_text(text, "trn1", CompileOptions(auto_cast="none", tiling="always")).program
    assert program is not None
    outputs = run(program, whole, get_target("trn1").machine).outputs
    for got, expected in zip(outputs, run_xla(text, whole), strict=True):
        # Two roundings of fp32 in each iteration, which no step enlarges.
        assert np.abs(got - expected).max() <= 2 * count * 2.0**-23 * np.abs(expected).max()


def arrays(shape: tuple[int, ...], count: int = 2) -> list[Array]:
    rng = np.random.default_rng(shape)
    return [rng.standard_normal(shape, np.float32) for _ in range(count)]


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_states_on_the_chip(name: str, computed: bool) -> None:
    check(STEPS[name], arrays((32, 32)), 103, computed=computed)


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize(
    "name", ["exchange", "delay", pytest.param("reverse", marks=pytest.mark.slow)]
)
@pytest.mark.thin(2)
def test_states_in_hbm(name: str, computed: bool) -> None:
    check(STEPS[name], arrays((2048, 3000)), 9 if computed else 33, computed=computed)


def test_three_states_in_a_cycle_and_one_beside_it() -> None:
    check(lambda x, y, z, u: (y, z, x, x + 0.5 * u), arrays((64, 8), 4), 100, computed=False)


def test_a_state_that_is_a_view_of_itself() -> None:
    """Its elements change places within the partitions that hold them."""

    def turned(x: Any, y: Any) -> tuple[Any, Any]:
        return x.transpose(0, 2, 1), y[:, ::-1] * 0.5

    check(turned, arrays((32, 4, 4)), 70, computed=True)

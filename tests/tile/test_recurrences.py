"""Recurrences: loops and networks of ops that are one instruction a row."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.tile.test_found import arguments
from tests.tile.test_loops import BACKWARDS

Array = Any
PHASES = ("hlo", "tiled", "virtual", "binary")


def text_of(function: Any, *shapes: tuple[int, ...]) -> str:
    """HLO text of a jax function of fp32 arrays."""
    args = [jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes]
    text: str = jax.jit(function).lower(*args).compiler_ir("hlo").as_hlo_text()
    return text


def scanned(step: Any, *, reverse: bool = False) -> Any:
    """A function of arrays with rounds first, whose state begins with the last argument."""

    def function(*args: Array) -> Any:
        *xs, begin = args
        return lax.scan(step, begin, tuple(xs), reverse=reverse)

    return function


def linear(h: Array, x: Array) -> Any:
    """h = a h + b."""
    new = x[0] * h + x[1]
    return new, new


def before(h: Array, x: Array) -> Any:
    """What was there before."""
    return x[0] * h + x[1], h * 2.0


def decayed(h: Array, x: Array) -> Any:
    """h = exp(-dt) h + dt x, and a sum over it."""
    new = h * jnp.exp(-x[0])[:, None] + x[0][:, None] * x[1][None, :]
    return new, new.sum(-1)


def two(h: Array, x: Array) -> Any:
    """A state that another one sums up."""
    total, top = h[0], h[1]
    total = total + x[0]
    top = jnp.maximum(top, total)
    return jnp.stack([total, top]), top


def pair(h: tuple[Array, Array], x: Array) -> Any:
    """The same, apart."""
    total = h[0] + x[0]
    top = jnp.maximum(h[1], total)
    return (total, top), top


ROWS = (40, 6)
LOOPS = {
    "linear": (scanned(linear), (ROWS, ROWS, (6,))),
    "backwards": (scanned(linear, reverse=True), (ROWS, ROWS, (6,))),
    "before": (scanned(before), (ROWS, ROWS, (6,))),
    "before-backwards": (scanned(before, reverse=True), (ROWS, ROWS, (6,))),
    "sum": (scanned(lambda h, x: (h + x[0],) * 2), ((50, 4, 8), (4, 8))),
    "product": (scanned(lambda h, x: (h * x[0],) * 2), ((30, 130), (130,))),
    "minimum": (scanned(lambda h, x: (jnp.minimum(h, x[0]),) * 2), ((64, 3), (3,))),
    "decayed": (scanned(decayed), ((32, 6), (32, 5), (6, 5))),
    "one-row": (scanned(linear), ((200,), (200,), ())),
    "wide": (scanned(linear), ((16, 384), (16, 384), (384,))),
    "pieces": (scanned(linear), ((1280, 1024), (1280, 1024), (1024,))),
}


@pytest.mark.parametrize("name", list(LOOPS))
def test_loops_become_recurrences(name: str) -> None:
    """No loop over rounds is left, and all phases agree with the interpreter."""
    function, shapes = LOOPS[name]
    text = text_of(function, *shapes)
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert [op for op in module.walk() if op.name == "tile.scan"]
    rounds = 2 if name == "pieces" else 0
    assert sum(op.name == "scf.for" for op in module.walk()) <= rounds
    assert not failures(text, arguments(text), "none", None, PHASES)


def test_two_states() -> None:
    """A state that hangs on another one's recurrence is found behind it."""

    def function(x: Array, y: Array) -> Any:
        return lax.scan(pair, (y, y), (x,))[1]

    text = text_of(function, (48, 5), (5,))
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert sum(op.name == "tile.scan" for op in module.walk()) == 2
    assert not failures(text, arguments(text), "none", None, PHASES)


def test_states_that_mix_stay_a_loop() -> None:
    """What is no recurrence of one element is left to others."""
    text = text_of(scanned(two), ROWS, (2, 6))
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert not [op for op in module.walk() if op.name == "tile.scan"]


def test_a_decayed_sum_backwards() -> None:
    """As numpy computes it."""
    module = compile_text(BACKWARDS, "trn1", CompileOptions(compile_to="tiled")).module
    assert [op for op in module.walk() if op.name == "tile.scan"]
    assert not failures(BACKWARDS, arguments(BACKWARDS), "none", None, PHASES)


def test_the_number_of_rounds_costs_no_time_of_compiling() -> None:
    """As many instructions for 100,000 rounds as for 40,000."""
    counts = []
    for rounds in (40_000, 100_000):
        shape = (rounds, 128)
        text = text_of(scanned(linear), shape, shape, (128,))
        program = compile_text(text, "trn1", CompileOptions(auto_cast="none")).program
        assert program is not None
        counts.append(str(program.streams).count("Instruction("))
    assert abs(counts[0] - counts[1]) <= 4


def test_recurrences_are_those_of_numpy() -> None:
    """An independent computation, in double precision."""
    from neuronir.dialects.nc.machine import get_machine
    from neuronir.targets.simulator.functional import run

    text = text_of(scanned(linear), ROWS, ROWS, (6,))
    a, b, begin = arguments(text)
    program = compile_text(text, "trn1", CompileOptions(auto_cast="none")).program
    assert program is not None
    last, all_ = run(program, [a, b, begin], get_machine("trn1")).outputs
    want, state = [], begin.astype(np.float64)
    for t in range(ROWS[0]):
        state = a[t] * state + b[t]
        want.append(state)
    scale = np.abs(want).max()
    assert np.abs(all_ - np.array(want)).max() <= 2.0**-20 * scale
    assert np.abs(last - want[-1]).max() <= 2.0**-20 * scale

"""Recurrences: loops and networks of ops that are one instruction a row."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from neuronir.dialects.support.errors import NeuronError
from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.tile.test_found import arguments
from tests.tile.test_loops import BACKWARDS

pytestmark = pytest.mark.usefixtures("narrow_jax")

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
    "pieces-of-constants": (
        lambda h: lax.fori_loop(0, 10000, lambda _, h: h * 0.999 + 0.001, h),
        ((8, 8),),
    ),
    "pieces-of-broadcasts": (
        scanned(lambda h, x: (x[0] * h + 0.1,) * 2),
        ((1280,), (1024,)),
    ),
}


SLOW = ("pieces-of-constants",)
"""Pieces of other recurrences are tested as well."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LOOPS]
)
def test_loops_become_recurrences(name: str) -> None:
    """No loop over rounds is left, and all phases agree with the interpreter."""
    function, shapes = LOOPS[name]
    text = text_of(function, *shapes)
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert [op for op in module.walk() if op.name == "tile.scan"]
    rounds = 2 if name.startswith("pieces") else 0
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


def associative(axis: int) -> Any:
    """An associative scan of h = a h + b, written out as a network."""

    def join(left: Any, right: Any) -> Any:
        return left[0] * right[0], right[0] * left[1] + right[1]

    return lambda a, b: lax.associative_scan(join, (jnp.exp(-a), b), axis=axis)[1]


@pytest.mark.parametrize(
    ("axis", "shape"),
    [(0, (16, 6)), (0, (37, 8)), (1, (6, 64)), (1, (3, 100, 5)), (2, (2, 130, 33)), (0, (48,))],
)
def test_networks_become_recurrences(axis: int, shape: tuple[int, ...]) -> None:
    """Of any length and along any dimension, and all phases agree with the network."""
    text = text_of(associative(axis), shape, shape)
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled", auto_cast="none")).module
    assert [op for op in module.walk() if op.name == "tile.scan"]
    assert not failures(text, arguments(text), "none", None, PHASES)


@pytest.mark.parametrize("which", range(0, 60, 4))
def test_networks_that_are_none(which: int) -> None:
    """With one slice moved by a row it is another function, which is left alone."""
    text = text_of(associative(0), (18, 6), (18, 6))
    slices = list(re.finditer(r"slice=\{\[(\d+):(\d+):2\]", text))
    found = slices[which % len(slices)]
    low, high = int(found[1]), int(found[2])
    moved = (low - 1, high - 1) if low else (1, high + 1)
    text = f"{text[: found.start()]}slice={{[{moved[0]}:{moved[1]}:2]{text[found.end() :]}"
    try:
        module = compile_text(text, "trn1", CompileOptions(compile_to="hlo")).module
    except NeuronError:
        pytest.skip("the moved slice lies outside, or is one longer")
    if any(op.name == "hlo.composite" for op in module.walk()):
        # the moved one computes what nobody reads
        assert not failures(text, arguments(text), "none", None, ("hlo",))


def test_recurrences_are_those_of_numpy() -> None:
    """An independent computation, in double precision."""
    from neuronir.dialects.nc.machine import get_machine
    from neuronir.targets.simulator.functional import Options, run

    text = text_of(scanned(linear), ROWS, ROWS, (6,))
    a, b, begin = arguments(text)
    program = compile_text(text, "trn1", CompileOptions(auto_cast="none")).program
    assert program is not None
    last, all_ = run(program, [a, b, begin], get_machine("trn1"), Options(races=True)).outputs
    want, state = [], begin.astype(np.float64)
    for t in range(ROWS[0]):
        state = a[t] * state + b[t]
        want.append(state)
    scale = np.abs(want).max()
    assert np.abs(all_ - np.array(want)).max() <= 2.0**-20 * scale
    assert np.abs(last - want[-1]).max() <= 2.0**-20 * scale

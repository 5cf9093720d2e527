"""Products that hang on no earlier round, computed for many rounds at once."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import ExtractSliceOp
from xdsl.ir import BlockArgument

from neuronir.dialects.tile.rules import shape_of
from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any
PHASES = ("hlo", "tiled", "virtual", "binary")
ROUNDS = 720
"""More than are unrolled."""


def lstm(xs: Array, wx: Array, wh: Array, b: Array) -> Array:
    """A layer with gates in, forget, out, new."""

    def step(state: tuple[Array, Array], x: Array) -> Any:
        h, c = state
        i, f, o, g = jnp.split(x @ wx + h @ wh + b, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((xs.shape[1], wh.shape[0]))
    return lax.scan(step, (zero, zero), xs)[1]


def gru(xs: Array, wx: Array, wh: Array, b: Array) -> Array:
    """A layer with gates reset, update, new; backwards."""

    def step(h: Array, x: Array) -> Any:
        xr, xz, xn = jnp.split(x @ wx + b, 3, -1)
        hr, hz, hn = jnp.split(h @ wh, 3, -1)
        r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
        h = (1 - z) * jnp.tanh(xn + r * hn) + z * h
        return h, h

    zero = jnp.zeros((xs.shape[1], wh.shape[0]))
    return lax.scan(step, zero, xs, reverse=True)[1]


def rnn(xs: Array, wx: Array, wh: Array, b: Array) -> Any:
    """A layer that has one state only; in time along the second dimension, and its last state."""

    def step(h: Array, x: Array) -> Any:
        h = jnp.tanh(x @ wx + h @ wh + b)
        return h, h

    zero = jnp.zeros((xs.shape[0], wh.shape[0]))
    last, all_ = lax.scan(step, zero, jnp.swapaxes(xs, 0, 1))
    return last, jnp.swapaxes(all_, 0, 1)


LAYERS = {
    "lstm": (lstm, ((ROUNDS, 4, 24), (24, 64), (16, 64), (64,))),
    "gru": (gru, ((ROUNDS, 3, 8), (8, 96), (32, 96), (96,))),
    "rnn": (rnn, ((2, ROUNDS, 8), (8, 130), (130, 130), (130,))),
}


def arguments(shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    """Numbers of which rounds make nothing large."""
    rng = np.random.default_rng(2)
    return [(0.3 * rng.normal(size=s)).astype(np.float32) for s in shapes]


@pytest.mark.parametrize(
    ("name", "cast"),
    [
        ("lstm", "matmult"),
        ("gru", "none"),
        pytest.param("rnn", "none", marks=pytest.mark.slow),
    ],
)
def test_layers(name: str, cast: str) -> None:
    """Products of inputs stand around the inner loop, and all phases agree with the interpreter."""
    function, shapes = LAYERS[name]
    text = text_of(function, *shapes)
    options = CompileOptions(compile_to="tiled", auto_cast=cast)
    module = compile_text(text, "trn1", options).module
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    inner = [op for op in loops if not any(o.name == "scf.for" for o in op.body.block.ops)]
    ranks = {
        len(shape_of(o.results[0]))
        for op in loops
        for o in op.body.block.ops
        if o.name == "hlo.dot" and (op in inner) == (len(shape_of(o.operands[0])) == 2)
    }
    assert ranks == {2, 3}
    assert not failures(text, arguments(shapes), cast, None, PHASES)


def test_units_that_divide_no_partitions() -> None:
    """Gates of 96 units are slices of a product that no 128 rows divide: 96 lie on partitions."""
    text = text_of(lstm, (ROUNDS, 2, 8), (8, 384), (96, 384), (384,))
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    products = [op for op in module.walk() if op.name == "hlo.dot"]
    assert len(products) == 5
    assert all("96p1]" in str(op.results[0].type) for op in products)


def test_a_layer_is_that_of_xla() -> None:
    """An independent computation of the binary's result."""
    from neuronir.dialects.nc.machine import get_machine
    from neuronir.targets.simulator.functional import Options, run

    function, shapes = LAYERS["lstm"]
    args = arguments(shapes)
    text = text_of(function, *shapes)
    program = compile_text(text, "trn1", CompileOptions(auto_cast="none")).program
    assert program is not None
    (found,) = run(program, args, get_machine("trn1"), Options(races=True)).outputs
    want = np.asarray(jax.jit(function)(*args))
    assert np.abs(found - want).max() <= 1e-4


def test_the_number_of_rounds_costs_no_time_of_compiling() -> None:
    """About as many instructions for 100,000 rounds as for 5,000."""
    counts = []
    for rounds in (5_000, 100_000):
        shapes = ((1, rounds, 8), (8, 16), (16, 16), (16,))
        program = compile_text(text_of(rnn, *shapes), "trn1", CompileOptions()).program
        assert program is not None
        counts.append(str(program.streams).count("Instruction("))
    assert max(counts) <= 2 * min(counts)


def test_slices_of_weights_are_loaded_before_the_loop() -> None:
    """Weights of each gate in the type of the products, which need no conversion."""
    shapes = ((ROUNDS, 4, 256), (256, 1024), (256, 1024), (1024,))
    args = [jnp.zeros(s, jnp.bfloat16) for s in shapes]
    text = jax.jit(lstm).lower(*args).compiler_ir("hlo").as_hlo_text()
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    weights = {
        op.parent_op()
        for op in module.walk()
        if isinstance(op, ExtractSliceOp)
        and isinstance(op.source, BlockArgument)
        and isinstance(op.source.block.parent_op(), FuncOp)
        and not op.offsets
    }
    assert weights and not any(isinstance(parent, scf.ForOp) for parent in weights)

"""Rows of batched products are padded, so that several products fill the partitions."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.tile.test_found import arguments
from tests.tile.test_recurrences import text_of

pytestmark = pytest.mark.usefixtures("narrow_jax")

Array = Any
PHASES = ("hlo", "tiled", "virtual", "binary")


def windows(size: int, count: int, heads: int = 2, width: int = 16) -> Any:
    """Attention in windows of size x size pixels, with a bias for each pair of pixels."""
    n, c = size * size, heads * width

    def block(x: Array, qkv: Array, out: Array, bias: Array) -> Array:
        rows = x.reshape(count, size, count, size, c).transpose(0, 2, 1, 3, 4).reshape(-1, n, c)
        q, k, v = (rows @ qkv).reshape(-1, n, 3, heads, width).transpose(2, 0, 3, 1, 4)
        scores = jnp.einsum("whqd,whkd->whqk", q, k) * 0.25 + bias
        shares = jax.nn.softmax(scores, -1)
        made = jnp.einsum("whqk,whkd->whqd", shares, v)
        return made.transpose(0, 2, 1, 3).reshape(-1, n, c) @ out

    side = size * count
    return block, ((side, side, c), (c, 3 * c), (c, c), (heads, n, n))


def masked(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """Attention with a mask for each element of the batch."""
    scores = jnp.where(mask[:, None] > -0.5, jnp.einsum("bhqd,bhkd->bhqk", q, k), -1e9)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def hidden(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """The same, with a mask of infinities, of which no row is full."""
    scores = jnp.where(mask[:, None] > -0.5, jnp.einsum("bhqd,bhkd->bhqk", q, k), -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def inverse(x: Array, y: Array) -> Array:
    """Rows that would be infinite if they were 0, between two products."""
    scores = 1.0 / (jnp.abs(jnp.einsum("bqd,bkd->bqk", x, y)) + 0.0)
    return jnp.einsum("bqk,bkd->bqd", scores / scores.max(-1, keepdims=True), y)


def gates(x: Array, y: Array) -> Array:
    """Rows between two products that are finite if they are 0."""
    scores = jnp.tanh(jnp.einsum("bqd,bkd->bqk", x, y))
    return jnp.einsum("bqk,bkd->bqd", scores - scores.sum(-1, keepdims=True), y)


def itself(x: Array) -> Array:
    """Attention of rows to themselves: one value is the rows, the columns and what is added."""
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", x, x), -1), x)


HEADS = (4, 2)
PROGRAMS: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "windows of 49": windows(7, 2),
    "windows of 25": windows(5, 3),
    "masked": (masked, (*((*HEADS, 41, 16),) * 3, (4, 41, 41))),
    "other keys": (masked, ((*HEADS, 50, 8), *((*HEADS, 77, 8),) * 2, (4, 50, 77))),
    "itself": (itself, ((6, 45, 12),)),
    "gates": (gates, ((6, 45, 12), (6, 30, 12))),
    "gates of 25": (gates, ((6, 25, 12), (6, 30, 12))),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.thin(2)
def test_padded_rows_are_right(name: str, cast: str) -> None:
    """All phases agree with the interpreter on the program without padding."""
    function, shapes = PROGRAMS[name]
    text = text_of(function, *shapes)
    options = CompileOptions(compile_to="tiled", auto_cast=cast)
    module = compile_text(text, "trn1", options).module
    assert any(op.name == "hlo.pad" for op in module.walk())
    assert not failures(text, arguments(text), cast, None, PHASES)


INFINITE: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "inverse": (inverse, ((6, 45, 12), (6, 30, 12))),
    "hidden": (hidden, (*((*HEADS, 41, 16),) * 3, (4, 41, 41))),
}


@pytest.mark.parametrize("name", list(INFINITE))
@pytest.mark.parametrize("cast", ["none", "matmult"])
def test_rows_are_not_padded_if_padding_is_infinite(name: str, cast: str) -> None:
    """A transpose by PE would make NaN of infinities, in the rows of the program."""
    function, shapes = INFINITE[name]
    text = text_of(function, *shapes)
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert not any(op.name == "hlo.pad" for op in module.walk())
    assert not failures(text, arguments(text), cast, None, PHASES)


def test_windows_that_do_not_nest_with_groups() -> None:
    """Four of 36 products are beside each other, while the image has 6 x 6 windows."""
    function, shapes = windows(5, 6)
    text = text_of(function, *shapes)
    compile_text(text, "trn1", CompileOptions(compile_to="virtual", tiling="always"))


@pytest.mark.parametrize("rows", [16, 32, 64, 100])
def test_other_rows_are_left_alone(rows: int) -> None:
    """Nothing is padded if it would leave most partitions unused, or is not needed."""
    text = text_of(gates, (6, rows, 12), (6, 30, 12))
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert not any(op.name == "hlo.pad" for op in module.walk())


def test_stored_rows_are_left_alone() -> None:
    """Rows that are results, or read in another way, are not padded."""

    def both(x: Array, y: Array) -> tuple[Array, Array]:
        scores = jnp.einsum("bqd,bkd->bqk", x, y)
        shares = jax.nn.softmax(scores, -1)
        return shares, jnp.einsum("bqk,bkd->bqd", shares, y)

    text = text_of(both, (6, 45, 12), (6, 30, 12))
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled")).module
    assert not any(op.name == "hlo.pad" for op in module.walk())

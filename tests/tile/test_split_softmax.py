"""Sums of a softmax in blocks with their own maxima: the numbers are XLA's, special ones too."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.tile import split_softmax
from neuronir.pipeline import parse_pipeline
from tests.differential.stages import REGISTRY, failures
from tests.oracle import hlo_text, run_xla

Array = Any
PHASES = ("tiled", "virtual", "binary")


@pytest.fixture(autouse=True)
def _blocks_of_one_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_softmax, "ROOM", 0.0)
    monkeypatch.setattr(split_softmax, "SHARE", 0.0)
    monkeypatch.setattr(split_softmax, "STAYS", 0.0)


def picked(x: Array, w: Array, mask: Array, labels: Array) -> Array:
    """Cross-entropy with a guard for infinities; the logits are also read at the labels."""
    logits = x @ w + mask
    chosen = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
    return jax.nn.logsumexp(logits, -1) - chosen


def sums(x: Array, w: Array, mask: Array, labels: Array) -> Array:
    """Without a guard, and without another reader of the logits."""
    logits = x @ w + mask
    return jnp.exp(logits - logits.max(-1, keepdims=True)).sum(-1)


def twice(x: Array, w: Array, mask: Array, labels: Array) -> Array:
    """Two sums with one maximum, one of them with a guard for infinities."""
    logits = x @ w + mask
    return jax.nn.logsumexp(logits, -1) + sums(x, w, mask, labels)


def batches(x: Array, w: Array, mask: Array, labels: Array) -> Array:
    """Two dimensions of rows, bf16 products, and all logits as a result."""
    logits = x.reshape(2, -1, x.shape[-1]).astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)
    return jax.nn.log_softmax(logits.astype(jnp.float32), -1)


def gradients(x: Array, w: Array, mask: Array, labels: Array) -> tuple[Array, Array]:
    """Gradients of a cross-entropy: dots read the exponentials of all columns."""

    def loss(x: Array, w: Array) -> Array:
        chances = jax.nn.log_softmax(x @ w + mask)
        return -jnp.take_along_axis(chances, labels[:, None], 1).mean()

    dx, dw = jax.grad(loss, (0, 1))(x, w)
    return dx, dw


def _arguments(columns: int) -> list[Any]:
    rng = np.random.default_rng(0)
    rows, depth = 132, 20
    mask = rng.normal(size=(rows, columns)).astype(np.float32)
    mask[0] = -np.inf
    mask[1, 700] = np.inf
    mask[2, 5] = np.nan
    mask[3] = -300
    mask[3, :512] = -np.inf
    mask[4, 3] = 1e4
    mask[5, 600:] = -np.inf
    x = rng.normal(size=(rows, depth)).astype(np.float32)
    w = rng.normal(size=(depth, columns)).astype(np.float32)
    return [x, w, mask, rng.integers(0, columns, rows).astype(np.int32)]


def _is_split(text: str) -> bool:
    module = import_hlo_text(text, "test.hlo")
    pipeline = "@trn1:hlo,tile-expand-composites,tile-split-softmax{target=trn1}"
    for one in parse_pipeline(pipeline, REGISTRY.passes, REGISTRY.pipelines):
        one.apply(REGISTRY.context(), module)
    return "x512xf32" in str(module)


@pytest.mark.parametrize("columns", [2301, 2048])
@pytest.mark.parametrize("function", [picked, sums, twice, batches])
def test_every_phase_gives_what_xla_gives(function: Any, columns: int) -> None:
    args = _arguments(columns)
    text = hlo_text(function, args)
    assert _is_split(text) == (function in (picked, sums) or columns == 2301)
    want = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, "none", want, PHASES)


@pytest.mark.parametrize("columns", [2301, 2048])
def test_gradients(columns: int) -> None:
    args = _arguments(columns)
    args[2][:6] = 0.5
    text = hlo_text(gradients, args)
    assert _is_split(text)
    want = {f"out{k}": value for k, value in enumerate(run_xla(text, args))}
    assert not failures(text, args, "none", want, PHASES)


def test_attention_is_not_split() -> None:
    """Its only dot of exponentials can follow them in one loop: 16 rows of 16,384 columns took 384
    us in blocks, and 271 us without.
    """
    x, w, mask, _ = _arguments(2048)

    def attention(x: Array, w: Array, mask: Array) -> Array:
        return jax.nn.softmax(x @ w + mask) @ w.T

    assert not _is_split(hlo_text(attention, [x, w, mask]))


def test_exponentials_that_stay_in_sbuf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_softmax, "STAYS", 1 / 8)
    assert not _is_split(hlo_text(gradients, _arguments(2048)))


@pytest.mark.parametrize(
    ("rows", "room", "split"), [(132, 0.0, True), (132, 0.8, False), (64, 0.8, True)]
)
def test_whole_rows_stay_where_they_fit(
    rows: int, room: float, split: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop over columns stores and loads x, if there is no loop over rows."""
    monkeypatch.setattr(split_softmax, "ROOM", room)
    x, w, mask, labels = _arguments(2301)
    args = [x[:rows], w, mask[:rows], labels[:rows]]
    assert _is_split(hlo_text(sums, args)) == split


def test_few_rows() -> None:
    x, w, mask, labels = _arguments(2301)
    args = [x[:8], w, mask[:8], labels[:8]]
    text = hlo_text(picked, args)
    assert not failures(text, args, "none", {"out0": run_xla(text, args)[0]}, PHASES)

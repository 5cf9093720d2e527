"""Values that ACT and DVE hold in PSUM: the numbers stay XLA's, and DVE has less to do."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.nc.structure import AllocOp
from neuronir.dialects.support.walking import walk
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.nc.data_flow import engine_of
from neuronir.pipeline import parse_pipeline
from tests.differential.stages import REGISTRY, failures
from tests.oracle import hlo_text, run_xla

Array = Any


def chain(x: Array, y: Array) -> Array:
    """Intermediate values of two readers, and a selection."""
    a = jnp.tanh(x * y + 1.0)
    b = a * x + y
    return jnp.where(b > 0, b * a, b - a) * y


def gated(x: Array, y: Array) -> Array:
    """Products, whose results are in PSUM as well, and the gradient of an activation."""
    p, q = x @ y[:400, :400], x @ y[100:500, :400]
    return jax.grad(lambda p, q: (jax.nn.silu(p) * q * (p - q)).sum(), (0, 1))(p, q)


def sums(x: Array, y: Array) -> Array:
    """Rows normalised by their sums, as accumulated by ACT."""
    e = jnp.exp(x - y) * x
    return e / e.sum(1, keepdims=True) * jnp.square(y * e)


@pytest.mark.parametrize("function", [chain, gated, sums])
@pytest.mark.parametrize("shape", [(512, 400), (1000, 400)])
def test_every_phase_gives_what_xla_gives(
    function: Callable[..., Array], shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape).astype(np.float32) for _ in range(2)]
    text = hlo_text(function, args)
    want = {f"out{k}": value for k, value in enumerate(run_xla(text, args))}
    assert not failures(text, args, "none", want, ("virtual", "binary"))


def _held(text: str) -> list[AllocOp]:
    """Return the PSUM buffers that PE does not access."""
    module = import_hlo_text(text, "test.hlo")
    steps = "@trn1:hlo,@trn1:tiled,lower-tile-to-nc{target=trn1},nc-hold-in-psum"
    for one in parse_pipeline(steps, REGISTRY.passes, REGISTRY.pipelines):
        one.apply(REGISTRY.context(), module)
    found = []
    for op in walk(module):
        if isinstance(op, AllocOp) and space_of(op.buffer) is Space.PSUM:
            users = [use.operation for use in op.buffer.uses]
            if not any(isinstance(u, InstructionOp) and engine_of(u) is Engine.PE for u in users):
                found.append(op)
    return found


def test_only_blocks_in_which_dve_has_most_work_change() -> None:
    """Two products of three arrays in HBM take DMA longer than DVE."""
    x = np.zeros((4096, 1024), np.float32)
    assert _held(hlo_text(chain, [x, x]))
    assert not _held(hlo_text(lambda x, y: x * y * x, [x, x]))

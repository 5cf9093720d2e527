"""What several tests of the tiled level need."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def narrow_jax() -> Iterator[None]:
    """Numbers without a type are f32 and s32, whatever other tests of the process have asked."""
    jax = pytest.importorskip("jax", reason="jax prints the programs; install neuronir[test]")
    with jax.enable_x64(False):
        yield

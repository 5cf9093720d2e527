"""Two workers for the tests of this folder, which take a few seconds to start."""

from collections.abc import Iterator

import pytest

from neuronir.many.dask_pool import DaskPool, local_pool

LIMIT = 1 << 30
"""The memory of each worker, in bytes."""


@pytest.fixture(scope="session")
def local() -> Iterator[DaskPool]:
    """A pool of two processes."""
    pytest.importorskip("distributed")
    with local_pool(2, LIMIT) as pool:
        yield pool

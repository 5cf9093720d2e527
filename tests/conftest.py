"""What every test shares: hypothesis draws the same examples on every run."""

import ctypes
import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings

from neuronir.cache import FOLDER_VARIABLE
from neuronir.threads import one_thread

one_thread()
# The many objects that live between tests are looked at more rarely: 8 % of the tests' time.
gc.set_threshold(30_000, 10, 10)

# Deterministic and without a deadline: a loaded machine must not fail a test.
settings.register_profile("neuronir", derandomize=True, deadline=None, print_blob=True)
# Whether a test fails, and not by which small example: tests/planted asks no more.
settings.register_profile(
    "first failure",
    settings.get_profile("neuronir"),
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile(os.environ.get("NEURONIR_HYPOTHESIS", "neuronir"))

# A test must compile, not read what an earlier one left in the user's cache.
os.environ[FOLDER_VARIABLE] = ""

# A shell may start background jobs with Ctrl-C ignored, which programs that tests start inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but every n-th case of tests marked `thin(n)` to the slow tests."""
    seen: Counter[str] = Counter()
    for item in items:
        thin = item.get_closest_marker("thin")
        if thin is not None:
            name = item.nodeid.partition("[")[0]
            if seen[name] % thin.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[name] += 1


@pytest.fixture(autouse=True, scope="module")
def return_memory() -> Iterator[None]:
    """Return what a file's tests freed to the system.

    The allocator of glibc keeps it, between the small objects that stay: 5 GiB a worker at the end.
    """
    yield
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

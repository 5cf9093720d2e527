"""What every test shares: hypothesis draws the same examples on every run."""

import ctypes
import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from neuronir.cache import FOLDER_VARIABLE
from neuronir.dialects.support.diagnostics import Message, handling, passed_on
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
    """Leave cases of tests marked `thin(n)` to the slow tests.

    The values of each parametrization are numbered; every n-th sum of a case's numbers is fast. So
    each value is in a fast case, beside different values of the other parametrizations.
    """
    seen: dict[tuple[str, ...], dict[tuple[int, ...], int]] = {}
    for item in items:
        thin = item.get_closest_marker("thin")
        if thin is None or not isinstance(item, pytest.Function):
            continue
        total = 0
        for mark in item.iter_markers("parametrize"):
            given = mark.args[0]
            names = [n.strip() for n in given.split(",")] if isinstance(given, str) else given
            values = tuple(id(item.callspec.params[name]) for name in names)
            numbers = seen.setdefault((item.nodeid.partition("[")[0], *names), {})
            total += numbers.setdefault(values, len(numbers))
        if total % thin.args[0]:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="module")
def return_memory() -> Iterator[None]:
    """Return what a file's tests freed to the system.

    The allocator of glibc keeps it, between the small objects that stay: 5 GiB a worker at the end.
    """
    yield
    _trim()


@pytest.fixture(autouse=True)
def collect_garbage() -> Iterator[None]:
    """Collect what a test with large programs leaves.

    IR is garbage with cycles, which the rare collections leave for long: a worker of the slow tests
    held 21 GiB.
    """
    yield
    global _resident
    if _memory() > _resident + _LARGE:
        gc.collect()
        _trim()
        _resident = _memory()


_LARGE = 1 << 30
"""Bytes that tests may leave before they are collected."""
_resident = 0
"""The process's memory after the last collection."""


def _memory() -> int:
    """The bytes of the process in memory; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _trim() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Restore the handlers of signals.

    A console script that a test calls ignores Ctrl-C from its end on, and so would the programs
    that later tests start.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def no_faults() -> Iterator[None]:
    """Fail a test in which a pass fails and the compiler goes on without it.

    A test that plants such a failure handles the messages itself.
    """
    found: list[Message] = []
    with handling(passed_on(lambda message: found.append(message) if message.fault else None)):
        yield
    assert not found, [message.render() for message in found]

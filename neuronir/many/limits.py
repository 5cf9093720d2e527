"""Limit the memory of this process, and measure its peak."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


@contextmanager
def limited(memory: int | None) -> Iterator[None]:
    """Make allocations fail with MemoryError if the process would exceed `memory` bytes.

    The limit counts private memory (RLIMIT_DATA), not files that are mapped. An existing lower
    limit is kept. A process that holds more than `memory` already may reuse what it holds: the C
    library's heap keeps freed blocks, and only growth can fail.
    """
    if memory is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = min(limit for limit in (memory, soft, hard) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def reset_peak() -> None:
    """Restart the measurement of the peak, if the system supports it (Linux)."""
    with suppress(OSError):
        _CLEAR.write_text("5")


def peak_bytes() -> int:
    """Return the peak resident size of the process since `reset_peak`, or since its start."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

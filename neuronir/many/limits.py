"""A limit of the memory of this process, and the most that it had."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


@contextmanager
def limited(memory: int | None) -> Iterator[None]:
    """Let allocations fail with MemoryError where the process would have more than `memory` bytes.

    The limit counts private memory (RLIMIT_DATA), not files that are mapped. A lower limit that the
    process has already stays.
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
    """Begin to measure the peak anew, where the system can (Linux)."""
    with suppress(OSError):
        _CLEAR.write_text("5")


def peak_bytes() -> int:
    """The largest resident size of the process since `reset_peak`, or since its start."""
    with suppress(OSError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

"""Files and folders that are being written, which a killed process leaves behind.

Whoever writes one keeps it locked. The system takes the lock off when the process ends, however it
does, so a part that nobody has locked is nobody's, and the next one who writes there removes it.
"""

import fcntl
import os
from collections.abc import Callable, Iterable
from contextlib import suppress


def lock(descriptor: int, path: str | os.PathLike[str]) -> bool:
    """Lock an open part until it is closed; False where somebody has removed it meanwhile.

    Where files cannot be locked at all nothing is, and nothing is removed either.
    """
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def sweep(paths: Iterable[str], remove: Callable[[str], object]) -> None:
    """Remove those parts of the user's that nobody is writing."""
    for path in paths:
        with suppress(OSError):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path, flags)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(descriptor).st_uid == os.geteuid():
                    remove(path)
            finally:
                os.close(descriptor)

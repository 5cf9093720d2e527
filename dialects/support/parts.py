"""Clean up partial files and folders that a killed process left behind.

The writer holds a lock, which the system releases when the process ends for any reason. An unlocked
partial file is therefore abandoned, and the next writer removes it.
"""

import fcntl
import os
from collections.abc import Callable, Iterable
from contextlib import suppress


def lock(descriptor: int, path: str | os.PathLike[str]) -> bool:
    """Lock an open partial file until it is closed; return False if it was removed meanwhile.

    If files cannot be locked, nothing is locked or removed.
    """
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def sweep(paths: Iterable[str], remove: Callable[[str], object]) -> None:
    """Remove the user's partial files that nobody is writing."""
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

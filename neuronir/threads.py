"""Limit the threads of numpy's products."""

import os


def one_thread() -> None:
    """Keep products on one thread; call this before numpy is imported.

    The simulator's products are at most 128 x 128 x 512. Threads cost more than they gain,
    especially if other programs run, because they spin. A setting of the user has priority.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

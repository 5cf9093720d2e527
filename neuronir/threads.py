"""How many threads numpy's products use."""

import os


def one_thread() -> None:
    """Keep products on one thread; to be called before numpy is imported.

    Those of the simulator are of at most 128 x 128 x 512: threads cost them more than they give,
    and much more where other programs run, because they spin. What the user has set stays.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

"""Handle exhausted resources of the host: memory, and Python's stack."""

import errno

from neuronir.dialects.support.errors import NeuronError

EXHAUSTED = (MemoryError, RecursionError)
"""The exceptions that Python raises in that case."""


def is_exhausted(error: BaseException) -> bool:
    """Return whether an exception says that memory or stack is exhausted; the operating system
    says so with an OSError.
    """
    no_memory = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return no_memory or isinstance(error, EXHAUSTED)


def exhausted(error: BaseException) -> NeuronError:
    """Return the user error for an error that `is_exhausted`: NIR_MEMORY or NIR_DEPTH."""
    why = " ".join(str(error).split())
    if not isinstance(error, RecursionError):
        return NeuronError(
            "NIR_MEMORY",
            f"there is not enough memory{f': {why}' if why else ''}",
            help="give the process more memory, or make the program's arrays smaller",
        )
    return NeuronError(
        "NIR_DEPTH",
        "the program is nested too deeply",
        help="nest calls, loops and brackets less deeply; --debug shows where it ended",
    )

"""Handle exhausted resources of the host: memory, and Python's stack."""

from neuronir.dialects.support.errors import NeuronError

EXHAUSTED = (MemoryError, RecursionError)
"""The exceptions that Python raises in that case."""


def exhausted(error: BaseException) -> NeuronError:
    """Return the user error for one of `EXHAUSTED`: NIR_MEMORY or NIR_DEPTH."""
    why = " ".join(str(error).split())
    if isinstance(error, MemoryError):
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

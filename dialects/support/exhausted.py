"""What ends when a program is too much for this computer: memory, and Python's stack."""

from neuronir.dialects.support.errors import NeuronError

EXHAUSTED = (MemoryError, RecursionError)
"""What Python raises then, wherever it happens."""


def exhausted(error: BaseException) -> NeuronError:
    """The user's view of one of `EXHAUSTED`: NIR_MEMORY or NIR_DEPTH."""
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

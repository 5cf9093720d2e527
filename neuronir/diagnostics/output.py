"""Write result files whole or not at all (the code is on the ground floor, for the targets too)."""

from neuronir.dialects.support.output import (
    atomic_write,
    input_error,
    output_error,
    write_stdout,
)

__all__ = ["atomic_write", "input_error", "output_error", "write_stdout"]

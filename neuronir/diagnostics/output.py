"""Write result files atomically (the code is in `dialects/support`, because targets use it too)."""

from neuronir.dialects.support.output import (
    atomic_write,
    check_outputs,
    input_error,
    make_folder,
    output_error,
    write_stdout,
)

__all__ = [
    "atomic_write",
    "check_outputs",
    "input_error",
    "make_folder",
    "output_error",
    "write_stdout",
]

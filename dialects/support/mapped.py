"""Map files into memory."""

import os
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray


def mapped_file(file: BinaryIO) -> NDArray[np.uint8]:
    """Return the bytes of an open plain file, memory-mapped and read-only; raises OSError."""
    if os.fstat(file.fileno()).st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, np.uint8)
    return np.memmap(file, np.uint8, mode="r").view(np.ndarray)

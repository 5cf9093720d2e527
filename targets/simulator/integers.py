"""64-bit integers at the border of programs that compute them in 32 bits.

A compiler that narrows them notes in the program's metadata which arguments and results had 64
bits: `wide_inputs` and `wide_outputs`, JSON objects from number to `int64` or `uint64`.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Program, Variable
from neuronir.dialects.support.errors import NeuronError

Array = NDArray[Any]


def wide_types(program: Program, kind: str) -> Mapping[int, "np.dtype[Any]"]:
    """The 64-bit types of `input`s or `output`s by number."""
    found = json.loads(program.metadata.get(f"wide_{kind}s", "{}"))
    return {int(number): np.dtype(name) for number, name in found.items()}


def narrowed(program: Program, variable: Variable, array: Array) -> Array:
    """An input as the program takes it; NIR_SIM034 if a value does not fit in 32 bits."""
    wide = wide_types(program, "input").get(variable.index)
    if wide is None or array.dtype != wide:
        return array
    limits = np.iinfo(np.int32 if wide.kind == "i" else np.uint32)
    if array.size and (int(array.min()) < limits.min or int(array.max()) > limits.max):
        raise NeuronError(
            "NIR_SIM034",
            f"input {variable.index} ('{variable.name}') has values beyond {limits.dtype.name}, in "
            "which the program computes",
        )
    return array.astype(limits.dtype)


def widened(program: Program, variable: Variable, array: Array) -> Array:
    """A result in the type that the model gives it."""
    wide = wide_types(program, "output").get(variable.index)
    return array if wide is None else array.astype(wide)

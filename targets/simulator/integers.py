"""Convert 64-bit integers at the interface of programs that compute them in 32 bits.

A compiler that narrows integers records in the program's metadata which arguments and results had
64 bits: `wide_inputs` and `wide_outputs`, JSON objects from number to `int64` or `uint64`.
`input_ranges` maps input numbers to [low, high] (as text): within these bounds no intermediate
integer exceeds 32 bits. `word_inputs` and `word_outputs` name, in the same form, those that are
arrays of u32 words [..., 2] in the program, the low half first; they hold all 64 bits.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Program, Variable
from neuronir.dialects.support.errors import NeuronError

Array = NDArray[Any]
Number = int | float


def wide_types(program: Program, kind: str) -> Mapping[int, "np.dtype[Any]"]:
    """Return the 64-bit types of `input`s or `output`s by number."""
    found = json.loads(program.metadata.get(f"wide_{kind}s", "{}"))
    return {int(number): np.dtype(name) for number, name in found.items()}


def word_types(program: Program, kind: str) -> Mapping[int, "np.dtype[Any]"]:
    """Return the 64-bit types of `input`s or `output`s that the program holds as words."""
    found = json.loads(program.metadata.get(f"word_{kind}s", "{}"))
    return {int(number): np.dtype(name) for number, name in found.items()}


def input_ranges(program: Program) -> Mapping[int, tuple[Number, Number]]:
    """Return (low, high) of the inputs that have bounds, by number."""
    found = json.loads(program.metadata.get("input_ranges", "{}"))
    return {int(number): (_number(low), _number(high)) for number, (low, high) in found.items()}


def _number(text: str) -> Number:
    return int(text) if text.lstrip("-").isdecimal() else float(text)


def narrowed(program: Program, variable: Variable, array: Array) -> Array:
    """Convert an input to the program's type; raises NIR_SIM034 for a value that does not fit.

    A value does not fit if it, or a value computed from it, exceeds 32 bits.
    """
    words = word_types(program, "input").get(variable.index)
    if words is not None and array.dtype == words:
        contiguous = np.ascontiguousarray(array).reshape(array.shape)
        return contiguous.reshape(*array.shape, 1).view(np.uint32)
    wide = wide_types(program, "input").get(variable.index)
    is_wide = wide is not None and array.dtype == wide
    limits = np.iinfo(np.uint32 if array.dtype.kind == "u" else np.int32)
    if is_wide:
        fits = (int(limits.min), int(limits.max))
        _check(variable, array, fits, f"has values beyond {limits.dtype}")
    bounds = input_ranges(program).get(variable.index)
    if bounds is not None:
        _check(variable, array, bounds, "leads to 64-bit integers that may exceed 32 bits")
    return array.astype(limits.dtype) if is_wide else array


def _check(variable: Variable, array: Array, bounds: tuple[Number, Number], what: str) -> None:
    """Raise NIR_SIM034 if an element exceeds bounds; NaN does not."""
    if not array.size or array.dtype.kind == "b":
        return
    numbers = array if array.dtype.kind in "iu" else array.astype(np.float64)
    low, high = np.fmin.reduce(numbers, axis=None), np.fmax.reduce(numbers, axis=None)
    if low < bounds[0] or high > bounds[1]:
        worst = low if low < bounds[0] else high
        raise NeuronError(
            "NIR_SIM034",
            f"input {variable.index} ('{variable.name}') {what}, in which the program computes: "
            f"{worst} is not between {bounds[0]} and {bounds[1]}",
        )


def widened(program: Program, variable: Variable, array: Array) -> Array:
    """Convert a result to the type in the model."""
    words = word_types(program, "output").get(variable.index)
    if words is not None:
        return np.ascontiguousarray(array).view(words).reshape(array.shape[:-1])
    wide = wide_types(program, "output").get(variable.index)
    return array if wide is None else array.astype(wide)

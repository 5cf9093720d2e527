"""Import a graph, run it, and compare with what TensorFlow computed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.support.compare import LARGEST_OF_MANY, UNIT_ROUNDOFF, Report, compare
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.tensorflow import File, import_tensorflow
from neuronir.frontends.tensorflow.schema import parse_binary
from tests.frontends.tensorflow.stored import Stored

Array = NDArray[Any]
_PRECISION = {"float16": "fp16", "bfloat16": "bf16"}
LONGEST_SUM = 4096
"""No case adds up more terms than this."""


def bindings_of(case: Stored) -> Bindings:
    """The inputs and outputs of a case."""
    return Bindings(
        {name: array.shape for name, array in case.inputs},
        {name: array.dtype.name for name, array in case.inputs},
        [name for name, _ in case.outputs],
    )


def module_of(case: Stored) -> ModuleOp:
    """The module of a stored graph, verified."""
    graph = parse_binary("GraphDef", case.graph, case.name)
    module = import_tensorflow(File(case.name, graph), bindings_of(case))
    module.verify()
    return module


def tolerance(dtype: np.dtype[Any]) -> float:
    """What an output may be off, over its largest element.

    Two orders of summation differ by random roundings: sqrt(terms / 3) of them, of which the
    largest of many elements is 4 standard deviations off. Of a 16-bit result, computed in f32, the
    last rounding counts alone.
    """
    narrow = _PRECISION.get(dtype.name)
    if narrow is not None:
        return LARGEST_OF_MANY * UNIT_ROUNDOFF[narrow]
    return LARGEST_OF_MANY * float(np.sqrt(LONGEST_SUM / 3)) * UNIT_ROUNDOFF["fp32"]


def against(case: Stored, outputs: Sequence[Array]) -> Report:
    """How outputs compare with TensorFlow's; of random numbers only shapes and types count."""
    reference = {f"out{i}": array for i, (_, array) in enumerate(case.outputs)}
    for mine, (name, theirs) in zip(outputs, case.outputs, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), f"{case.name} {name}"
    if not case.numbers:
        reference = {f"out{i}": array for i, array in enumerate(outputs)}
    allowed = [tolerance(array.dtype) for _, array in case.outputs]
    return compare(outputs, reference, rtol=allowed)

"""Vectors on all partitions: only as many columns, and only the types, that the array takes."""

import numpy as np
import pytest

from tests.defects.programs import compiled, right
from tests.lowering.helpers import entry
from tests.simulator_functional.faults import instructions


@pytest.mark.parametrize("target", ["trn1", "inf1"])
@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
def test_a_computed_scalar(element: str, target: str) -> None:
    text = entry(
        f"p = {element}[] parameter(0)",
        f"n = {element}[] exponential(p)",
        f"b = {element}[200,3] broadcast(n), dimensions={{}}",
    )
    numpy = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}[element]
    right(text, [np.asarray(0.3).astype(numpy)], target)


def test_in_two_halves_where_the_array_has_64_columns() -> None:
    text = entry(
        "p = bf16[] parameter(0)",
        "n = bf16[] exponential(p)",
        "b = bf16[200,3] broadcast(n), dimensions={}",
    )
    starts = [
        (i.dst[0].start, i.dst[0].partitions)
        for i in instructions(compiled(text, "inf1"))
        if i.opcode == "matmul" and i.dst[0] is not None
    ]
    assert starts == [(0, 64), (64, 64)]

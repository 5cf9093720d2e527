"""Scatters that multiply or combine bits: updates of one place are combined first."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.dtypes import from_hlo_name, np_dtype
from tests.lowering.helpers import run
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes

RNG = np.random.default_rng(0)

FORMS = {
    "rows": (
        "5,3",
        "7,1",
        "7,3",
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
        "index_vector_dim=1",
    ),
    "elements": (
        "4,5",
        "9,2",
        "9",
        "update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={1,0}, "
        "index_vector_dim=1",
    ),
    "scalar indices, the window first": (
        "3,6",
        "4,2",
        "3,4,2",
        "update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
        "index_vector_dim=2",
    ),
    "the vector in front": (
        "4,5,2",
        "2,8",
        "8,2",
        "update_window_dims={1}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0,1}, "
        "index_vector_dim=0",
    ),
}


def text_of(form: str, dtype: str, opcode: str) -> str:
    operand, indices, updates, attributes = FORMS[form]
    return f"""HloModule m

f {{
  a = {dtype}[] parameter(0)
  b = {dtype}[] parameter(1)
  ROOT c = {dtype}[] {opcode}(a, b)
}}

ENTRY e {{
  x = {dtype}[{operand}] parameter(0)
  i = s32[{indices}] parameter(1)
  u = {dtype}[{updates}] parameter(2)
  ROOT r = {dtype}[{operand}] scatter(x, i, u), {attributes}, to_apply=f
}}
"""


def arguments(form: str, dtype: str) -> list[Array]:
    dims = [tuple(int(n) for n in text.split(",")) for text in FORMS[form][:3]]
    if dtype == "f32":
        x, u = (RNG.uniform(-2, 2, d) for d in (dims[0], dims[2]))
    else:
        x, u = (RNG.integers(-9, 9, d).astype(np.float64) for d in (dims[0], dims[2]))
    type_ = np_dtype(from_hlo_name(dtype))
    # Some places are met several times, some indices lie outside.
    return [x.astype(type_), RNG.integers(-1, 6, dims[1]).astype(np.int32), u.astype(type_)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("dtype", "opcode"), [("f32", "multiply"), ("s32", "multiply"), ("s32", "xor")]
)
def test_scatter(form: str, dtype: str, opcode: str) -> None:
    text, args = text_of(form, dtype, opcode), arguments(form, dtype)
    wanted = interpret(program(text), args)[0]
    module = run_passes(program(text), "hlo-decompose")
    assert "gather" in opcodes(module)
    for found in (interpret(module, args)[0], run(text, args)[0]):
        np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == "f32" else 0)


def test_windows_that_overlap_in_part_are_left() -> None:
    text = (
        text_of("rows", "f32", "multiply")
        .replace("5,3", "5,9")
        .replace(
            "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}",
            "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={1}",
        )
    )
    module = run_passes(program(text), "hlo-decompose")
    assert "gather" not in opcodes(module)

"""Scatters that multiply or combine bits: updates of one place are combined first. Scatters of
integers: sums and extremes of parts that are exact."""

from itertools import cycle, product
from typing import Any, cast

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.dtypes import from_hlo_name, np_dtype
from neuronir.dialects.support.errors import NeuronError
from tests.lowering.helpers import run
from tests.oracle import run_xla
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


def test_windows_of_a_batch_that_overlap_in_part_are_left() -> None:
    text = """f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] multiply(a, b)
}

ENTRY e {
  x = f32[4,9] parameter(0)
  i = s32[4,2,1] parameter(1)
  u = f32[4,2,3] parameter(2)
  ROOT r = f32[4,9] scatter(x, i, u), update_window_dims={2}, inserted_window_dims={},
    scatter_dims_to_operand_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0},
    index_vector_dim=2, to_apply=f
}
"""
    module = run_passes(program(text), "hlo-decompose")
    assert "gather" not in opcodes(module)
    with pytest.raises(NeuronError, match="no batch with windows that overlap in part"):
        run_passes(module, 'hlo-verify-supported{target="trn1"}')


def _whole_range(form: str, dtype: str, seed: int) -> list[Array]:
    """Numbers at the ends of the type and all over it, with places met by several windows."""
    rng = np.random.default_rng(seed)
    dims = [tuple(int(n) for n in text.split(",")) for text in FORMS[form][:3]]
    type_ = np_dtype(from_hlo_name(dtype))
    info: np.iinfo[Any] = np.iinfo(cast(Any, type_))
    ends = np.array([info.min, info.min + 1, info.max // 2, info.max - 1, info.max])

    def numbers(shape: tuple[int, ...]) -> Array:
        anywhere = rng.integers(info.min, info.max, shape, endpoint=True)
        return np.where(rng.integers(0, 2, shape), rng.choice(ends, shape), anywhere).astype(type_)

    return [numbers(dims[0]), rng.integers(-1, 4, dims[1]).astype(np.int32), numbers(dims[2])]


_INTEGERS = product(("s8", "u8", "s16", "u16", "s32", "u32"), ("add", "maximum", "minimum"))
_CASES = [(*case, form) for case, form in zip(_INTEGERS, cycle(FORMS), strict=False)]


@pytest.mark.parametrize(("dtype", "opcode", "form"), _CASES)
def test_integers_are_exact(dtype: str, opcode: str, form: str) -> None:
    text, args = text_of(form, dtype, opcode), _whole_range(form, dtype, 0)
    (wanted,) = run_xla(text, args)
    (found,) = run(text, args)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("dtype", "opcode"), [("s32", "add"), ("u32", "maximum")])
def test_integers_are_exact_where_all_else_is_bf16(dtype: str, opcode: str) -> None:
    text, args = text_of("rows", dtype, opcode), _whole_range("rows", dtype, 0)
    (wanted,) = run_xla(text, args)
    (found,) = run(text, args, cast="all")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["s16", "s32"])
def test_the_more_updates_the_fewer_bits_of_a_digit(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attributes = FORMS["rows"][3]
    monkeypatch.setitem(FORMS, "many", ("2,3", "1100,1", "1100,3", attributes))
    text, args = text_of("many", dtype, "add"), _whole_range("many", dtype, 0)
    module = run_passes(program(text), "hlo-decompose")
    assert opcodes(module).count("scatter") == {"s16": 2, "s32": 3}[dtype]
    np.testing.assert_array_equal(interpret(module, args)[0], run_xla(text, args)[0])


def test_small_integers_take_one_scatter() -> None:
    text = text_of("rows", "s32", "add").replace("u = s32[7,3] parameter(2)", "n = s8[7,3] p")
    text = text.replace("n = s8[7,3] p", "n = s8[7,3] parameter(2)\n  u = s32[7,3] convert(n)")
    text = text.replace(
        "x = s32[5,3] parameter(0)", "y = u8[5,3] parameter(0)\n  x = s32[5,3] convert(y)"
    )
    assert opcodes(run_passes(program(text), "hlo-decompose")).count("scatter") == 1


def test_too_many_integers_are_refused_by_name() -> None:
    windows = 1 << 24
    text = text_of("rows", "s32", "add").replace("[7,", f"[{windows},")
    with pytest.raises(NeuronError, match="NCC_EVRF016"):
        run_passes(program(text), 'hlo-decompose,hlo-verify-supported{target="trn1"}')


@pytest.mark.parametrize("opcode", ["add", "or", "and", "multiply", "maximum"])
def test_booleans(opcode: str) -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(-1, 6, (7, 1)).astype(np.int32)
    args = [rng.integers(0, 2, (5, 3)) > 0, places, rng.integers(0, 2, (7, 3)) > 0]
    text = text_of("rows", "pred", opcode)
    np.testing.assert_array_equal(run(text, args)[0], run_xla(text, args)[0])

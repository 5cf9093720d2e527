"""hlo-canonicalize on gathers: rows in order are slices, repeated indices are looked up once."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes

_PIPELINE = "hlo-canonicalize,hlo-constant-fold,hlo-canonicalize,hlo-cse,hlo-dce"
_ROWS = "offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2"


def _canonical(text: str, args: list[Array]) -> list[str]:
    """The opcodes after canonicalisation, which has to keep every bit of the result."""
    module = program(text)
    wanted = interpret(module, args)[0]
    run_passes(module, _PIPELINE)
    np.testing.assert_array_equal(interpret(module, args)[0], wanted)
    return opcodes(module)


def _table(*dims: int) -> Array:
    return np.random.default_rng(1).standard_normal(dims, dtype=np.float32)


def test_positions_counted_with_wrapped_negatives_are_a_slice() -> None:
    text = f"""ENTRY main {{
  t = f32[16,4] parameter(0)
  line = s32[5] iota(), iota_dimension=0
  i = s32[2,5] broadcast(line), dimensions={{1}}
  zero = s32[] constant(0)
  zeros = s32[2,5] broadcast(zero), dimensions={{}}
  negative = pred[2,5] compare(i, zeros), direction=LT
  n = s32[] constant(16)
  ns = s32[2,5] broadcast(n), dimensions={{}}
  wrapped = s32[2,5] add(i, ns)
  chosen = s32[2,5] select(negative, wrapped, i)
  indices = s32[2,5,1] reshape(chosen)
  ROOT r = f32[2,5,4] gather(t, indices), {_ROWS}, slice_sizes={{1,4}}
}}
"""
    assert _canonical(text, [_table(16, 4)]) == ["slice", "broadcast"]


@pytest.mark.parametrize(
    ("count", "left"),
    [(6, ["slice"]), (9, [*["slice"] * 2, "reshape", "broadcast", "concatenate"])],
)
def test_an_iota_is_rows_in_order_and_the_last_one(count: int, left: list[str]) -> None:
    text = f"""ENTRY main {{
  t = f32[7,3] parameter(0)
  i = s32[{count}] iota(), iota_dimension=0
  ROOT r = f32[{count},3] gather(t, i), offset_dims={{1}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,3}}
}}
"""
    assert _canonical(text, [_table(7, 3)]) == left


_REPEATED = ["slice", "reshape", "broadcast"]
NEAREST = {
    "three times each": ([0, 0, 0, 1, 1, 1, 2, 2, 2], ["slice", "broadcast", "reshape"]),
    "every other": ([1, 3, 5], ["slice"]),
    "every other twice": ([0, 0, 2, 2, 4, 4, 6, 6], ["slice", "broadcast", "reshape"]),
    "clamped": ([5, 5, 6, 9], ["slice", "broadcast", "reshape"]),
    "not equally often": (
        [0, 0, 1, 1, 1, 2],
        [*_REPEATED, *_REPEATED, "slice", "concatenate"],
    ),
    "in falling order": ([3, 3, 2, 2, 1, 1], [*_REPEATED * 3, "concatenate"]),
    "in periods": (
        [0, 0, 1, 2, 2, 3, 3, 4, 5, 5],
        ["slice", "reshape", *_REPEATED, "slice", *_REPEATED, "concatenate", "reshape"],
    ),
    "interleaved": ([0, 4, 1, 5, 2, 6], [*["slice", "reshape"] * 2, "concatenate", "reshape"]),
    "each on its own": ([1, 6, 3, 2, 0, 4], ["constant", "gather"]),
}


@pytest.mark.parametrize("form", NEAREST)
def test_pixels_repeated_along_an_inner_axis_are_a_broadcast(form: str) -> None:
    numbers, left = NEAREST[form]
    text = f"""ENTRY main {{
  t = f32[3,7,4] parameter(0)
  i = s32[{len(numbers)}] constant({{{",".join(map(str, numbers))}}})
  ROOT r = f32[3,{len(numbers)},4] gather(t, i), offset_dims={{0,2}}, collapsed_slice_dims={{1}},
    start_index_map={{1}}, index_vector_dim=1, slice_sizes={{3,1,4}}
}}
"""
    assert _canonical(text, [_table(3, 7, 4)]) == left


REPEATED = {
    "first": ("s32[5]", "s32[2,5,1]", "1", "f32[2,5,4]", "2", 2),
    "last": ("s32[5,1]", "s32[5,3,1]", "0,2", "f32[5,3,4]", "2", 2),
    "rows in front": ("s32[5]", "s32[5,3]", "0", "f32[4,5,3]", "0", 2),
    "vector first": ("s32[1,5]", "s32[1,3,5]", "0,2", "f32[3,4,5]", "1", 0),
    "one number": ("s32[]", "s32[2,3,1]", "", "f32[2,3,4]", "2", 2),
}


@pytest.mark.parametrize("form", REPEATED)
def test_repeated_indices_are_looked_up_once(form: str) -> None:
    source, repeated, dims, result, offset, vector_dim = REPEATED[form]
    text = f"""ENTRY main {{
  t = f32[7,4] parameter(0)
  i = {source} parameter(1)
  j = {repeated} broadcast(i), dimensions={{{dims}}}
  ROOT r = {result} gather(t, j), offset_dims={{{offset}}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim={vector_dim}, slice_sizes={{1,4}}
}}
"""
    shape = [int(n) for n in source[4:-1].split(",") if n]
    indices = np.asarray(np.random.default_rng(2).integers(-3, 12, shape), np.int32)
    found = _canonical(text, [_table(7, 4), indices])
    assert found[-2:] == ["gather", "broadcast"] and set(found[:-2]) <= {"reshape"}


def test_windows_at_repeated_pairs_of_indices() -> None:
    text = """ENTRY main {
  t = f32[7,8,4] parameter(0)
  i = s32[5,2] parameter(1)
  j = s32[3,5,2] broadcast(i), dimensions={1,2}
  ROOT r = f32[2,3,3,5,4] gather(t, j), offset_dims={0,1,4}, collapsed_slice_dims={},
    start_index_map={1,0}, index_vector_dim=2, slice_sizes={2,3,4}
}
"""
    indices = np.random.default_rng(2).integers(-3, 12, (5, 2)).astype(np.int32)
    assert _canonical(text, [_table(7, 8, 4), indices]) == ["gather", "broadcast"]

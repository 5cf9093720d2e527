"""hlo-gather-products: what a gather reads of a dot is computed from the rows of its table."""

from collections.abc import Sequence

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.dtypes import from_hlo_name, np_dtype
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes


def _dims(numbers: Sequence[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _shown(shape: Sequence[int]) -> str:
    return ",".join(map(str, shape))


def _drawn(rng: np.random.Generator, depth: int, words: int, kind: str) -> tuple[str, list[Array]]:
    """A loss's gather: positions in any number and order, the table first or last, turned or not.

    Some indices are out of bounds.
    """
    rows = [int(n) for n in rng.integers(1, 4, int(rng.integers(1, 4)))]
    first, turned = (bool(n) for n in rng.integers(0, 2, 2))
    more = [int(n) for n in rng.integers(1, 3, int(rng.integers(0, 2)))]
    order = [int(d) for d in rng.permutation(len(rows) + len(more))]
    index_shape = [[*rows, *more][d] for d in order]
    vector = int(rng.integers(len(index_shape) + 1))
    places = [order.index(d) for d in range(len(rows))]
    indexed = [*index_shape[:vector], 1, *index_shape[vector:]]
    made = [words, *rows] if first else [*rows, words]
    table = [depth, words] if turned else [words, depth]
    inner = (len(rows), 0 if turned else 1)
    lhs, rhs = inner[::-1] if first else inner
    positions = range(1, len(made)) if first else range(len(made) - 1)
    batching = [d + (d >= vector) for d in places]
    text = f"""ENTRY main {{
  x = {kind}[{_shown([*rows, depth])}] parameter(0)
  p = {kind}[{_shown([words, depth])}] parameter(1)
  i = s32[{_shown(indexed)}] parameter(2)
  t = {kind}[{_shown(table)}] {"transpose(p), dimensions={1,0}" if turned else "copy(p)"}
  d = f32[{_shown(made)}] dot({"t, x" if first else "x, t"}),
    lhs_contracting_dims={{{lhs}}}, rhs_contracting_dims={{{rhs}}}
  ROOT r = f32[{_shown(index_shape)}] gather(d, i), offset_dims={{}},
    collapsed_slice_dims={{{0 if first else len(rows)}}},
    start_index_map={{{0 if first else len(rows)}}}, operand_batching_dims={_dims(positions)},
    start_indices_batching_dims={_dims(batching)}, index_vector_dim={vector},
    slice_sizes={_dims([1] * len(made))}
}}
"""
    dtype = np_dtype(from_hlo_name(kind))
    arrays: list[Array] = [
        rng.integers(-8, 9, dims).astype(dtype) for dims in ([*rows, depth], [words, depth])
    ]
    return text, [*arrays, rng.integers(-9, words + 9, indexed).astype(np.int32)]


@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_the_same_products(kind: str) -> None:
    """Of small integers, whose sums are exact in any order."""
    for seed in range(100):
        text, args = _drawn(np.random.default_rng(seed), 3, 200, kind)
        module = program(text)
        (wanted,) = interpret(module, args)
        run_passes(module, "hlo-gather-products,hlo-dce")
        assert "dot" not in opcodes(module), text
        np.testing.assert_array_equal(interpret(module, args)[0], wanted, err_msg=text)


LOSS = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[8,16] parameter(0)
  t = f32[WORDS,16] parameter(1)
  i = s32[8,1] parameter(2)
  z = f32[] constant(0)
  d = f32[8,WORDS] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  e = f32[8,WORDS] exponential(d)
  o = READER
  g = f32[8] gather(d, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1},
    operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1,
    slice_sizes={1,1}
  ROOT r = (RESULT, f32[8]) tuple(o, g)
}
"""
SUMS = ("f32[8] reduce(e, z), dimensions={1}, to_apply=add", "f32[8]")
BACK = (
    "f32[8,16] dot(e, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "f32[8,16]",
)
STORED = ("f32[8,WORDS] negate(d)", "f32[8,WORDS]")


@pytest.mark.parametrize(
    ("words", "reader", "rewritten"),
    [(256, SUMS, True), (255, SUMS, False), (256, BACK, False), (256, STORED, False)],
)
def test_where_the_products_need_not_be_stored(
    words: int, reader: tuple[str, str], rewritten: bool
) -> None:
    """16 times as many products as elements of rows, none of which another op reads or returns."""
    text = LOSS.replace("READER", reader[0]).replace("RESULT", reader[1])
    module = program(text.replace("WORDS", str(words)))
    run_passes(module, "hlo-gather-products,hlo-dce")
    assert ("multiply" in opcodes(module)) == rewritten


BATCHES = """ENTRY main {
  x = f32[4,600,3] parameter(0)
  y = f32[4,3] parameter(1)
  i = s32[4,1] parameter(2)
  d = f32[4,600] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
    rhs_contracting_dims={1}
  ROOT g = f32[4] gather(d, i), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1},
    operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1,
    slice_sizes={1,1}
}
"""


def test_a_dot_with_a_batch_has_no_table() -> None:
    """Each vector of the batch has products of its own: y has no row for a word."""
    module = program(BATCHES)
    run_passes(module, "hlo-gather-products,hlo-dce")
    assert opcodes(module) == ["dot", "gather"]

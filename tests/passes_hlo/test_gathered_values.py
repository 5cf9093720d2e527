"""hlo-canonicalize computes elementwise ops on what a gather reads of them."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes


def _dims(numbers: list[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def _drawn(rng: np.random.Generator) -> tuple[str, list[Array]]:
    """A gather from `x * broadcast(y)`: batch dimensions, chosen ones and slices at random."""
    rank = int(rng.integers(2, 5))
    whole = [int(n) for n in rng.integers(2, 6, rank)]
    roles = [str(rng.choice(["batch", "one", "some", "all"])) for _ in range(rank)]
    roles[int(rng.integers(rank))] = "one"
    batching = [d for d, role in enumerate(roles) if role == "batch"]
    collapsed = [d for d, role in enumerate(roles) if role == "one"]
    starts = [d for d, role in enumerate(roles) if role in ("one", "some")]
    chosen = [int(d) for d in rng.permutation(starts)]
    longest = {"batch": 1, "one": 1}
    sizes = [longest.get(role, n) for n, role in zip(whole, roles, strict=True)]
    for d, role in enumerate(roles):
        if role == "some":
            sizes[d] = int(rng.integers(1, whole[d] + 1))
    more = int(rng.integers(0, 3))
    index_shape = [*(whole[d] for d in batching), *(int(n) for n in rng.integers(1, 4, more))]
    order = [int(d) for d in rng.permutation(len(index_shape))]
    index_shape = [index_shape[d] for d in order]
    vector = int(rng.integers(len(index_shape) + 1))
    places = [order.index(i) for i in range(len(batching))]
    places = [d + (d >= vector) for d in places]
    offsets = [d for d in range(rank) if roles[d] in ("some", "all")]
    out_rank = len(offsets) + len(index_shape)
    offset_dims = sorted(int(d) for d in rng.permutation(out_rank)[: len(offsets)])
    batch = iter(index_shape)
    kept = iter(sizes[d] for d in offsets)
    result = [next(kept) if d in offset_dims else next(batch) for d in range(out_rank)]
    indexed = [*index_shape[:vector], len(chosen), *index_shape[vector:]]
    some = sorted(int(d) for d in rng.permutation(rank)[: int(rng.integers(rank + 1))])
    shown = [",".join(map(str, s)) for s in (whole, [whole[d] for d in some], indexed, result)]
    text = f"""ENTRY main {{
  x = f32[{shown[0]}] parameter(0)
  y = f32[{shown[1]}] parameter(1)
  i = s32[{shown[2]}] parameter(2)
  b = f32[{shown[0]}] broadcast(y), dimensions={_dims(some)}
  p = f32[{shown[0]}] multiply(x, b)
  ROOT r = f32[{shown[3]}] gather(p, i), offset_dims={_dims(offset_dims)},
    collapsed_slice_dims={_dims(collapsed)}, start_index_map={_dims(chosen)},
    operand_batching_dims={_dims(batching)}, start_indices_batching_dims={_dims(places)},
    index_vector_dim={vector}, slice_sizes={_dims(sizes)}
}}
"""
    shapes = (whole, [whole[d] for d in some])
    arrays: list[Array] = [rng.standard_normal(dims).astype(np.float32) for dims in shapes]
    return text, [*arrays, rng.integers(-2, 8, indexed).astype(np.int32)]


def test_every_bit_is_kept() -> None:
    """Whatever the gather chooses, and whatever the broadcast repeats."""
    changed = 0
    for seed in range(400):
        text, args = _drawn(np.random.default_rng(seed))
        module = program(text)
        (wanted,) = interpret(module, args)
        run_passes(module, "hlo-canonicalize")
        changed += opcodes(module)[-1] == "multiply"
        np.testing.assert_array_equal(interpret(module, args)[0], wanted, err_msg=text)
    assert changed > 100


_LOSS = """ENTRY main {
  x = f32[64,1000] parameter(0)
  i = s32[64,1] parameter(1)
  s = f32[64] parameter(2)
  b = f32[64,1000] broadcast(s), dimensions={0}
  d = f32[64,1000] subtract(x, b)
  ROOT r = f32[64] gather(USED, i), offset_dims={}, collapsed_slice_dims={1},
    start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0},
    index_vector_dim=1, slice_sizes={1,1}
}
"""


@pytest.mark.parametrize(("used", "left"), [("d", ["gather", "subtract"]), ("x", ["gather"])])
def test_a_loss_reads_one_element_a_row(used: str, left: list[str]) -> None:
    module = program(_LOSS.replace("USED", used))
    run_passes(module, "hlo-canonicalize,hlo-dce")
    assert opcodes(module) == left


_SHARED = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[64,COLUMNS] parameter(0)
  i = s32[64,1] parameter(1)
  z = f32[] constant(0)
  y = f32[64,COLUMNS] negate(x)
  d = f32[64,COLUMNS] exponential(y)
  g = f32[64] gather(d, i), offset_dims={}, collapsed_slice_dims={1},
    start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0},
    index_vector_dim=1, slice_sizes={1,1}
  s = f32[64] reduce(d, z), dimensions={1}, to_apply=add
  ROOT r = (f32[64], f32[64]) tuple(g, s)
}
"""


@pytest.mark.parametrize(("columns", "times"), [(17, 2), (16, 1)])
def test_few_values_are_computed_twice(columns: int, times: int) -> None:
    """The gather is no reason to store what others only reduce, if it reads a small part."""
    module = program(_SHARED.replace("COLUMNS", str(columns)))
    run_passes(module, "hlo-canonicalize,hlo-dce")
    assert opcodes(module).count("exponential") == times

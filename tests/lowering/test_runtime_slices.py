"""Dynamic slices and updates at positions that are data, compared with XLA bit for bit."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Instruction, Loop
from neuronir.driver import compile_text
from tests.lowering.helpers import entry, run
from tests.oracle import run_xla

Array = NDArray[Any]

_CASES = (
    # element type, shape, sizes, indexed dimensions
    ("f32", (40, 300), (40, 7), (1,)),  # columns
    ("bf16", (3, 5, 64, 16), (3, 5, 1, 16), (2,)),  # a position of a cache
    ("s32", (17, 19), (4, 5), (0, 1)),
    ("u8", (7, 11, 13), (2, 11, 3), (0, 2)),
    ("bf16", (1, 129), (1, 31), (1,)),  # odd bytes
    ("f32", (9,), (9,), ()),  # the whole: any start gives it
    ("pred", (6, 50), (6, 1), (1,)),
)
_STARTS = (-5, 0, 1, 2, 4, 100)


def _data(kind: str, shape: tuple[int, ...], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if kind == "pred":
        return rng.integers(0, 2, shape).astype(np.bool_)
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "s32": np.int32, "u8": np.uint8}[kind]
    return rng.integers(0, 200, shape).astype(dtype)


def _text(kind: str, shape: tuple[int, ...], sizes: tuple[int, ...], *, update: bool) -> str:
    dims, window = ",".join(map(str, shape)), ",".join(map(str, sizes))
    starts = [f"i{d} = s32[] parameter({d + 2})" for d in range(len(shape))]
    names = ", ".join(f"i{d}" for d in range(len(shape)))
    last = (
        f"d = {kind}[{dims}] dynamic-update-slice(p, u, {names})"
        if update
        else f"d = {kind}[{window}] dynamic-slice(p, {names}), dynamic_slice_sizes={{{window}}}"
    )
    given = [f"p = {kind}[{dims}] parameter(0)", f"u = {kind}[{window}] parameter(1)"]
    return entry(*given, *starts, last)


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize(("kind", "shape", "sizes", "moved"), _CASES)
def test_positions_are_clamped_as_in_xla(
    kind: str, shape: tuple[int, ...], sizes: tuple[int, ...], moved: tuple[int, ...], update: bool
) -> None:
    text = _text(kind, shape, sizes, update=update)
    arrays = [_data(kind, shape, 0), _data(kind, sizes, 1)]
    for first in _STARTS:
        starts = [np.int32(first * (d + 1) if d in moved else 3) for d in range(len(shape))]
        args = [*arrays, *(np.asarray(n) for n in starts)]
        for mine, theirs in zip(run(text, args), run_xla(text, args), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def _loads(text: str) -> int:
    """Count the register loads of a compiled program."""

    def count(items: Any) -> int:
        return sum(
            count(item.body)
            if isinstance(item, Loop)
            else isinstance(item, Instruction) and item.opcode == "register_load"
            for item in items
        )

    program = compile_text(text, "trn1").program
    assert program is not None
    return sum(count(items) for items in program.streams[program.entry].values())


def test_columns_are_one_transfer_and_one_position_is_loaded_once() -> None:
    text = entry(
        "p = f32[256,512] parameter(0)",
        "q = f32[256,512] parameter(1)",
        "z = s32[] constant(0)",
        "i = s32[] parameter(2)",
        "a = f32[256,64] dynamic-slice(p, z, i), dynamic_slice_sizes={256,64}",
        "b = f32[256,64] dynamic-slice(q, z, i), dynamic_slice_sizes={256,64}",
        "c = f32[256,64] add(a, b)",
    )
    assert 1 <= _loads(text) <= 2  # on each engine that starts a transfer
    arrays = [_data("f32", (256, 512), n) for n in (0, 1)]
    args = [*arrays, np.asarray(np.int32(77))]
    np.testing.assert_array_equal(run(text, args)[0], run_xla(text, args)[0])


def test_more_positions_than_registers_choose_rows() -> None:
    lines = ["p = f32[64,96] parameter(0)", "n = s32[70] parameter(1)", "z = s32[] constant(0)"]
    total = "p"
    for k in range(70):
        lines += [
            f"at{k} = s32[1] slice(n), slice={{[{k}:{k + 1}]}}",
            f"i{k} = s32[] reshape(at{k})",
            f"d{k} = f32[64,96] dynamic-update-slice({total}, part{k}, z, i{k})",
        ]
        lines.insert(-1, f"part{k} = f32[64,1] slice(p), slice={{[0:64], [{k}:{k + 1}]}}")
        total = f"d{k}"
    text = entry(*lines)
    args = [_data("f32", (64, 96), 0), np.random.default_rng(3).integers(-9, 120, 70, np.int32)]
    np.testing.assert_array_equal(run(text, args)[0], run_xla(text, args)[0])


@pytest.mark.parametrize("count", [3, 40])
def test_positions_that_a_loop_computes(count: int) -> None:
    text = f"""HloModule m

body {{
  t = (s32[], f32[16,128], s32[{count}], f32[16,128]) parameter(0)
  k = s32[] get-tuple-element(t), index=0
  x = f32[16,128] get-tuple-element(t), index=1
  n = s32[{count}] get-tuple-element(t), index=2
  y = f32[16,128] get-tuple-element(t), index=3
  w = s32[1] dynamic-slice(n, k), dynamic_slice_sizes={{1}}
  i = s32[] reshape(w)
  z = s32[] constant(0)
  a = f32[16,3] dynamic-slice(x, z, i), dynamic_slice_sizes={{16,3}}
  b = f32[16,3] add(a, a)
  v = f32[16,128] dynamic-update-slice(y, b, z, i)
  one = s32[] constant(1)
  next = s32[] add(k, one)
  ROOT r = (s32[], f32[16,128], s32[{count}], f32[16,128]) tuple(next, x, n, v)
}}

cond {{
  t = (s32[], f32[16,128], s32[{count}], f32[16,128]) parameter(0)
  k = s32[] get-tuple-element(t), index=0
  c = s32[] constant({count})
  ROOT l = pred[] compare(k, c), direction=LT
}}

ENTRY e {{
  x = f32[16,128] parameter(0)
  n = s32[{count}] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[16,128], s32[{count}], f32[16,128]) tuple(zero, x, n, x)
  w = (s32[], f32[16,128], s32[{count}], f32[16,128]) while(t), condition=cond, body=body
  ROOT r = f32[16,128] get-tuple-element(w), index=3
}}
"""
    positions = np.random.default_rng(4).integers(-9, 140, count, np.int32)
    args = [_data("f32", (16, 128), 0), positions]
    np.testing.assert_array_equal(run(text, args)[0], run_xla(text, args)[0])

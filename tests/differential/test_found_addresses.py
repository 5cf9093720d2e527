"""Computed positions on inf1, whose transfers take none, against XLA's CPU backend."""

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.differential.test_found import Array, entry
from tests.oracle import run_xla

TYPES: dict[str, Any] = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "s32": np.int32,
    "u16": np.uint16,
    "s8": np.int8,
    "pred": np.bool_,
}


def values(dtype: str, dims: Sequence[int], seed: int = 0) -> Array:
    """All bits of the type: large integers, or floats with infinities, NaN and -0."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(TYPES[dtype])
    if kind.kind == "b":
        return rng.integers(0, 2, dims).astype(kind)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, dims, endpoint=True).astype(kind)
    numbers = rng.standard_normal(dims).astype(np.float32)
    flat = numbers.reshape(-1)
    for k, special in enumerate((np.inf, -np.inf, np.nan, -0.0)):
        flat[k * 5 :: 23] = special
    return numbers.astype(kind)


def _shape(dims: Sequence[int]) -> str:
    return f"[{','.join(map(str, dims))}]"


def check(text: str, *inputs: Sequence[Array]) -> None:
    """Assert that inf1 gives XLA's results for each of `inputs`, but for the bits of NaN."""
    program = compile_text(text, "inf1", CompileOptions(auto_cast="none")).program
    assert program is not None
    used = sorted(v.index for v in program.variables if v.kind == "input")
    machine = get_target("inf1").machine
    for args in inputs:
        outputs = run(program, [args[i] for i in used], machine, Options(races=True)).outputs
        for mine, theirs in zip(outputs, run_xla(text, args), strict=True):
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
            if mine.dtype.kind not in "biu":
                mine, theirs = mine.astype(np.float32), theirs.astype(np.float32)
                zero = theirs == 0
                np.testing.assert_array_equal(np.signbit(mine)[zero], np.signbit(theirs)[zero])
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    ("dims", "sizes", "starts"),
    [
        ((9,), (2,), ((0,), (3,), (7,), (8,), (-3,), (2_000_000_000,))),
        ((130, 7), (1, 7), ((0, 5), (64, 0), (129, 0))),
        ((5, 12, 3), (4, 5, 2), ((0, 0, 0), (1, 7, 1), (0, 6, 1))),
    ],
)
@pytest.mark.parametrize("dtype", TYPES)
def test_dynamic_slices_and_updates(
    dims: tuple[int, ...], sizes: tuple[int, ...], starts: Sequence[tuple[int, ...]], dtype: str
) -> None:
    names = [f"i{d}" for d in range(len(dims))]
    whole, part, at = dtype + _shape(dims), dtype + _shape(sizes), ", ".join(names)
    size = _shape(sizes)[1:-1]
    lines = [
        f"  x = {whole} parameter(0)",
        f"  u = {part} parameter(1)",
        *(f"  {name} = s32[] parameter({d + 2})" for d, name in enumerate(names)),
        f"  s = {part} dynamic-slice(x, {at}), dynamic_slice_sizes={{{size}}}",
        f"  w = {whole} dynamic-update-slice(x, u, {at})",
        f"  ROOT r = ({part}, {whole}) tuple(s, w)",
    ]
    given = [values(dtype, dims), values(dtype, sizes, 1)]
    text = entry("\n".join(lines))
    check(text, *([*given, *(np.asarray(n, np.int32) for n in start)] for start in starts))


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u32"])
def test_positions_of_other_types(kind: str) -> None:
    """The largest position may not fit in the type of the index, nor the index in s32."""
    text = entry(
        f"  x = f32[600] parameter(0)\n  i = {kind}[] parameter(1)\n"
        "  ROOT s = f32[100] dynamic-slice(x, i), dynamic_slice_sizes={100}"
    )
    names = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u32": np.uint32}
    starts = [np.asarray(n).astype(names[kind]) for n in (0, 100, 250, 4_000_000_000)]
    check(text, *([np.arange(600, dtype=np.float32), start] for start in starts))

"""Values in HBM that are concatenated into a result are written to their places in it."""

from collections.abc import Sequence

import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.lowering.helpers import run
from tests.oracle import run_xla
from tests.tile.test_found import arguments


def _caches(dims: Sequence[int], kind: str = "f32", axis: int = 0) -> str:
    """Two layers, each of which appends a row to its cache and reads the whole."""
    n, heads, width = dims
    one, cache = f"{kind}[{heads},{width}]", f"{kind}[{n},{heads},{width}]"
    joined = [n, heads, width]
    joined[axis] *= 2
    whole = f"{kind}[{','.join(map(str, joined))}]"
    rest = f"[0:{n}], [0:{heads}], [0:{width}]"
    body = "".join(
        f"""
  part{k} = {kind}[1,{n},{heads},{width}] slice(caches), slice={{[{k}:{k + 1}], {rest}}}
  c{k} = {cache} reshape(part{k})
  row{k} = {kind}[1,{heads},{width}] reshape(x{k})
  d{k} = {cache} dynamic-update-slice(c{k}, row{k}, at, z, z)
  y{k} = {one} reduce(d{k}, f), dimensions={{0}}, to_apply=add
  x{k + 1} = {one} add(x{k}, y{k})"""
        for k in range(2)
    )
    return f"""HloModule m

add {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT c = {kind}[] add(a, b)
}}

ENTRY e {{
  caches = {kind}[2,{n},{heads},{width}] parameter(0)
  x0 = {one} parameter(1)
  at = s32[] parameter(2)
  z = s32[] constant(0)
  f = {kind}[] constant(0){body}
  all = {whole} concatenate(d0, d1), dimensions={{{axis}}}
  ROOT r = ({one}, {whole}) tuple(x2, all)
}}
"""


def _names(text: str) -> list[str]:
    module = compile_text(text, "trn1", CompileOptions(compile_to="tiled", tiling="always")).module
    return [op.name for op in module.walk()]


@pytest.mark.parametrize("dims", [(128, 4, 64), (37, 3, 50)])
@pytest.mark.parametrize("kind", ["f32", "s32"])
@pytest.mark.parametrize("axis", [0, 1])
def test_caches_of_two_layers(dims: tuple[int, int, int], kind: str, axis: int) -> None:
    """The update is written into the result, if its rows are contiguous there, and read there."""
    text = _caches(dims, kind, axis)
    assert ("hlo.concatenate" in _names(text)) == (axis == 1)
    rng = np.random.default_rng(3)
    dtype = np.float32 if kind == "f32" else np.int32
    shapes = [(2, *dims), dims[1:]]
    for at in (-5, 0, 17, 1000):
        values = [rng.integers(-9, 9, s).astype(dtype) for s in shapes]
        args = [*values, np.array(at, np.int32)]
        for mine, theirs in zip(run(text, args), run_xla(text, args), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_an_update_twice_in_one_result() -> None:
    text = _caches((128, 4, 64)).replace("concatenate(d0, d1)", "concatenate(d1, d1)")
    args = [0.3 * a if a.dtype == np.float32 else a for a in arguments(text)]
    assert not failures(text, args, "none", None, ("tiled", "virtual", "binary"))


def test_arguments_and_values_on_the_chip_beside_updates() -> None:
    text = (
        _caches((128, 4, 64))
        .replace("concatenate(d0, d1)", "concatenate(d0, c1, chip)")
        .replace("f32[256,4,64]", "f32[384,4,64]")
    )
    text = text.replace("  all = ", "  chip = f32[128,4,64] multiply(c0, c1)\n  all = ")
    args = [0.3 * a if a.dtype == np.float32 else a for a in arguments(text)]
    assert not failures(text, args, "none", None, ("tiled", "virtual", "binary"))


def test_three_arrays() -> None:
    """Each one lies behind all of those before it."""
    arrays = "".join(
        f"""
  c{k} = f32[{n},40] parameter({k})
  d{k} = f32[{n},40] dynamic-update-slice(c{k}, row, at, zero)"""
        for k, n in enumerate((3, 5, 2))
    )
    text = f"""HloModule m

ENTRY e {{
  row = f32[1,40] parameter(3)
  at = s32[] parameter(4)
  zero = s32[] constant(0){arrays}
  ROOT r = f32[10,40] concatenate(d0, d1, d2), dimensions={{0}}
}}
"""
    args = arguments(text)
    reference = {"out0": run_xla(text, args)[0]}
    assert not failures(text, args, "none", reference, ("tiled", "virtual", "binary"))

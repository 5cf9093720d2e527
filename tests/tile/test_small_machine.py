"""Phase `tiled` on inf1: no POOL, and no fp32 operands of PE."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.differential.stages import stages
from tests.oracle import run_xla

RNG = np.random.default_rng(0)
REDUCE = """HloModule m
f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] OPERATION(a, b)
}
ENTRY e {
  x = f32[SHAPE] parameter(0)
  z = f32[] constant(START)
  ROOT r = f32[RESULT] reduce(x, z), dimensions={0}, to_apply=f
}"""
BROADCAST = """HloModule m
ENTRY e {
  x = TYPE[64] parameter(0)
  y = TYPE[300,64] parameter(1)
  b = TYPE[300,64] broadcast(x), dimensions={1}
  ROOT r = TYPE[300,64] maximum(b, y)
}"""
TYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16)}


def outputs(text: str, args: list[Any]) -> Any:
    """What the tiled program gives, which the race checker has seen."""
    *_, stage = stages(text, args, "matmult", ("tiled", "binary"), "inf1")
    return stage.outputs[0]


@pytest.mark.parametrize("shape", [(300, 40), (100, 3, 7), (1000,)], ids=str)
@pytest.mark.parametrize(("operation", "start"), [("add", "0"), ("maximum", "-inf")])
def test_reductions_over_partitions(shape: tuple[int, ...], operation: str, start: str) -> None:
    x = RNG.normal(size=shape).astype(np.float32)
    text = REDUCE.replace("OPERATION", operation).replace("START", start)
    text = text.replace("SHAPE", ",".join(map(str, shape)))
    text = text.replace("RESULT", ",".join(map(str, shape[1:])))
    (want,) = run_xla(text, [x])
    np.testing.assert_allclose(outputs(text, [x]), want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    ("dims", "order"),
    [
        ((128, 16, 7), (1, 2, 0)),
        ((96, 40), (1, 0)),
        ((5, 60, 33), (2, 1, 0)),
        ((4, 6, 50), (0, 2, 1)),
    ],
    ids=str,
)
def test_transposes_keep_all_bits(name: str, dims: tuple[int, ...], order: tuple[int, ...]) -> None:
    """The target of a block of a transpose may have a stride, or several dimensions."""
    result = ",".join(str(dims[d]) for d in order)
    text = f"""HloModule m
ENTRY e {{
  x = {name}[{",".join(map(str, dims))}] parameter(0)
  t = {name}[{result}] transpose(x), dimensions={{{",".join(map(str, order))}}}
  ROOT n = {name}[{result}] negate(t)
}}"""
    x = RNG.normal(size=dims).astype(TYPES[name])
    x[::5, 0] = -0.0
    x[1::7, :, ...] = np.nan
    want = -x.transpose(order).astype(np.float32)
    found = np.asarray(outputs(text, [x])).astype(np.float32)
    np.testing.assert_array_equal(found, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(want)[numbers])


@pytest.mark.parametrize("name", TYPES)
def test_broadcasts_keep_special_values(name: str) -> None:
    x = np.full(64, -0.0).astype(TYPES[name])
    x[::3] = np.nan
    y = np.full((300, 64), -1.0).astype(TYPES[name])
    wide = outputs(BROADCAST.replace("TYPE", name), [x, y]).astype(np.float32)
    assert np.isnan(wide[:, ::3]).all() and not np.isnan(wide[:, 1::3]).any()
    assert np.signbit(wide[:, 1::3]).all()


@pytest.mark.parametrize("name", ["f32", "s32"])
@pytest.mark.parametrize("along", [0, 1, 2])
def test_counts_are_constants(name: str, along: int) -> None:
    text = f"""HloModule m
ENTRY e {{
  x = {name}[130,5,12] parameter(0)
  i = {name}[130,5,12] iota(), iota_dimension={along}
  ROOT r = {name}[130,5,12] add(x, i)
}}"""
    x = RNG.integers(-1000, 1000, (130, 5, 12)).astype(np.float32 if name == "f32" else np.int32)
    want = x + np.arange(x.shape[along]).reshape([-1 if d == along else 1 for d in range(3)])
    np.testing.assert_array_equal(outputs(text, [x]), want)

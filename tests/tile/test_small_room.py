"""Loops over tiles that small programs have where tile-fuse has little room."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.differential.small_room import small_room
from tests.oracle import BFLOAT16, run_xla

Array = NDArray[np.generic]
ROOM = 0.002

DOT = """HloModule dot
ENTRY e {
  x = TYPE[127,64] parameter(0)
  y = TYPE[127,128] parameter(1)
  ROOT d = TYPE[64,128] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
}
"""
SUM = """HloModule sum
a {
  x = TYPE[] parameter(0)
  y = TYPE[] parameter(1)
  ROOT s = TYPE[] add(x, y)
}
ENTRY e {
  x = TYPE[4096,2] parameter(0)
  z = TYPE[] constant(START)
  ROOT s = TYPE[2] reduce(x, z), dimensions={0}, to_apply=a
}
"""


def compiled_and_run(text: str, args: list[Array], weights: Mapping[str, Array]) -> list[Array]:
    """The results of the binary, through phase tiled with little room."""
    options = CompileOptions(auto_cast="none", tiling="always", weights=weights)
    with small_room(ROOM):
        program = compile_text(text, "trn1", options).program
    assert program is not None
    given = sorted(v.index for v in program.variables if v.kind == "input")
    machine = get_target("trn1").machine
    return run(program, [args[i] for i in given], machine, Options(races=True)).outputs


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_a_product_in_parts_is_rounded_once(kind: str) -> None:
    """The parts are added up in fp32: in 16 bits, what is added to a large one would be lost."""
    dtype = BFLOAT16 if kind == "bf16" else np.dtype(np.float16)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-4, 5, shape).astype(dtype) for shape in ((127, 64), (127, 128)))
    x[:32], x[64:96] = 64, 64
    y[64:96] = -y[:32]  # the second part cancels the first one
    (got,) = compiled_and_run(DOT.replace("TYPE", kind), [x, y], {})
    exact = x.T.astype(np.float64) @ y.astype(np.float64)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, exact.astype(np.float32).astype(dtype))


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_a_sum_in_parts_adds_them_in_fp32(kind: str) -> None:
    dtype = BFLOAT16 if kind == "bf16" else np.dtype(np.float16)
    x = np.ones((4096, 2), dtype)
    (got,) = compiled_and_run(SUM.replace("TYPE", kind).replace("START", "0.5"), [x], {})
    assert (got == np.asarray(4096.5).astype(dtype)).all()


ARGMAX = """HloModule argmax
r {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  odd = pred[] compare(a, a), direction=NE
  better = pred[] or(more, odd)
  equal = pred[] compare(a, b), direction=EQ
  before = pred[] compare(i, j), direction=LT
  tie = pred[] and(equal, before)
  take = pred[] or(better, tie)
  x = f32[] select(take, a, b)
  y = s32[] select(take, i, j)
  ROOT r = (f32[], s32[]) tuple(x, y)
}
ENTRY e {
  p = f32[PARAMETER] parameter(0)
  v = f32[2,600] BROADCAST
  n = s32[2,600] iota(), iota_dimension=1
  k = f32[] constant(-inf)
  z = s32[] constant(0)
  t = (f32[2], s32[2]) reduce(v, n, k, z), dimensions={1}, to_apply=r
  ROOT o = s32[2] get-tuple-element(t), index=1
}
"""


@pytest.mark.parametrize("wide", [False, True])
def test_places_in_rows_that_are_bound(wide: bool) -> None:
    """A row of one number, and a largest element that is known: rows are searched in arrays."""
    text = ARGMAX.replace("PARAMETER", "2,600" if wide else "")
    text = text.replace("BROADCAST", "copy(p)" if wide else "broadcast(p), dimensions={}")
    row = np.random.default_rng(0).normal(size=600).astype(np.float32)
    p = np.stack([row, row]) if wide else np.float32(-1.0)
    (got,) = compiled_and_run(text, [np.asarray(p)], {"p": np.asarray(p)})
    np.testing.assert_array_equal(got, run_xla(text, [np.asarray(p)])[0])

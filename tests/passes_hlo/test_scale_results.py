"""hlo-scale-results: the scales of quantized weights multiply the result of a dot."""

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.dtypes import from_hlo_name, np_dtype
from tests.passes_hlo.helpers import opcodes, program, run_passes

DOT = """ENTRY main {
  x = f32[X] parameter(0)
  q = TYPE[W] parameter(1)
  s = f32[S] parameter(2)
  f = f32[W] convert(q)
  b = f32[W] broadcast(s), dimensions={DIMS}
  w = f32[W] multiply(f, b)
  ROOT r = f32[R] dot(x, w), CONTRACTING
}
"""
RHS = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
TRANSPOSED = "lhs_contracting_dims={1}, rhs_contracting_dims={1}"
EXPERTS = (
    "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
)
AFTER = ["convert", "dot", "broadcast", "multiply"]
BEFORE = ["convert", "broadcast", "multiply", "dot"]


def _text(x: str, w: str, s: str, dims: str, r: str, contracting: str, kind: str = "s8") -> str:
    text = DOT.replace("TYPE", kind).replace("CONTRACTING", contracting).replace("DIMS", dims)
    for name, sizes in (("X", x), ("W", w), ("S", s), ("R", r)):
        text = text.replace(f"[{name}]", f"[{sizes}]")
    return text


@pytest.mark.parametrize("kind", ["s8", "u8", "f8e4m3fn"])
@pytest.mark.parametrize(
    ("case", "left"),
    [
        (("4,32", "32,24", "24", "1", "4,24", RHS), AFTER),
        (("4,32", "24,32", "24", "0", "4,24", TRANSPOSED), AFTER),
        (("2,4,32", "2,32,24", "2,24", "0,2", "2,4,24", EXPERTS), AFTER),
        (("2,4,32", "2,32,24", "2", "0", "2,4,24", EXPERTS), AFTER),
        (("4,32", "32,24", "32", "0", "4,24", RHS), BEFORE),  # a scale for each summed row
        (("64,32", "32,24", "24", "1", "64,24", RHS), BEFORE),  # more results than weights
    ],
)
def test_scales(case: tuple[str, str, str, str, str, str], left: list[str], kind: str) -> None:
    """Sums of 32 products, each rounded, in another order: 34 roundings at most."""
    module = program(_text(*case, kind=kind))
    rng = np.random.default_rng(2)
    x, w, s = (tuple(map(int, sizes.split(","))) for sizes in case[:3])
    dtype = np_dtype(from_hlo_name(kind))
    args = [
        rng.standard_normal(x).astype(np.float32),
        rng.integers(0 if kind == "u8" else -127, 127, w).astype(dtype),
        rng.uniform(0.01, 0.1, s).astype(np.float32),
    ]
    (before,) = interpret(module, args)
    run_passes(module, "hlo-scale-results,hlo-dce")
    assert [name for name in opcodes(module) if name != "constant"] == left
    (after,) = interpret(module, args)
    largest = np.abs(args[0]).max() * np.abs(args[1].astype(np.float32)).max() * args[2].max()
    assert np.abs(after - before).max() <= 34 * 32 * largest * 2.0**-24


@pytest.mark.parametrize(
    ("shift", "first"),
    [
        ("p = f32[24] parameter(3)\n  z = f32[32,24] broadcast(p), dimensions={1}", "dot"),
        ("z = f32[32,24] parameter(3)", "multiply"),
    ],
)
def test_a_zero_point_is_repeated(shift: str, first: str) -> None:
    """An array that is subtracted from the weights is none."""
    text = _text("4,32", "32,24", "24", "1", "4,24", RHS).replace(
        "multiply(f, b)", "multiply(d, b)"
    )
    text = text.replace("  b =", f"  {shift}\n  d = f32[32,24] subtract(f, z)\n  b =")
    module = program(text)
    run_passes(module, "hlo-scale-results,hlo-dce")
    names = opcodes(module)
    assert min(("dot", "multiply"), key=names.index) == first

"""`--auto-cast-type tf32`: operands of products rounded to 10 bits of mantissa, judged by XLA."""

import numpy as np
import pytest

from benchmarks.measure import simulate
from neuronir.dialects.nc.semantics.convert import round_tf32
from neuronir.driver import CompileOptions, compile_text
from tests.acceptance.programs import decoded
from tests.lowering.helpers import entry
from tests.oracle import run_xla

PROGRAMS = {
    "dot": (
        (4, 8),
        (8, 16),
        "f32[4,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    ),
    "batch": (
        (3, 5, 129),
        (3, 129, 7),
        "f32[3,5,7] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    ),
    "convolution": (
        (2, 9, 9, 3),
        (3, 3, 3, 5),
        "f32[2,7,7,5] convolution(a, b), window={size=3x3}, dim_labels=b01f_01io->b01f",
    ),
}


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_products_of_tf32(name: str, bound: bool) -> None:
    left, right, op = PROGRAMS[name]
    rng = np.random.default_rng(5)
    args = [rng.standard_normal(s).astype(np.float32) for s in (left, right)]
    dims = [",".join(map(str, s)) for s in (left, right)]
    text = entry(
        f"a = f32[{dims[0]}] parameter(0)", f"b = f32[{dims[1]}] parameter(1)", f"r = {op}"
    )
    (wanted,) = run_xla(text, [round_tf32(a) for a in args])
    (unrounded,) = run_xla(text, args)
    options = CompileOptions(auto_cast_type="tf32", weights={"b": args[1]} if bound else {})
    result = compile_text(text, "trn1", options)
    (mine,) = simulate(decoded(result), args, result)
    np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-5)
    assert np.abs(unrounded - wanted).max() > 1e-4  # the rounding shows

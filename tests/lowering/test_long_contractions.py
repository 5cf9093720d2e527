"""Dots over so many features that the weights of one tile of columns take much of SBUF."""

from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import MemRefType

from neuronir.api import Executable
from neuronir.dialects.nc.records import partition_bytes
from neuronir.dialects.nc.structure import AllocOp
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.products.operands import WEIGHT_PIECE_BYTES
from tests.lowering.helpers import entry


@pytest.mark.parametrize("bound", [False, True], ids=["argument", "constant"])
@pytest.mark.parametrize("turned", [False, True], ids=["kn", "nk"])
@pytest.mark.parametrize("features", [12544, 12500])
def test_weights_come_by_parts_of_the_contraction(bound: bool, turned: bool, features: int) -> None:
    shape = f"96,{features}" if turned else f"{features},96"
    text = entry(
        f"x = f32[1,{features}] parameter(0)",
        f"w = f32[{shape}] parameter(1)",
        "v = f32[96,64] parameter(2)",
        "y = f32[1,96] dot(x, w), lhs_contracting_dims={1}, "
        f"rhs_contracting_dims={{{int(turned)}}}",
        "z = f32[1,64] dot(y, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    rng = np.random.default_rng(0)
    x, w, v = (
        rng.standard_normal(s).astype(np.float32) for s in ((1, features), (features, 96), (96, 64))
    )
    weights = {"arg1": np.ascontiguousarray(w.T) if turned else w, "arg2": v}
    options = CompileOptions(auto_cast="none", tiling="never", weights=weights if bound else {})
    virtual = compile_text(text, "trn1", replace(options, compile_to="virtual")).module
    sizes = [
        partition_bytes(op.buffer.type)
        for op in virtual.walk()
        if isinstance(op, AllocOp) and isinstance(op.buffer.type, MemRefType)
    ]
    if features % 128 == 0 and not turned:
        assert max(sizes) <= WEIGHT_PIECE_BYTES
    result = compile_text(text, "trn1", options)
    assert result.program is not None
    run = Executable(result.program, result.encoding)
    (got,) = (run(x=x) if bound else run(x, *weights.values())).values()
    want = x.astype(np.float64) @ w @ v
    # sums of so many products in fp32, twice
    assert np.abs(got - want).max() <= 2.0**-24 * features * np.abs(want).max()

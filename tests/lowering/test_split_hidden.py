"""Values between two dots in parts of the contraction, by XLA's numbers, and near misses."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from neuronir.api import Executable
from neuronir.dialects.nc.machine import get_machine
from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.batch.split_hidden import split_block
from neuronir.passes.lowering.entry import entry_on
from tests.lowering.helpers import at_hlo, entry
from tests.lowering.test_split_batch import lowered, ops
from tests.oracle import random_array, run_xla

GATED = entry(
    "x = f32[96,64] parameter(0)",
    "u = f32[64,512] parameter(1)",
    "v = f32[64,512] parameter(2)",
    "w = f32[80,512] parameter(3)",
    "b = f32[512] parameter(4)",
    "g = f32[96,512] dot(x, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "c = f32[96,512] broadcast(b), dimensions={1}",
    "a = f32[96,512] add(g, c)",
    "t = f32[96,512] tanh(a)",
    "d = f32[96,512] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "h = f32[96,512] multiply(t, d)",
    "y = f32[80,96] dot(w, h), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
)
SHAPES = [(96, 64), (64, 512), (64, 512), (80, 512), (512,)]


def split(module: ModuleOp, largest: int) -> list[int]:
    block: Block
    ((block, machine),) = entry_on(module, "trn1")
    made = split_block(block, machine, largest)
    module.verify()
    return made


@pytest.mark.parametrize("parts", [2, 4])
def test_gate_is_divided_with_both_dots_and_its_bias(parts: int) -> None:
    rng = np.random.default_rng(parts)
    args = [random_array(rng, shape, np.float32) for shape in SHAPES]
    module = at_hlo(GATED)
    assert split(module, 96 * 512 * 4 // parts) == [parts]
    assert ops(module, "hlo.dot") == 3 * parts
    assert ops(module, "hlo.add") == parts + parts - 1
    (got,) = lowered(module, args)
    (want,) = run_xla(GATED, args)
    np.testing.assert_allclose(np.asarray(got).reshape(want.shape), want, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # another user needs the whole value
        ("ROOT y = f32[80,96]", "z = f32[80,96]"),
        # parts would not be multiples of 128
        ("512", "500"),
        # the sum of parts would be rounded
        ("y = f32[80,96]", "y = bf16[80,96]"),
    ],
)
def test_near_misses_are_left_alone(old: str, new: str) -> None:
    text = GATED.replace(old, new)
    if new.startswith("z"):
        text = text.replace("\n}", "\n  ROOT y = (f32[80,96], f32[96,512]) tuple(z, h)\n}")
    assert split(at_hlo(text), 1000) == []


@pytest.mark.slow
def test_network_that_fits_only_in_parts_needs_no_scratch() -> None:
    """Weights are read once, and no value passes through HBM."""
    text = entry(
        "x = bf16[2048,128] parameter(0)",
        "v = bf16[128,4096] parameter(1)",
        "w = bf16[4096,128] parameter(2)",
        "d = f32[2048,4096] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "r = f32[2048,4096] abs(d)",
        "h = bf16[2048,4096] convert(r)",
        "y = f32[2048,128] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    rng = np.random.default_rng(0)
    sparse = rng.integers(-1, 2, (2048, 128)) * (rng.random((2048, 128)) < 0.05)
    v, w = rng.integers(-1, 2, (128, 4096)), rng.integers(-1, 2, (4096, 128))
    bf16 = np.dtype("bfloat16")
    result = compile_text(
        text, "inf1", CompileOptions(weights={"arg1": v.astype(bf16), "arg2": w.astype(bf16)})
    )
    assert result.program is not None
    assert not [one for one in result.program.variables if one.kind in ("scratch", "spill")]
    (mine,) = Executable(result.program, result.encoding)(sparse.astype(bf16)).values()
    np.testing.assert_array_equal(mine, np.abs(sparse @ v) @ w)
    assert get_machine("inf1").sbuf_partition_bytes * 128 < 2048 * 4096 * 2

"""Constants are loaded in pieces that suit the rate of DMA, so that several fit in the ring."""

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import Instruction
from neuronir.driver import CompileOptions, compile_text
from tests.lowering.helpers import entry


@pytest.mark.parametrize(("target", "largest"), [("inf1", 8 * 640), ("trn1", 20480)])
def test_rows_of_pieces_take_as_long_as_eight_descriptors(target: str, largest: int) -> None:
    text = entry(
        "x = bf16[512,768] parameter(0)",
        "w = bf16[768,3072] parameter(1)",
        "u = bf16[3072,64] parameter(2)",
        "d = f32[512,3072] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "h = bf16[512,3072] convert(d)",
        "y = f32[512,64] dot(h, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    rng = np.random.default_rng(0)
    weights = {"arg1": rng.standard_normal((768, 3072)).astype(np.dtype("bfloat16"))}
    program = compile_text(text, target, CompileOptions(weights=weights, tiling="never")).program
    assert program is not None
    constants = [v for v in program.variables if v.kind == "constant"]
    rows = []
    for items in program.streams["main"].values():
        for item in items:
            if isinstance(item, Instruction) and item.engine.is_dma and item.src[0] is not None:
                at = item.src[0].address.const
                if any(v.address <= at < v.address + v.size for v in constants):
                    dst = item.dst[0]
                    assert dst is not None and dst.space is Space.SBUF
                    rows.append(dst.elements * dst.dtype.size)
    assert sum(rows) >= 768 * 3072 * 2 // 128
    assert largest // 2 < max(rows) <= largest

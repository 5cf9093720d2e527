"""Results that lie on all partitions alike are stored from one of them."""

import numpy as np
import pytest

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import Instruction, Program
from neuronir.driver import CompileOptions, compile_text
from tests.lowering.helpers import run
from tests.simulator_functional.faults import instructions

ADD = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"


def text(rows: int, columns: int, dims: str, result: str) -> str:
    """A sum, and a product with its square root."""
    return f"""HloModule m

{ADD}
ENTRY e {{
  x = f32[{rows},{columns}] parameter(0)
  z = f32[] constant(0)
  s = {result} reduce(x, z), dimensions={{{dims}}}, to_apply=add
  q = {result} sqrt(s)
  b = f32[{rows},{columns}] broadcast(q), dimensions={{{"" if "," in dims else "1"}}}
  y = f32[{rows},{columns}] multiply(x, b)
  ROOT r = ({result}, f32[{rows},{columns}]) tuple(s, y)
}}
"""


def stores(program: Program) -> list[Instruction]:
    """The transfers to HBM."""
    return [i for i in instructions(program) if i.dst and i.dst[0] and i.dst[0].space == Space.HBM]


@pytest.mark.parametrize("dims, result", [("0,1", "f32[]"), ("0", "f32[24]")])
@pytest.mark.parametrize("rows", [128, 256, 96])
def test_replicated_results_are_stored_once(rows: int, dims: str, result: str) -> None:
    source = text(rows, 24, dims, result)
    program = compile_text(source, "trn1", CompileOptions(auto_cast="none")).program
    assert program is not None
    written = sum(i.dst[0].elements * i.dst[0].partitions for i in stores(program) if i.dst[0])
    assert written == rows * 24 + (24 if "24" in result else 1)
    x = np.random.default_rng(0).uniform(1, 2, (rows, 24)).astype(np.float32)
    total = x.sum(axis=(0, 1) if "," in dims else 0)
    for found, expected in zip(run(source, [x]), (total, x * np.sqrt(total)), strict=True):
        np.testing.assert_allclose(found, expected, 1e-5)

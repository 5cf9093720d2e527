"""Gathers whose rows are reduced: the rows of one bag lie side by side on a partition."""

from typing import Any

import numpy as np
import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import Options, run
from tests.oracle import run_xla


def bags(table: int, width: int, shape: str, reduced: str, result: str, opcode: str) -> str:
    """Rows of a table for indices of a shape, reduced over dimensions of these."""
    rank = shape.count(",") + 1
    return f"""HloModule m

f {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] {opcode}(a, b)
}}

ENTRY e {{
  t = f32[{table},{width}] parameter(0)
  i = s32[{shape},1] parameter(1)
  g = f32[{shape},{width}] gather(t, i), offset_dims={{{rank}}}, collapsed_slice_dims={{0}}, \
start_index_map={{0}}, index_vector_dim={rank}, slice_sizes={{1,{width}}}
  z = f32[] constant(0)
  ROOT r = f32[{result},{width}] reduce(g, z), dimensions={{{reduced}}}, to_apply=f
}}
"""


@pytest.mark.parametrize(
    ("shape", "reduced", "result", "opcode"),
    [
        ("256,20", "1", "256", "add"),
        ("64,7", "1", "64", "maximum"),
        ("8,16,3", "2", "8,16", "add"),
        ("128,4,3", "1,2", "128", "add"),
        ("7,50", "1", "7", "add"),
        ("257,3", "1", "257", "add"),
        ("20,256", "0", "256", "add"),
    ],
)
def test_bags(shape: str, reduced: str, result: str, opcode: str) -> None:
    """As XLA, whether bags fill the partitions, leave some empty, do not divide, or lie across."""
    rng = np.random.default_rng(0)
    text = bags(500, 24, shape, reduced, result, opcode)
    sizes = [int(n) for n in shape.split(",")]
    args: list[Any] = [
        rng.standard_normal((500, 24), dtype=np.float32),
        rng.integers(-3, 505, (*sizes, 1)).astype(np.int32),
    ]
    (want,) = run_xla(text, args)
    program = compile_text(text, "trn1", CompileOptions(tiling="never")).program
    assert program is not None
    (found,) = run(program, args, get_target("trn1").machine, Options(races=True)).outputs
    np.testing.assert_allclose(np.asarray(found), np.asarray(want), rtol=1e-5, atol=1e-5)


def test_bags_do_not_leave_the_chip() -> None:
    """Gathered rows are reduced where they arrive; neither they nor indices pass through HBM."""
    text = bags(500, 24, "256,20", "1", "256", "add")
    program = compile_text(text, "trn1", CompileOptions(tiling="never")).program
    assert program is not None
    assert not [v for v in program.variables if v.kind == "scratch"]

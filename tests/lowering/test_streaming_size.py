"""What a block takes of SBUF, which decides whether it is worked on tile by tile."""

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from neuronir.driver import CompileOptions, compile_text
from neuronir.passes.lowering.streaming.size import peak_bytes
from neuronir.targets.trn1.machine import TRN1


def ops_of(text: str, phase: str = "hlo", **options: object) -> list[Operation]:
    """The ops of the entry function at a phase."""
    given = CompileOptions(compile_to=phase, **options)  # type: ignore[arg-type]
    module = compile_text(text, "trn1", given).module
    func = next(op for op in module.walk() if isinstance(op, FuncOp))
    return [op for op in func.body.block.ops if op is not func.body.block.last_op]


GATHER = """HloModule m
ENTRY main {
  table = f32[4096,64] parameter(0)
  ids = s32[128,1] parameter(1)
  rows = f32[128,64] gather(table, ids), offset_dims={1}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}
  ROOT r = f32[128,64] tanh(rows)
}"""


def test_table_that_a_gather_reads_stays_in_hbm() -> None:
    rows, ids = 128 * 64 * 4, 128 * 4
    bound = ops_of(GATHER, weights={"arg0": np.zeros((4096, 64), np.float32)})
    assert rows + ids <= peak_bytes(bound, TRN1) <= 2 * rows + ids
    assert peak_bytes(ops_of(GATHER), TRN1) >= 4096 * 64 * 4


def test_product_is_what_its_eviction_makes_of_it() -> None:
    text = """HloModule m
ENTRY main {
  x = bf16[128,128] parameter(0)
  w = bf16[128,1024] parameter(1)
  b = f32[1024] parameter(2)
  d = f32[128,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[128,1024] broadcast(b), dimensions={1}
  a = f32[128,1024] add(d, s)
  t = f32[128,1024] tanh(a)
  ROOT r = bf16[128,1024] convert(t)
}"""
    operands = 128 * 128 * 2 + 128 * 1024 * 2
    assert operands <= peak_bytes(ops_of(text), TRN1) - 128 * 1024 * 2 <= operands + 1024 * 4


def test_product_that_is_used_twice_counts_itself() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[128,128] parameter(0)
  w = f32[128,1024] parameter(1)
  d = f32[128,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[128,1024] tanh(d)
  ROOT r = f32[128,1024] multiply(d, t)
}"""
    assert peak_bytes(ops_of(text, auto_cast="none"), TRN1) >= 3 * 128 * 1024 * 4


def test_slices_of_a_broadcast_take_the_bytes_of_its_source() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[4,512,512] parameter(0)
  m = f32[512] parameter(1)
  b = f32[4,512,512] broadcast(m), dimensions={2}
  b0 = f32[1,512,512] slice(b), slice={[0:1], [0:512], [0:512]}
  b1 = f32[1,512,512] slice(b), slice={[1:2], [0:512], [0:512]}
  x0 = f32[1,512,512] slice(x), slice={[0:1], [0:512], [0:512]}
  x1 = f32[1,512,512] slice(x), slice={[1:2], [0:512], [0:512]}
  s0 = f32[1,512,512] add(x0, b0)
  s1 = f32[1,512,512] multiply(x1, b1)
  ROOT r = (f32[1,512,512], f32[1,512,512]) tuple(s0, s1)
}"""
    piece = 512 * 512 * 4
    assert peak_bytes(ops_of(text, "parsed"), TRN1) <= 7 * piece + 512 * 4

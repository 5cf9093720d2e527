"""The report of compiled models names what their time depends on, and says what would help."""

import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.targets.simulator.attribution import usage_of
from neuronir.targets.simulator.losses import find_losses
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.report_rows import Report
from neuronir.targets.simulator.summary import summary_text
from neuronir.targets.simulator.timing import simulate_timing
from neuronir.targets.simulator.work import find_work
from tests.acceptance.programs import binary

PRODUCT = """HloModule product
ENTRY e {
  x = f32[1024,1024] parameter(0)
  w = f32[1024,1024] parameter(1)
  ROOT d = f32[1024,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""

STREAM = """HloModule stream
ENTRY e {
  x = f32[2048,4096] parameter(0)
  y = f32[2048,4096] parameter(1)
  ROOT s = f32[2048,4096] add(x, y)
}"""

ROW_TIMES_MATRIX = """HloModule matvec
ENTRY e {
  x = f32[1,2048] parameter(0)
  w = f32[2048,2048] parameter(1)
  ROOT d = f32[1,2048] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""

ROWS_BY_INDEX = """HloModule gather
ENTRY e {
  t = f32[50000,8] parameter(0)
  i = s32[4096,1] parameter(1)
  ROOT g = f32[4096,8] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, \
start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
}"""

CHAIN = """HloModule chain
ENTRY e {
  x = f32[128,8192] parameter(0)
  y = f32[128,8192] parameter(1)
  a = f32[128,8192] multiply(x, y)
  b = f32[128,8192] maximum(a, x)
  c = f32[128,8192] subtract(b, y)
  d = f32[128,8192] multiply(c, b)
  f = f32[128,8192] minimum(d, a)
  g = f32[128,8192] add(f, c)
  h = f32[128,8192] multiply(g, d)
  ROOT i = f32[128,8192] subtract(h, f)
}"""

RECURRENCE = """HloModule recurrence
body {
  s = (s32[], f32[64,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[64,64] get-tuple-element(s), index=1
  w = f32[64,64] get-tuple-element(s), index=2
  d = f32[64,64] dot(h, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64,64] tanh(d)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[64,64], f32[64,64]) tuple(j, t, w)
}
cond {
  s = (s32[], f32[64,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(200)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  h = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  z = s32[] constant(0)
  t = (s32[], f32[64,64], f32[64,64]) tuple(z, h, w)
  l = (s32[], f32[64,64], f32[64,64]) while(t), condition=cond, body=body
  ROOT o = f32[64,64] get-tuple-element(l), index=1
}"""

GROUP_NORM = """HloModule group_norm
sum {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}
ENTRY e {
  x = f32[1,64,64,256] parameter(0)
  g = f32[1,64,64,32,8] reshape(x)
  z = f32[] constant(0)
  s = f32[1,32] reduce(g, z), dimensions={1,2,4}, to_apply=sum
  n = f32[] constant(32768)
  nb = f32[1,32] broadcast(n), dimensions={}
  m = f32[1,32] divide(s, nb)
  mb = f32[1,64,64,32,8] broadcast(m), dimensions={0,3}
  c = f32[1,64,64,32,8] subtract(g, mb)
  c2 = f32[1,64,64,32,8] multiply(c, c)
  v = f32[1,32] reduce(c2, z), dimensions={1,2,4}, to_apply=sum
  vm = f32[1,32] divide(v, nb)
  ep = f32[] constant(1e-5)
  epb = f32[1,32] broadcast(ep), dimensions={}
  ve = f32[1,32] add(vm, epb)
  rs = f32[1,32] rsqrt(ve)
  rb = f32[1,64,64,32,8] broadcast(rs), dimensions={0,3}
  o = f32[1,64,64,32,8] multiply(c, rb)
  ROOT y = f32[1,64,64,256] reshape(o)
}"""


def report_of(text: str, cast: str = "matmult") -> Report:
    program = compile_text(text, "trn1", CompileOptions(auto_cast=cast)).program
    assert program is not None
    return build_report(simulate_timing(program))


@pytest.mark.parametrize(
    ("text", "cast", "op", "what", "advice"),
    [
        (PRODUCT, "none", "d", "tensor computes products in fp32", "--auto-cast matmult"),
        (STREAM, "matmult", "s", "dma reads inputs at its full rate", "narrower types"),
        (ROW_TIMES_MATRIX, "matmult", "d", "dma reads inputs at its full rate", "fewer bytes"),
        (ROWS_BY_INDEX, "matmult", "g", "gpsimd makes descriptors of gathers", "slices"),
        (CHAIN, "matmult", "a", "vector computes at its full rate", "fuse arithmetic"),
        (RECURRENCE, "matmult", "t", "scalar waits in tanh for vector to finish dot", "overlap"),
    ],
    ids=("fp32", "stream", "matvec", "gather", "chain", "recurrence"),
)
def test_cause(text: str, cast: str, op: str, what: str, advice: str) -> None:
    cause = report_of(text, cast)["cause"]
    assert what in cause["what"], cause
    assert cause["worst_op"] == op
    assert advice in cause["advice"]


def test_a_norm_at_batch_1_is_not_told_of_batches() -> None:
    """Its two passes over the data need the whole image: no batch is involved."""
    report = report_of(GROUP_NORM)
    assert report["cause"]["worst_op"] in ("s", "c", "c2", "v", "o")
    rows = (*report["losses"][:2], report["cause"], *report["work"])
    assert not any("batch" in row["advice"] for row in rows)


def test_the_summary_begins_with_the_cause() -> None:
    lines = summary_text(report_of(PRODUCT, "none")).splitlines()
    assert lines[2] == "mostly tensor computes products in fp32 (d): 67 %"


def test_ops_of_the_compiler_are_described() -> None:
    """Loads and stores that the compiler inserts have no opcode of the model."""
    report = report_of(CHAIN)
    words = " ".join(row["what"] for row in report["losses"])
    assert "loads of operands" in words and "stores of results" in words
    assert "tile." not in words and "tensor." not in words


@pytest.mark.parametrize("name", ["hf_bert_tiny", "flash_attn_scan"])
def test_losses_and_work_make_up_the_run_of_each_engine(name: str) -> None:
    result = simulate_timing(binary(name))
    usage = usage_of(result.code)

    def explained(resource: str) -> float:
        parts = (*find_losses(result, usage, resource), *find_work(result, usage, resource))
        return sum(part.ns for part in parts) / result.total_ns

    for engine in ("tensor", "vector", "scalar", "gpsimd"):
        assert explained(engine) == pytest.approx(1.0, abs=0.005), engine
    # What the engine that starts most transfers does not log is short.
    assert explained("dma") == pytest.approx(1.0, abs=0.02)

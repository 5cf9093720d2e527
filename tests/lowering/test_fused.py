"""Ops that are lowered together are one group of the report."""

from neuronir.driver import compile_text
from neuronir.targets.simulator.report import build_report
from neuronir.targets.simulator.timing import simulate_timing

HLO = """HloModule dense
ENTRY main {
  x = f32[64,128]{1,0} parameter(0)
  w = f32[128,256]{1,0} parameter(1)
  b = f32[256]{0} parameter(2)
  dot = f32[64,256]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  wide = f32[64,256]{1,0} broadcast(b), dimensions={1}
  sum = f32[64,256]{1,0} add(dot, wide)
  zero = f32[] constant(0)
  zeros = f32[64,256]{1,0} broadcast(zero), dimensions={}
  positive = f32[64,256]{1,0} maximum(sum, zeros)
  ROOT exp = f32[64,256]{1,0} exponential(positive)
}
"""


def test_a_product_and_its_epilogue_are_one_group() -> None:
    program = compile_text(HLO, "trn1", name="dense.hlo").program
    assert program is not None
    report = build_report(simulate_timing(program))
    groups = {row["name"]: row["ops"] for row in report["groups"]}
    assert groups["dot"][:2] == ["dot", "sum"]
    assert "positive" in groups["dot"]
    row = next(row for row in report["ops"] if row["name"] == "dot")
    assert row["group"] == "dot"
    for key in ("instructions", "flops", "hbm_read_bytes", "hbm_write_bytes"):
        assert sum(r[key] for r in report["groups"]) == sum(r[key] for r in report["ops"])

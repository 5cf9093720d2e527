"""The precision ladder: what each precision of a model costs, and that accuracy grows along it."""

import json
from pathlib import Path

import pytest

from neuronir.accuracy import ladder
from neuronir.cli import neuron_check
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import npz_bytes
from tests.driver.models import DENSE, dense_arguments
from tests.driver.rungs import check_ladder

MIXED = """HloModule mixed

ENTRY main {
  x = f32[32,96] parameter(0)
  w = f32[96,64] parameter(1)
  v = f32[64,32] parameter(2)
  d = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[32,64] tanh(d)
  t = f32[64,32] transpose(h), dimensions={1,0}
  q = f32[64,32] multiply(t, v)
  e = f32[64,32] exponential(q)
  ROOT p = f32[64,64] dot(e, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
CHAIN = """HloModule chain

ENTRY main {
  x = f32[48,80] parameter(0)
  t = f32[80,48] transpose(x), dimensions={1,0}
  a = f32[80,48] multiply(t, t)
  b = f32[80,48] add(a, t)
  ROOT r = f32[80,48] tanh(b)
}
"""


@pytest.mark.parametrize("target", ["inf1", "trn1"])
@pytest.mark.parametrize("text", [DENSE, MIXED, CHAIN], ids=["dense", "mixed", "chain"])
def test_accuracy_grows(tmp_path: Path, text: str, target: str) -> None:
    (tmp_path / "m.hlo").write_text(text)
    steps = ladder(str(tmp_path / "m.hlo"), target)
    check_ladder(steps, target)
    assert steps[0].mean_error > 1e-5  # bf16 shows
    if target == "trn1":
        assert steps[-1].max_error < 1e-5  # and fp32 is exact to a rounding


def test_only_transposes_differ(tmp_path: Path) -> None:
    """Without products, casting only those changes no bit but by transposes in fp16."""
    (tmp_path / "m.hlo").write_text(CHAIN)
    _, fp16, exact, none = ladder(str(tmp_path / "m.hlo"), "inf1")
    assert 2.0**-14 < fp16.max_error < 2.0**-9
    assert exact.max_error == none.max_error < 2.0**-20


def test_given_inputs(tmp_path: Path) -> None:
    (tmp_path / "m.hlo").write_text(DENSE)
    x, w, b = dense_arguments()
    steps = ladder(str(tmp_path / "m.hlo"), "inf1", {"x.1": x, "arg1": w, "arg2": b})
    again = ladder(str(tmp_path / "m.hlo"), "inf1", {"arg0": x, "arg1": w, "arg2": b})
    assert steps == again
    with pytest.raises(NeuronError, match="NIR_API001.*'b.4' .arg2. is missing"):
        ladder(str(tmp_path / "m.hlo"), "inf1", {"arg0": x, "arg1": w})
    with pytest.raises(NeuronError, match="NIR_API001.*has shape .2, 64., the model takes .4, 64."):
        ladder(str(tmp_path / "m.hlo"), "inf1", {"arg0": x[:2], "arg1": w, "arg2": b})


_DOUBLED = """HloModule m
again { s = (u32[], u32[4]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  x = u32[4] get-tuple-element(s), index=1
  one = u32[] constant(1)
  j = u32[] subtract(i, one)
  y = u32[4] add(x, x)
  ROOT t = (u32[], u32[4]) tuple(j, y) }
more { s = (u32[], u32[4]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  z = u32[] constant(0)
  ROOT c = pred[] compare(i, z), direction=NE }
ENTRY e { n = u32[] parameter(0)
  most = u32[] constant(3)
  few = u32[] and(n, most)
  x = u32[4] parameter(1)
  s = (u32[], u32[4]) tuple(few, x)
  w = (u32[], u32[4]) while(s), condition=more, body=again
  ROOT r = u32[4] get-tuple-element(w), index=1 }
"""
"""A loop whose trip count depends on data, which inf1 has not."""


def test_refused_steps_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.hlo").write_text(_DOUBLED)
    words = ["--accuracy", str(tmp_path / "m.hlo"), "--target"]
    assert neuron_check.main([*words, "inf1"]) == 1
    assert capsys.readouterr().out.count("[NIR_DYNAMIC_WHILE] 1 operation is not supported") == 4
    assert neuron_check.main([*words, "trn1", "--json"]) == 0
    (steps,) = json.loads(capsys.readouterr().out)["accuracy"].values()
    assert all(step["max_error"] == 0 and step["refused"] is None for step in steps)


def test_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.hlo").write_text(DENSE)
    arguments = {f"arg{i}": a for i, a in enumerate(dense_arguments())}
    (tmp_path / "in.npz").write_bytes(npz_bytes(arguments))
    words = ["--accuracy", str(tmp_path / "m.hlo"), "--inputs", str(tmp_path / "in.npz")]
    assert neuron_check.main([*words, "--target", "inf1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("error over the largest |result| in fp32, with ")
    assert lines[2].split() == ["inf1", "time", "us", "max", "error", "mean", "error"]
    assert [line.split("  ")[0] for line in lines[3:]] == [
        "--fast-math all",
        "--fast-math fp32-cast-matmult",
        "--fast-math fp32-cast-matmult no-fast-relayout",
        "--fast-math none",
    ]

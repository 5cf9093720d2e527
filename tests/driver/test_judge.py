"""The judge of a compile sees wrong rewrites in phase hlo, before and after the casts."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.cli import neuron_check, neuron_sim, neuronx_cc
from neuronir.dialects.support.npz import Array, npz_bytes
from neuronir.dialects.support.walking import walk
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.judge import judge_compile
from neuronir.driver.specification import specify
from neuronir.passes.hlo.fold_scales import HloFoldScalesPass
from neuronir.passes.hlo.gather_rows import HloGatherRowsPass
from neuronir.passes.hlo.verify_supported import HloVerifySupportedPass
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run

MODEL = """HloModule net

ENTRY main {
  x = f32[32,96] parameter(0)
  w = f32[96,64] parameter(1)
  b = f32[64] parameter(2)
  d = f32[32,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[32,64] broadcast(b), dimensions={1}
  s = f32[32,64] subtract(d, c)
  ROOT t = f32[32,64] tanh(s)
}
"""
LATE = (HloFoldScalesPass, HloGatherRowsPass, HloVerifySupportedPass)
"""Passes of phase hlo before hlo-auto-cast, after it, and the last one."""


def _arguments() -> list[Array]:
    rng = np.random.default_rng(1)
    shapes: Sequence[tuple[int, ...]] = ((32, 96), (96, 64), (64,))
    return [rng.standard_normal(shape, np.float32) * np.float32(0.2) for shape in shapes]


def _negated(module: ModuleOp) -> None:
    """A wrong rewrite: the operands of every subtraction are exchanged."""
    for op in walk(module):
        if op.name == "hlo.subtract":
            op.operands = list(reversed(op.operands))


def _plant(
    monkeypatch: pytest.MonkeyPatch, wrong: type[ModulePass], rewrite: Callable[[ModuleOp], None]
) -> None:
    right = wrong.apply

    def apply(self: Any, ctx: Context, op: ModuleOp) -> None:
        right(self, ctx, op)
        rewrite(op)

    monkeypatch.setattr(wrong, "apply", apply)


@pytest.mark.parametrize("cast", ["matmult", "all", "none"])
@pytest.mark.parametrize("wrong", LATE)
def test_a_wrong_rewrite_in_phase_hlo_is_seen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    wrong: type[ModulePass],
    cast: str,
) -> None:
    model, data, neff = (str(tmp_path / name) for name in ("m.hlo", "x.npz", "m.neff"))
    Path(model).write_text(MODEL)
    Path(data).write_bytes(npz_bytes({f"arg{i}": a for i, a in enumerate(_arguments())}))
    words = ["compile", model, "--framework", "XLA", "--target", "trn1", "--output", neff]
    compare = ["run", neff, "--inputs", data, "--no-timing", "--model", model]
    words += ["--auto-cast", cast]
    assert neuronx_cc.main(words) == 0
    assert neuron_sim.main(compare) == 0
    _plant(monkeypatch, wrong, _negated)
    assert neuronx_cc.main(words) == 0
    assert neuron_sim.main(compare) == 1
    assert "NIR_SIM033" in capfd.readouterr().err
    localize = ["--localize", model, "--inputs", data, "--auto-cast", cast]
    assert neuron_check.main(localize) == 1
    assert f"first wrong: pass {wrong.name}" in capfd.readouterr().out


def _judged(text: str, args: Sequence[Array], **options: Any) -> str:
    """Compile a program for trn1 and run it; the report of the judge, "" where all is right."""
    compile_ = partial(compile_text, text, "trn1")
    given = CompileOptions(**options)
    program = compile_(given).program
    assert program is not None
    inputs = [args[v.index] for v in program.variables if v.kind == "input"]
    outputs = run(program, inputs, get_target("trn1").machine).outputs
    report = judge_compile(specify(compile_, given), args, outputs)
    return "" if report.ok else report.render()


def test_what_is_specified() -> None:
    for cast, count in (("matmult", 1), ("none", 0)):
        found = specify(partial(compile_text, MODEL, "trn1"), CompileOptions(auto_cast=cast))
        assert len(found.steps) == count
        types = [op.operands[0].type for op in walk(found.rounded) if op.name == "hlo.dot"]
        assert ("BFloat16" in str(types)) == (cast == "matmult")
        assert all(op.name != "hlo.convert" for pair in found.steps for op in walk(pair[1]))


@pytest.mark.parametrize("narrow", [True, False])
def test_64_bit_integers(narrow: bool) -> None:
    """They are 32 bits, or pairs of words, in the later modules."""
    kind = "s64" if narrow else "u64"
    text = f"""HloModule m

ENTRY e {{
  i = {kind}[5] parameter(0)
  x = f32[9,8] parameter(1)
  two = {kind}[] constant(2)
  twos = {kind}[5] broadcast(two), dimensions={{}}
  j = {kind}[5] add(i, twos)
  n = s32[5] convert(j)
  g = f32[5,8] gather(x, n), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}},
    index_vector_dim=1, slice_sizes={{1,8}}
  ROOT r = ({kind}[5], f32[5,8]) tuple(j, g)
}}
"""
    i = np.arange(5).astype(np.int64 if narrow else np.uint64)
    x = np.random.default_rng(1).standard_normal((9, 8), np.float32)
    assert _judged(text, [i, x], narrow_integers=narrow) == ""


def test_random_numbers_in_a_loop_and_large_angles() -> None:
    """Each turn of an unrolled loop draws what the loop drew; beyond 2**20 any sine is right."""
    text = """HloModule m

body {
  s = (s32[], f32[4,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[4,8] get-tuple-element(s), index=1
  zero = f32[] constant(0)
  one = f32[] constant(1)
  u = f32[4,8] rng(zero, one), distribution=rng_uniform
  b = f32[4,8] add(a, u)
  step = s32[] constant(1)
  j = s32[] add(i, step)
  ROOT r = (s32[], f32[4,8]) tuple(j, b)
}

condition {
  s = (s32[], f32[4,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}

ENTRY e {
  x = f32[4,8] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[4,8]) tuple(z, x)
  w = (s32[], f32[4,8]) while(t), condition=condition, body=body
  a = f32[4,8] get-tuple-element(w), index=1
  k = f32[] constant(3000000)
  ks = f32[4,8] broadcast(k), dimensions={}
  m = f32[4,8] multiply(x, ks)
  c = f32[4,8] sine(m)
  ROOT r = (f32[4,8], f32[4,8]) tuple(a, c)
}
"""
    x = np.random.default_rng(1).standard_normal((4, 8), np.float32) * 9
    for cast in ("none", "all"):
        assert _judged(text, [x], auto_cast=cast) == ""


def test_tangents_near_their_poles() -> None:
    """The angle of a tangent may be off by 2**-21, which is much of the distance to a pole."""
    text = "HloModule m\nENTRY e {\n x = f32[16,64] parameter(0)\n ROOT r = f32[16,64] tan(x)\n}\n"
    x = np.linspace(1.0, 40.0, 1024).astype(np.float32).reshape(16, 64)
    x[3, 5] = 7.8540
    assert _judged(text, [x], auto_cast="none") == ""

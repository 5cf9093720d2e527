"""neuron-check --localize names the op whose numbers are wrong, when a fault is planted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuronir.cli import neuron_check
from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.nc.enums import Activation, AluOp
from neuronir.dialects.nc.instruction import Instruction, Program
from neuronir.dialects.nc.items import instructions_of
from neuronir.dialects.nc.semantics import activation
from neuronir.dialects.support.location import source_name
from neuronir.dialects.support.npz import Array, load_npz, npz_bytes, numbered
from neuronir.driver import compiler
from neuronir.driver.localize import Finding, State, first_inputs, localize
from neuronir.driver.options import CompileOptions
from neuronir.driver.watch import block_of, fused_away, outputs_of, values_of, watched
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.passes.lowering.rules import elementwise
from neuronir.targets.encoding.from_ir import program_from_module
from tests.corpus import CORPUS, program_args

MODEL = """HloModule net

ENTRY main {
  x = f32[64,96] parameter(0)
  w = f32[96,64] parameter(1)
  v = f32[64,64] parameter(2)
  d = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = f32[64,64] tanh(d)
  s = f32[64,64] subtract(h, v)
  e = f32[64,64] dot(s, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[64,64] logistic(e)
  t = f32[64,64] transpose(g), dimensions={1,0}
  m = f32[64,64] maximum(t, h)
  y = f32[64,64] exponential(m)
  ROOT r = (f32[64,64], f32[64,64]) tuple(y, h)
}
"""


def _inputs() -> dict[str, Array]:
    rng = np.random.default_rng(1)
    shapes = ((64, 96), (96, 64), (64, 64))
    return {
        f"arg{i}": rng.standard_normal(shape, dtype=np.float32) * np.float32(0.2)
        for i, shape in enumerate(shapes)
    }


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.hlo"
    path.write_text(MODEL)
    return path


def _wrong(monkeypatch: pytest.MonkeyPatch, function: Activation, factor: float = 1.02) -> None:
    """A fault of the simulator: a function of ACT gives a little too much."""
    right = activation.FUNCTIONS[function]

    def wrong(x: Any) -> Any:
        return np.asarray(right(x) * np.float32(factor))

    monkeypatch.setitem(activation.FUNCTIONS, function, wrong)


def _named(found: Finding) -> str:
    assert found.first is not None
    assert found.first.state == State.WRONG
    assert all(value.state == State.RIGHT for value in found.inputs)
    return source_name(found.op(found.first.number))


@pytest.mark.parametrize("tiling", ["never", "always"])
@pytest.mark.parametrize(
    ("function", "name"),
    [(Activation.TANH, "h"), (Activation.SIGMOID, "g"), (Activation.EXP, "y")],
)
def test_a_fault_of_the_simulator_is_named(
    net: Path, monkeypatch: pytest.MonkeyPatch, function: Activation, name: str, tiling: str
) -> None:
    _wrong(monkeypatch, function)
    options = CompileOptions(tiling=tiling)
    assert _named(localize(str(net), "trn1", _inputs(), options)) == name


@pytest.mark.parametrize(
    ("op", "wrong", "name"),
    [("hlo.subtract", AluOp.ADD, "s"), ("hlo.maximum", AluOp.MIN, "m")],
)
def test_a_wrong_lowering_is_named(
    net: Path, monkeypatch: pytest.MonkeyPatch, op: str, wrong: AluOp, name: str
) -> None:
    monkeypatch.setitem(elementwise.BINARY, op, wrong)
    options = CompileOptions(tiling="never")
    assert _named(localize(str(net), "trn1", _inputs(), options)) == name


def _spoiled(
    monkeypatch: pytest.MonkeyPatch, name: str, spoil: Callable[[Instruction], bool]
) -> list[str]:
    """Spoil an instruction of one op of every program that is made; the opcodes that were."""
    done: list[str] = []

    def made(*args: Any) -> Program:
        program = program_from_module(*args)
        for streams in program.streams.values():
            for items in streams.values():
                for i in instructions_of(items):
                    if program.sources[i.source].name == name and spoil(i):
                        done.append(i.opcode)
        return program

    monkeypatch.setattr("neuronir.driver.compiler.program_from_module", made)
    return done


def _less_work(i: Instruction) -> bool:
    """A matmul that leaves half of what is added up out."""
    if i.opcode != "matmul" or any(ap is None or ap.partitions < 2 for ap in i.src):
        return False
    i.src = tuple(ap and replace(ap, partitions=ap.partitions // 2) for ap in i.src)
    return True


@pytest.mark.parametrize(
    "name", ["dot_general.30", pytest.param("dot_general.35", marks=pytest.mark.slow)]
)
def test_an_instruction_deep_in_a_model_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    done = _spoiled(monkeypatch, name, _less_work)
    path = CORPUS / "hlo" / "core" / "hf_bert_tiny.hlo"
    inputs = {f"arg{i}": array for i, array in enumerate(program_args(path))}
    found = localize(str(path), "trn1", inputs)
    assert done
    assert _named(found) == name
    assert found.compiles < 25


def test_a_right_program_has_no_first(net: Path) -> None:
    found = localize(str(net), "trn1", _inputs())
    assert found.outputs.ok and found.first is None and found.compiles == 1


def test_only_what_a_wrong_output_depends_on_is_looked_at(
    net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _wrong(monkeypatch, Activation.TANH)
    told: list[str] = []
    localize(str(net), "trn1", _inputs(), CompileOptions(), told.append)
    assert told
    monkeypatch.undo()
    _wrong(monkeypatch, Activation.EXP)
    told.clear()
    found = localize(str(net), "trn1", _inputs(), CompileOptions(), told.append)
    assert [output.ok for output in found.outputs.outputs] == [False, True]


def test_the_inputs_of_the_first_wrong_op(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _wrong(monkeypatch, Activation.SIGMOID)
    found = localize(str(net), "trn1", _inputs())
    arrays = first_inputs(found)
    assert sorted(arrays) == ["arg0", "out0", "simulated0"]
    np.testing.assert_allclose(arrays["out0"], 1 / (1 + np.exp(-arrays["arg0"])), rtol=1e-5)
    np.testing.assert_allclose(arrays["simulated0"], 1.02 * arrays["out0"], rtol=1e-3)


def test_the_command(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    data, first = tmp_path / "x.npz", tmp_path / "first.npz"
    data.write_bytes(npz_bytes(_inputs()))
    words = ["--localize", str(net), "--inputs", str(data)]
    assert neuron_check.main(words) == 0
    assert "all outputs agree with the interpreter" in capfd.readouterr().out
    _wrong(monkeypatch, Activation.SIGMOID)
    assert neuron_check.main([*words, "--first", str(first), "--auto-cast", "none"]) == 1
    out, err = capfd.readouterr()
    assert f"first wrong: g (logistic, tensor<64x64xf32>) at {net}:" in out
    assert "right" in err and "wrong" in err
    assert len(numbered(load_npz(first), "arg")) == 1
    assert neuron_check.main(["--localize", str(net)]) == 2
    assert neuron_check.main([*words, "--target", "trn1", "--target", "inf1"]) == 2
    assert neuron_check.main([str(net), "--auto-cast", "all"]) == 2
    data.write_bytes(npz_bytes({"arg0": _inputs()["arg0"]}))
    assert neuron_check.main(words) == 1
    assert "NIR_SIM030" in capfd.readouterr().err


def test_a_watched_value_is_a_further_output() -> None:
    module = import_hlo_text(MODEL)
    ops = list(block_of(module).ops)
    numbers = values_of(module)
    assert [source_name(ops[n]) for n in numbers] == list("dhsegtmy")
    arguments = list(_inputs().values())
    plain = interpret(module, arguments)
    more = interpret(watched(module, numbers[:2]), arguments)
    assert len(more) == len(plain) + 2 == len(outputs_of(module)) + 2
    np.testing.assert_array_equal(more[-1], plain[1])
    np.testing.assert_array_equal(np.tanh(more[-2]), more[-1])
    assert [str(a) for a in block_of(module).ops] == [str(a) for a in ops]


def test_what_a_binary_fuses_away(net: Path) -> None:
    result = compiler.compile_file(str(net), "trn1", CompileOptions(tiling="never"))
    lowered = compiler.compile_file(str(net), "trn1", CompileOptions(compile_to="hlo"))
    assert result.program is not None
    ops = list(block_of(lowered.module).ops)
    numbers = values_of(lowered.module)
    inside = fused_away(lowered.module, numbers, result.program.sources)
    groups = [s.group.split(" + ") for s in result.program.sources if s.group]
    assert groups
    names = {source_name(ops[n]) for n in inside}
    assert names <= {member for group in groups for member in group}
    assert all(len(group) > 1 for group in groups)

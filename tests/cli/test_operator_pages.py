"""The pages of operators agree with what the frontends and the targets accept."""

import re

import pytest

from neuronir.cli.cc_operators import operator_names, xla_operators
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.frontends.hlo_text.opcodes import OPCODES
from tools.reference.operators import hlo_status
from tools.reference.pages import DOCS


def supported(page: str) -> set[str]:
    """The operators in the first table of a page."""
    text = (DOCS / page).read_text().split("## Refused")[0]
    return set(re.findall(r"^\| `(\S+)` \|", text, flags=re.MULTILINE))


def test_onnx_operators_are_importable() -> None:
    own = supported("operators-onnx.md")
    listed = {name.rpartition(".")[2] for name in operator_names("ONNX")}
    assert own <= listed


def test_tensorflow_operators_are_importable() -> None:
    missing = set(operator_names("TENSORFLOW")) ^ supported("operators-tensorflow.md")
    assert missing <= {"_Retval", "_Arg"} | {n for n in missing if n.startswith("_")}


def test_pytorch_operators_are_importable() -> None:
    pytest.importorskip("torch")
    listed = {name.replace("::", ".") for name in operator_names("PYTORCH")}
    assert supported("operators-pytorch.md") == listed


def test_hlo_operators_are_those_of_list_operators() -> None:
    """All but parameters, which are no operators of their own."""
    found = {
        "".join(map(str.capitalize, spec.op.name.removeprefix("hlo.").split("_")))
        for spec in OPCODES.values()
        if hlo_status(spec.op.name.removeprefix("hlo."), "trn1") != "refused"
    }
    assert found ^ set(xla_operators()) <= {"Parameter"}


UNARY = (
    "abs acos ceil cosine erf exponential floor log negate rsqrt sign sine sqrt tan tanh".split()
)


@pytest.mark.parametrize("target", ["trn1", "inf1"])
def test_unary_operators_reach_the_target(target: str) -> None:
    """Both native and decomposed operators are compiled."""
    spelled = {spec.op.name.removeprefix("hlo."): opcode for opcode, spec in OPCODES.items()}
    lines = [f"  {n} = f32[8]{{0}} {spelled[n]}(x)" for n in UNARY]
    assert {hlo_status(n, target) for n in UNARY} == {"native", "decomposed"}
    text = "HloModule m\n\nENTRY main {\n  x = f32[8]{0} parameter(0)\n" + "\n".join(lines)
    text += f"\n  ROOT r = ({', '.join(['f32[8]'] * len(UNARY))}) tuple({', '.join(UNARY)})\n}}\n"
    compile_text(text, target, CompileOptions(tiling="never"))


@pytest.mark.parametrize("line", ["all-reduce(x), to_apply=add", "all-to-all(x), dimensions={0}"])
def test_collectives_of_several_devices_are_refused(line: str) -> None:
    opcode = line.partition("(")[0]
    assert hlo_status(OPCODES[opcode].op.name.removeprefix("hlo."), "trn1") == "expanded"
    assert hlo_status(f"{opcode.replace('-', '_')}_start", "trn1") == "refused"
    adder = (
        "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    )
    entry = f"ENTRY main {{\n  x = f32[8] parameter(0)\n  ROOT r = f32[8] {line}\n}}\n"
    text = f"HloModule m\n\n{adder}\n{entry}"
    with pytest.raises(RunFailure, match="NCC_EVRF001"):
        compile_text(text, "trn1")

"""The tables of what targets compile, against the rules of the lowering."""

import pytest

from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.pass_runner import RunFailure
from neuronir.passes.hlo.legality import CHECKS, Legality, legality
from neuronir.passes.lowering.function import RULES
from tests.lowering.helpers import entry

TABLES = [legality("trn1"), legality("inf1")]
NO_RULE = {"constant", "tuple", "get_tuple_element", "return"}
"""What holds a program together, and needs no instruction."""
REFUSED = {"while", "custom_call"}
"""What stays only where it cannot be compiled; its check says why."""
MEANT = {"sort", "topk"}
"""What stays as the meaning of a composite of rows, which has a rule, and nowhere else."""


@pytest.mark.parametrize(
    "table", [legality("trn1"), legality("inf1")], ids=lambda table: table.target
)
def test_legal_opcodes_have_a_rule(table: Legality) -> None:
    judged = table.opcodes - NO_RULE - REFUSED - MEANT
    assert {name for name in judged if f"hlo.{name}" not in RULES} == set()
    assert REFUSED | MEANT <= set(CHECKS)


_CONVOLUTION = """HloModule m

ENTRY e {
  p = TYPE[1,8,8,4] parameter(0)
  k = TYPE[3,3,4,4] parameter(1)
  ROOT c = TYPE[1,6,6,4] convolution(p, k), window={size=3x3}, dim_labels=b01f_01io->b01f
}
"""


@pytest.mark.parametrize("target", ["trn1", "inf1"])
def test_integers_in_large_windows_are_refused_before_they_are_lowered(target: str) -> None:
    """Sums of 17 x 17 products of bytes are beyond 2^24."""
    text = _CONVOLUTION.replace("TYPE", "s32").replace("8,8,4]", "22,22,4]")
    text = text.replace("3,3,", "17,17,").replace("3x3", "17x17")
    with pytest.raises(RunFailure, match="NCC_EVRF035.*\n.*hlo.convolution 'c'"):
        compile_text(text, target, CompileOptions(compile_to="hlo"))


@pytest.mark.parametrize("target", ["trn1", "inf1"])
def test_products_of_long_integers_are_refused_by_their_size(target: str) -> None:
    """Products of shorter ones are compiled, so the reason is not that they are integers."""
    lines = "a = s64[4,4] parameter(0)", "b = s64[4,4] parameter(1)"
    dot = "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    text = entry(*lines, f"r = s64[4,4] {dot}")
    with pytest.raises(RunFailure, match="NCC_EVRF035.*\n.*'r'.*integers.*up to 32 bits"):
        compile_text(text, target, CompileOptions(compile_to="hlo"))
    compile_text(text.replace("s64", "s8"), target, CompileOptions(compile_to="hlo"))


def test_convolutions_of_fp32_are_in_bf16_where_the_tensor_engine_takes_no_fp32(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = _CONVOLUTION.replace("TYPE", "f32")
    cast = compile_text(text, "inf1", CompileOptions(auto_cast="matmult")).program
    assert "warning" not in capsys.readouterr().err
    result = compile_text(text, "inf1", CompileOptions(auto_cast="none"))
    assert "does not support fp32" in capsys.readouterr().err
    assert result.program is not None and cast is not None
    assert result.program.metadata["precision"] == "matmult:bf16"
    assert result.program.streams == cast.streams

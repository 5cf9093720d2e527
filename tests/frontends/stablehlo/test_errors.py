"""Text that cannot be imported: one error each, with a code, line and column, and no traceback."""

import re
from pathlib import Path

import pytest

from neuronir.cli import neuron_check, neuronx_cc
from neuronir.dialects.support.errors import NeuronError, SourceLocation
from neuronir.frontends.stablehlo import import_stablehlo

ADD = """module @m {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
"""
OP = "%0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>"
T = "tensor<2x3xf32>"


def refusal(text: str) -> NeuronError:
    with pytest.raises(NeuronError) as caught:
        import_stablehlo(text, "bad.mlir")
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "code", "message", "line", "column"),
    (
        ("stablehlo.add", "stablehlo.plus", "NIR_HLO003", "unknown op 'stablehlo.plus'", 3, 10),
        ("stablehlo.add", "foo.add", "NIR_HLO003", "unknown op 'foo.add'", 3, 10),
        (OP, f'%0 = "foo.add"(%arg0) : ({T}) -> {T}', "NIR_HLO003", "unknown op 'foo.add'", 3, 10),
        ("stablehlo.add", "stablehlo.infeed", "NCC_EUOC002", "operator stablehlo.infeed", 3, 10),
        ("stablehlo.add", "chlo.scan", "NCC_EUOC002", "unsupported operator chlo.scan", 3, 10),
        ("stablehlo.add", "vhlo.add_v1", "NIR_SHL002", "portable artifact", 3, 10),
        ("stablehlo.add", "stablehlo.dynamic_pad", "NCC_EMOD025", "dynamic shape", 3, 10),
        ("%arg0: tensor<2x3", "%arg0: tensor<?x3", "NCC_EMOD025", "tensor<.x3xf32>", 2, 33),
        ("%arg0: tensor<2x3", "%arg0: tensor<*x", "NCC_EMOD025", "dynamic shape", 2, 33),
        ("%arg0: tensor<2x3xf32", "%arg0: tensor<2x3xf4E2M1FN", "NCC_ESPP004", "f4E2M1FN", 2, 33),
        (
            "%arg0: tensor<2x3xf32",
            "%arg0: tensor<2x3x!quant.uniform<i8:f32, 0.1>",
            "NCC_ESPP004",
            "quant",
            2,
            33,
        ),
        ("%arg0: tensor<2x3xf32>", "%arg0: memref<2xf32>", "NCC_ESPP004", "memref", 2, 33),
        ("%arg0: tensor<2x3xf32>", "%arg0: tensor<2x3xf32", "NIR_SHL001", "expected a type", 2, 33),
        ("add %arg0, %arg0", "add %arg0, %arg9", "NIR_HLO004", "'%arg9', which is not def", 3, 10),
        ("add %arg0, %arg0", "add %arg0", "NIR_HLO010", "takes 2 operands, 1 given", 3, 10),
        ("add %arg0, %arg0", "add %arg0 %arg0", "NIR_SHL001", "expected `:`", 3, 30),
        (OP, OP + "\n    " + OP, "NIR_HLO005", "value '%0' is defined twice", 4, 10),
        (OP, OP.replace("%0", "%0:2"), "NIR_SHL001", "1 results, 2 are named", 3, 12),
        ("return %0 :", "return :", "NIR_SHL001", "expected an op or `}`", 4, 12),
        ("    return %0 : tensor<2x3xf32>\n", "", "NIR_HLO006", "must end with a return", 2, 69),
        ("-> tensor<2x3xf32>", "-> tensor<3xf32>", "NIR_HLO011", "is declared with", 2, 3),
        (
            OP,
            f"%0 = func.call @f(%arg0) : ({T}) -> {T}",
            "NIR_HLO004",
            "function @f is not defined",
            3,
            10,
        ),
        (
            OP,
            f"%0 = stablehlo.transpose %arg0 : ({T}) -> tensor<3x2xf32>",
            "NIR_HLO007",
            "attribute 'permutation' is missing",
            3,
            10,
        ),
        (
            OP,
            f"%0 = stablehlo.reshape %arg0 : (tensor<6xf32>) -> {T}",
            "NIR_HLO011",
            "is written with operands",
            3,
            10,
        ),
        (
            OP,
            f"%0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : ({T}) -> {T}",
            "NIR_HLO007",
            "do not name a dimension for each",
            3,
            10,
        ),
        (
            OP,
            "%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2x3xf32>",
            "NIR_HLO008",
            "a list of 1 levels does not fit",
            3,
            29,
        ),
        (
            OP,
            '%0 = stablehlo.constant dense<"0x00000000000000"> : tensor<2x3xf32>',
            "NIR_HLO008",
            "7 bytes",
            3,
            29,
        ),
        (
            OP,
            '%0 = stablehlo.constant dense<"0x0000000G"> : tensor<2x3xf32>',
            "NIR_HLO008",
            "malformed hexadecimal",
            3,
            29,
        ),
        (
            OP,
            "%0 = stablehlo.constant dense_resource<__elided__> : tensor<2x3xf32>",
            "NIR_HLO009",
            "were elided",
            3,
            10,
        ),
        (
            OP,
            "%0 = stablehlo.constant dense_resource<weight> : tensor<2x3xf32>",
            "NIR_HLO020",
            "resource 'weight' is not in the file",
            3,
            10,
        ),
        ("func.func public @main", "func.func public @f", None, "", 0, 0),
        ("@main", "@main(%x: i32)", "NCC_ESPP004", "cannot have type i32", 2, 30),
        ("module @m {", "module @m { }\n}", "NIR_SHL001", "expected a function", 2, 1),
    ),
)
def test_changed(
    old: str, new: str, code: str | None, message: str, line: int, column: int
) -> None:
    assert old in ADD
    text = ADD.replace(old, new, 1)
    if code is None:
        import_stablehlo(text)
        return
    error = refusal(text)
    assert error.code == code, error
    assert re.search(re.escape(message).replace(r"\.", "."), error.message), error
    assert error.location == SourceLocation("bad.mlir", line, column), error
    assert error.excerpt and "^" in error.excerpt


def test_several_public_functions() -> None:
    body = ADD.replace("@main", "@f") + ADD.replace("@main", "@g")
    error = refusal(body)
    assert error.code == "NIR_HLO006"
    assert "2 public functions: @f, @g" in error.message
    assert "name the function to compile @main" in (error.help or "")


def test_a_main_among_public_functions_is_the_entry() -> None:
    import_stablehlo(ADD + ADD.replace("@main", "@g"))


def test_a_region_that_uses_a_value_from_around() -> None:
    text = ADD.replace(
        OP,
        """%s = stablehlo.constant dense<1.0> : tensor<f32>
    %t = stablehlo.negate %s : tensor<f32>
    %r = stablehlo.reduce(%arg0 init: %s) across dimensions = [1]
      : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
     reducer(%a: tensor<f32>, %b: tensor<f32>)  {
      %1 = stablehlo.add %a, %t : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }
    %0 = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>""",
    )
    error = refusal(text)
    assert error.code == "NIR_HLO004"
    assert "'%t', which is defined outside of its region" in error.message
    import_stablehlo(text.replace("%a, %t", "%a, %s")).verify()


@pytest.mark.parametrize("end", range(len(ADD.rstrip()) - 1))
def test_truncated(end: int) -> None:
    error = refusal(ADD[:end])
    assert error.code in ("NIR_SHL001", "NIR_HLO003", "NCC_ESPP004", "NIR_HLO006")
    assert isinstance(error.location, SourceLocation)


def test_the_program_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "f.mlir"
    source.write_text(ADD.replace("%arg0: tensor<2x3xf32>", "%arg0: tensor<?x3xf32>"))
    words = [str(source), "--framework", "XLA", "--target", "trn1"]
    output = ["--output", str(tmp_path / "f.neff"), "--no-cache"]
    assert neuronx_cc.main(["compile", *words, *output]) == 1
    text = capsys.readouterr().err
    assert "f.mlir:2:33: error: [NCC_EMOD025]" in text
    assert "help: every dimension must be a number" in text
    assert "Traceback" not in text
    assert neuron_check.main(words) != 0


def test_bytecode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("f.mlir", "f.mlirbc"):
        source = tmp_path / name
        source.write_bytes(b"ML\xefR\x0dStableHLO_v1.13.0\x00\x01\x2b\x07")
        words = ["compile", str(source), "--framework", "XLA", "--target", "trn1", "--no-cache"]
        assert neuronx_cc.main([*words, "--output", str(tmp_path / "f.neff")]) == 1
        text = capsys.readouterr().err
        assert "NIR_SHL002" in text and "is MLIR bytecode" in text and "as_text()" in text
        assert "Traceback" not in text


def test_deep_nesting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = 5000
    text = ADD.replace(OP, '%0 = "stablehlo.case"(%arg0) ({' * levels)
    source = tmp_path / "f.mlir"
    source.write_text(text)
    words = ["compile", str(source), "--framework", "XLA", "--target", "trn1", "--no-cache"]
    assert neuronx_cc.main([*words, "--output", str(tmp_path / "f.neff")]) == 1
    text = capsys.readouterr().err
    assert "NIR_DEPTH" in text and "Traceback" not in text

"""The faster parser reads what xDSL's reads, and knows where it was."""

from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from neuronir._xdsl import FastLexer, LocatedParser, OpVerifyError, print_module, verify_located
from neuronir.cli import neuron_opt, neuronx_cc
from neuronir.registry import Registry

PROGRAM = """
#map = affine_map<(d0) -> (d0)>
// A comment with "quotes" and %names
func.func @f(%a: tensor<4x8xf32>, %m: memref<?x4xf32, strided<[4, 1]>>, %i: index) -> f32 {
  %0, %1 = "test.op"(%a, %i) <{x = dense<[1.0, 2.0e-1]> : tensor<2xf32>, y = 0x10 : i32}>
    {map = #map, s = "te\\22xt", neg = -3 : i64} : (tensor<4x8xf32>, index) -> (f32, f32)
  %r = scf.if %2 -> (f32) {
    scf.yield %0 : f32
  } else {
    scf.yield %1 : f32
  }
  %2 = "test.op"() : () -> i1
  func.return %r : f32
}
"""


def _tokens(lexer: MLIRLexer) -> list[tuple[MLIRTokenKind, int, int]]:
    found = []
    while True:
        token = lexer.lex()
        found.append((token.kind, token.span.start, token.span.end))
        if token.kind is MLIRTokenKind.EOF:
            return found


def _both(text: str) -> None:
    try:
        expected = _tokens(MLIRLexer(Input(text, "x")))
    except ParseError:
        with pytest.raises(ParseError):
            _tokens(FastLexer(Input(text, "x")))
        return
    assert _tokens(FastLexer(Input(text, "x"))) == expected


def test_same_tokens() -> None:
    """On a program with a bit of everything."""
    _both(PROGRAM)
    _both("\n" * 5000 + '"x"()')


@pytest.mark.parametrize("body", ["x" * 29, "x" * 1_000_000, "x\\n" * 100_000, "\\"])
@pytest.mark.parametrize("before", ["", "@", "#loc(", "module attributes {a = "])
def test_string_that_does_not_end(before: str, body: str) -> None:
    """xDSL's own expression takes minutes for 30 characters, and twice as long for each more."""
    with pytest.raises(ParseError, match="before closing string literal"):
        _tokens(FastLexer(Input(f'{before}"{body}', "x")))
    _both('"a\\"\\\\b\\0Ac\u00e9" "\\n" ""')


@pytest.mark.parametrize(
    "words", [[], ["--compile-from", "hlo"], ["--compile-from", "synchronised"]]
)
def test_programs_refuse_a_string_that_does_not_end(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.mlir"
    path.write_text('"' + "x" * 30)
    if words:
        base = ["compile", str(path), "--framework", "XLA", "--target", "trn1"]
        assert neuronx_cc.main([*base, *words, "-o", str(tmp_path / "x.neff")]) == 1
    else:
        assert neuron_opt.main([str(path)]) == 1
    assert "x.mlir:1:1: error: End of file reached before closing" in capsys.readouterr().err


_PIECES = st.sampled_from(
    list('()[]{}<>,:=+-*/?|.@#%!^x0129aZ_$"\\\n\t ')
    + [
        "->",
        "{-#",
        "#-}",
        "...",
        "0x1F",
        "12.5e-3",
        "1.",
        "%a-b.c",
        "@s",
        "// c\n",
        "tensor<4xf32>",
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_same_tokens_on_anything(text: str) -> None:
    """The fast path differs from xDSL's lexer nowhere."""
    _both(text)


def test_same_module() -> None:
    """The same IR, and every op knows its line and column."""
    registry = Registry.discover()
    stock = Parser(registry.context(allow_unregistered=True), PROGRAM, "f.mlir").parse_module()
    ours = LocatedParser(
        registry.context(allow_unregistered=True), PROGRAM, "f.mlir"
    ).parse_module()
    texts = []
    for module in (stock, ours):
        stream = StringIO()
        print_module(module, stream)
        texts.append(stream.getvalue())
    assert texts[0] == texts[1]
    plain = StringIO()
    Printer(plain).print_op(stock)
    assert texts[0] == f"{plain.getvalue()}\n"
    lines = PROGRAM.split("\n")
    for op in list(ours.walk())[1:]:
        place = op.location
        assert isinstance(place, FileLineColLoc)
        rest = lines[place.line.data - 1][place.column.data - 1 :].lstrip('"')
        shown = getattr(op, "op_name", None)
        assert rest.startswith(shown.data if shown else op.name)


def test_given_locations_stay() -> None:
    """loc(...) in the text is not overwritten."""
    text = '"test.op"() : () -> () loc("model.py":7:9)'
    ctx = Registry.discover().context()
    module = LocatedParser(ctx, text, "f.mlir").parse_module()
    first = module.body.block.first_op
    assert first is not None and str(first.location) == 'loc("model.py":7:9)'


def test_verification_names_the_op() -> None:
    """The innermost wrong op, without the module's text."""
    text = 'func.func @f(%a: i32) {\n  %b = "arith.addi"(%a) : (i32) -> i32\n  func.return\n}'
    ctx = Registry.discover().context()
    module = LocatedParser(ctx, text, "f.mlir").parse_module()
    with pytest.raises(OpVerifyError) as caught:
        verify_located(module)
    assert caught.value.op.name == "arith.addi"
    assert "func.func" not in str(caught.value)


def _two_sums(second: str) -> str:
    first = "%b = hlo.add %a, %a : tensor<2xf32>"
    function = "func.func @f(%a: tensor<2xf32>, %s: tensor<3xf32>) -> tensor<2xf32>"
    return f"{function} {{\n  {first}\n  {second}\n  func.return %b : tensor<2xf32>\n}}"


def test_only_ops_that_are_alike_are_verified_once() -> None:
    """Another operand type or property is another op, although its name and results are the
    same."""
    ctx = Registry.discover().context()
    right = LocatedParser(ctx, _two_sums("%c = hlo.add %b, %a : tensor<2xf32>"), "f").parse_module()
    verify_located(right)
    line = '%c = "hlo.add"(%a, %s) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>'
    wrong = LocatedParser(ctx, _two_sums(line), "f").parse_module()
    with pytest.raises(OpVerifyError) as caught:
        verify_located(wrong)
    assert caught.value.op.name == "hlo.add"


def test_use_of_an_erased_value_is_found() -> None:
    """Also where the op was right before by all its types."""
    ctx = Registry.discover().context()
    text = _two_sums("%c = hlo.add %a, %a : tensor<2xf32>\n  %d = hlo.add %c, %a : tensor<2xf32>")
    module = LocatedParser(ctx, text, "f").parse_module()
    doomed = next(op for op in module.walk() if op.results and op.results[0].name_hint == "c")
    doomed.detach()
    doomed.erase(safe_erase=False)
    with pytest.raises(OpVerifyError):
        verify_located(module)

"""Scanning gives the records that parsing gives, or none."""

from pathlib import Path

import pytest
from lark import Token

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text import import_hlo_text
from neuronir.frontends.hlo_text.scan import scan
from neuronir.frontends.hlo_text.syntax import parse_text
from tests.corpus import CORPUS

PLAIN = """HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

FileNames
1 "a.py"

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0), metadata={op_name="a {b" source_line=3}
  y = f32[] parameter(1)
  ROOT %s = f32[] add(f32[] %x, /*index=1*/y) // end
}, execution_thread="main"

ENTRY main {
  a = f32[2]{0} parameter(0)
  zero = f32[] constant(0)
  pair = (f32[2]{0}, (f32[], s32[2]{0})) tuple(
    a, zero)
  sum = f32[] reduce(a, zero), dimensions={0}, to_apply=add
  ROOT r = f32[2]{0} broadcast(sum), dimensions={}
}
"""


@pytest.mark.parametrize(
    "path", [p for f in ("core", "odd") for p in sorted((CORPUS / "hlo" / f).glob("*.hlo"))]
)
def test_corpus(path: Path) -> None:
    """What XLA prints."""
    same(path.read_text())


def test_spaces_and_comments() -> None:
    """Also over lines; records and the places of first tokens."""
    same(PLAIN)


def same(text: str) -> None:
    found, expected = scan(text), parse_text(text, "x")
    assert found == expected
    for a, b in zip(found.computations, expected.computations, strict=True):
        for x, y in zip(
            [a.token, *(tokens[0] for tokens in a.instructions)],
            [b.token, *(tokens[0] for tokens in b.instructions)],
            strict=True,
        ):
            assert isinstance(x, Token)
            assert (x.line, x.column) == (y.line, y.column)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "HloModule m",
        "HloModule m\nmain { }\nx",
        "HloModule m\nmain { a = f32[] parameter(0)",
        "HloModule m\nmain { a = f32[] parameter(0), }",
        "HloModule m\nmain { a = f32[] }",
    ],
)
def test_what_does_not_fit(text: str) -> None:
    """Anything else is the parser's."""
    assert scan(text) is None


@pytest.mark.parametrize(
    "good, bad, place",
    [
        ("add(f32[] %x", "add(f32[] %z", "9:30"),
        ("dimensions={0}", "dimensions={q}", "17:32"),
        ("reduce(a", "reduced(a", "17:15"),
        ("s32[2]{0}))", "s33[2]{0}))", "15:10"),
    ],
)
def test_mistakes_have_places(good: str, bad: str, place: str) -> None:
    """Of the token that is wrong, which the scanner does not know."""
    with pytest.raises(NeuronError) as caught:
        import_hlo_text(PLAIN.replace(good, bad), "x")
    assert str(caught.value.location).startswith(f"x:{place}")

"""The `expected-error {{...}}` comments."""

import pytest

from neuronir.diagnostics.diagnostic import Diagnostic, source_excerpt
from neuronir.diagnostics.expected import check_expectations, parse_expectations
from neuronir.dialects.support.diagnostics import Severity
from neuronir.dialects.support.errors import SourceLocation


def at(line: int, text: str, severity: Severity = "error") -> Diagnostic:
    """A message on a line."""
    return Diagnostic(severity, text, SourceLocation("f", line, 3))


def problems(source: str, *given: Diagnostic) -> list[str]:
    """The texts of what is wrong."""
    return [p.text for p in check_expectations(source, "f", given)]


@pytest.mark.parametrize(
    ("where", "line"),
    [("", 3), ("@+1", 4), ("@-2", 1), ("@above", 2), ("@below", 4), ("@+10", 13)],
)
def test_lines(where: str, line: int) -> None:
    """Every way of naming a line."""
    source = f"a\nb\n// expected-error{where} {{{{bad}}}}\nd\n"
    assert [e.line for e in parse_expectations(source)] == [line]
    assert problems(source, at(line, "so bad")) == []
    assert len(problems(source, at(line + 1, "so bad"))) == 2


def test_neighbours_that_are_expectations_are_skipped() -> None:
    """Several @below may stand above one line."""
    source = "// expected-error@below {{a}}\n// expected-note@below {{b}}\nx\n"
    assert problems(source, at(3, "a"), at(3, "b", "note")) == []


def test_missing_and_unexpected() -> None:
    """Both are failures, whatever the severity; a note alone is not unexpected."""
    assert "was not produced" in problems("// expected-warning {{x}}")[0]
    assert "unexpected error: x" in problems("", at(1, "x"))[0]
    assert "unexpected remark: x" in problems("", at(1, "x", "remark"))[0]
    assert problems("", at(1, "x", "note")) == []


def test_severity_counts_and_patterns() -> None:
    """The severity must fit; `2 {{x}}` expects it twice; `re:` is a regular expression."""
    assert len(problems("// expected-error {{x}}", at(1, "x", "warning"))) == 2
    assert problems("// expected-error 2 {{x}}", at(1, "x"), at(1, "x")) == []
    assert len(problems("// expected-error 2 {{x}}", at(1, "x"))) == 1
    assert problems("// expected-error {{re:[0-9]+ bytes$}}", at(1, "12 bytes")) == []
    assert problems("// expected-error-re {{^a.c$}}", at(1, "abc")) == []
    with pytest.raises(ValueError, match="bad regular expression"):
        parse_expectations("// expected-error {{re:(}}")


def test_unknown_place() -> None:
    """A message without a place is expected with @unknown."""
    nowhere = Diagnostic("error", "lost")
    assert problems("// expected-error@unknown {{lost}}", nowhere) == []
    assert len(problems("// expected-error {{lost}}", nowhere)) == 2


def test_excerpt_of_long_and_tabbed_lines() -> None:
    """A megabyte of literal is not printed; tabs keep the caret under its column."""
    long = "x" * 1000 + "HERE" + "y" * 1_000_000
    excerpt = source_excerpt(SourceLocation("f", 1, 1001), {"f": long})
    assert excerpt is not None and len(excerpt) < 600
    line, caret = excerpt.split("\n")
    assert line[caret.index("^") :].startswith("HERE")
    assert source_excerpt(SourceLocation("f", 1, 2), {"f": "\tx"}) == "\tx\n\t^"
    assert source_excerpt(SourceLocation("f", 9, 1), {"f": "x"}) is None
    assert source_excerpt(SourceLocation("g", 1, 1), {"f": "x"}) is None

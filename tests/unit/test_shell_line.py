"""The RUN lines that run without a shell."""

import pytest

from neuronir.testing.shell_line import Redirection, parse_line


def test_pipelines() -> None:
    """Pipes, joins, quotes and redirections, in their order."""
    parsed = parse_line("a 'x y' 2>&1 > f | b < in && c 2> e >> g")
    assert parsed is not None
    (a, b), (c,) = parsed
    assert a.words == ["a", "x y"]
    assert a.redirections == [Redirection(2, None), Redirection(1, "f")]
    assert (b.words, b.stdin) == (["b"], "in")
    assert c.redirections == [Redirection(2, "e"), Redirection(1, "g", append=True)]


@pytest.mark.parametrize(
    "line", ["a; b", "a $X", "a `b`", "a *.txt", "X=1 a", "a || b", "a &", "a '", "a | ", "(a)"]
)
def test_left_to_a_shell(line: str) -> None:
    """Anything else is not guessed at."""
    assert parse_line(line) is None

"""Pipelines as text."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.pipeline import PipelineError, parse_pipeline, pipeline_text


@dataclass(frozen=True)
class Options(ModulePass):
    """Has an option of every kind."""

    name = "options"

    count: int = 0
    scale: float = 1.0
    flag: bool = False
    word: str = "word"
    sizes: tuple[int, ...] = ()
    limit: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Nothing."""


class Plain(ModulePass):
    """Has no options."""

    name = "plain"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Nothing."""


PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    "options": lambda: Options,
    "plain": lambda: Plain,
}

_options = st.builds(
    Options,
    count=st.integers(-(10**9), 10**9),
    scale=st.floats(allow_nan=False, allow_infinity=False),
    flag=st.booleans(),
    word=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12),
    sizes=st.lists(st.integers(0, 10**6), min_size=2, max_size=4).map(tuple),
    limit=st.none() | st.integers(0, 99),
)


def test_words_that_are_flags_elsewhere_stay_words() -> None:
    passes: list[ModulePass] = [Options(word="true"), Options(word="false")]
    assert parse_pipeline(pipeline_text(passes), PASSES) == passes


@given(st.lists(_options | st.just(Plain()), max_size=4))
def test_round_trip(passes: list[ModulePass]) -> None:
    """The text of a pipeline gives the same pipeline."""
    assert parse_pipeline(pipeline_text(passes), PASSES) == passes


@pytest.mark.parametrize(
    "text",
    [
        "plain,options{count=1}",
        " plain , options{ count=1 } ",
        "builtin.module(plain,options{count=1})",
        "builtin.module(builtin.module(plain),options{count=1})",
        "any(plain),module(options{count=1})",
        "@both",
        "plain,@one",
    ],
)
def test_spellings(text: str) -> None:
    """MLIR's wrapping, spaces and named parts mean the same."""
    named = {"one": "options{count=1}", "both": "plain,@one"}
    found = parse_pipeline(text, PASSES, lambda: named)
    assert found == [Plain(), Options(count=1)]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("func.func(plain,options{count=1})", "func.func(plain,options{count=1})"),
        ("any(func.func(any(plain),func.func(plain)),plain)", "func.func(plain,plain),plain"),
        ("func.func(plain),func.func(@two),plain", "func.func(plain,plain,plain),plain"),
    ],
)
def test_nesting_on_functions(text: str, printed: str) -> None:
    """Passes in `func.func(...)` run on functions; the names of dumps are their own."""
    named = {"two": "plain,func.func(plain)"}
    found = parse_pipeline(text, PASSES, lambda: named)
    assert pipeline_text(found) == printed
    assert {one.name for one in found} <= {"plain", "options"}
    assert parse_pipeline(printed, PASSES) == found


@pytest.mark.parametrize("text", ["", "  ", "builtin.module()", "func.func()"])
def test_empty(text: str) -> None:
    """No pass at all is a pipeline."""
    assert parse_pipeline(text, PASSES) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "unknown pass 'nonsense'"),
        ("plain,", "expected a pass name"),
        ("plain plain", "expected ','"),
        ("builtin.module(plain", "expected ')'"),
        ("scf.for(plain)", "cannot be nested on 'scf.for' in 'builtin.module'"),
        ("func.func(module(plain))", "cannot be nested on 'module' in 'func.func'"),
        ("func.func(@whole)", "cannot be nested on 'module' in 'func.func'"),
        ("func.func(plain", "expected ')'"),
        ("options{deep=1}", "no option 'deep' (options: count, scale"),
        ("options{count=x}", "option"),
        ("options{count=}", "malformed options"),
        ("@nonsense", "unknown pipeline '@nonsense'"),
        ("@loop", "contains itself"),
    ],
)
def test_errors(text: str, message: str) -> None:
    """Every mistake is a message with the place in the text."""
    with pytest.raises(PipelineError) as caught:
        parse_pipeline(text, PASSES, lambda: {"loop": "plain,@loop", "whole": "module(plain)"})
    if message != "option":
        assert message in caught.value.message
    assert caught.value.excerpt is not None and "^" in caught.value.excerpt


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("scale=2", Options(scale=2.0)),
        ("scale=1e-5", Options(scale=1e-5)),
        ("flag", Options(flag=True)),
        ("flag=true", Options(flag=True)),
        ("word=a-b", Options(word="a-b")),
        ("word=12", Options(word="12")),
        ("sizes=1,2", Options(sizes=(1, 2))),
        ("limit=3", Options(limit=3)),
    ],
)
def test_option_values(option: str, expected: Options) -> None:
    """Values take the type of the option."""
    assert parse_pipeline(f"options{{{option}}}", PASSES) == [expected]

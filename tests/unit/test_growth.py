"""How benchmarks.compile_time judges what twice the layers cost, with compiles that are made up."""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from benchmarks import compile_time
from benchmarks.corpus import Model
from benchmarks.measure import Measurement

FEW, MANY = "hf_bert_base", "bert_24layer"
REQUIRED: dict[str, Any] = {
    field.name: 1
    for field in fields(Measurement)
    if field.default is MISSING and field.default_factory is MISSING
}
SOME = Measurement(**{**REQUIRED, "name": "made up"})


def compiles(costs: Iterator[float | str]) -> Callable[..., Measurement | str]:
    """Compiles of few layers that take a second, and of many that take the next of some costs."""

    def measured(model: Model, *_: object) -> Measurement | str:
        cost = next(costs) if model.name == MANY else 1.0
        return cost if isinstance(cost, str) else replace(SOME, compile_s=cost, compile_cpu_s=cost)

    return measured


def run(monkeypatch: pytest.MonkeyPatch, costs: list[float | str]) -> int:
    """The exit code for many layers that cost this, pair by pair."""
    monkeypatch.setattr(compile_time, "measured", compiles(iter(costs)))
    return compile_time.main(["--pairs", str(len(costs)), "--", FEW, MANY])


def test_a_single_pair_is_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, [1.39]) == 0
    assert run(monkeypatch, [1.41]) == 1
    assert "processor seconds grow by 41.0%, 40% are allowed" in capsys.readouterr().err


def test_each_of_more_pairs_is_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, [1.3, 1.2, 1.5]) == 1
    said = capsys.readouterr()
    assert "median of pairs: +30% seconds, +30% processor seconds" in said.out
    assert said.err == "processor seconds grow by 50.0%, 40% are allowed\n"


def test_a_pair_that_fails_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, [1.3, "not done in 900 s"]) == 1
    assert capsys.readouterr().err == "growth: not done in 900 s\n"

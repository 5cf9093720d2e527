"""Every message of a verifier is expected by a lit test."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from xdsl.ir import Dialect

from neuronir.dialects.hlo import HLO
from neuronir.dialects.hlo.shape_inference import _CHECK, _INFER
from neuronir.dialects.nc.dialect import NC
from neuronir.dialects.tile.ops import TILE
from tools.reference.rules import pattern_of, rules, text_of

ROOT = Path(__file__).parents[2]
EXPECTED = re.compile(r"expected-error(?:@[^ ]*)?\s*\{\{(.*)\}\}")

DEFINITIONS_SAY_SO = {
    "operand must be a tuple, is `operand`",
    "operands must be tokens, one is `type`",
}
"""Rules of inference on types that the definition of the op refuses first, in other words."""

ONLY_BINARIES = {
    "there is no instruction '…'",
    "has the operands …",
    "… cannot run …; `allowed` can",
    "… cannot start …; `allowed` can",
    "queue … is beyond the … DMA queues of …",
    "operand '`role`' ends at partition `last`; the last one is …",
    "… has no activation function …",
    "is not supported on …: addresses of transfers must be known when compiling",
}
"""Limits of machines that ops cannot violate: their syntax and verifiers exclude it, our machines
do not differ, or another limit is reported first. The loader applies them to binaries."""


@cache
def expected() -> tuple[str, ...]:
    """The messages that lit tests expect."""
    files = [path for path in sorted((ROOT / "lit").rglob("*")) if path.is_file()]
    return tuple(m for path in files for m in EXPECTED.findall(path.read_text(errors="ignore")))


def untested(messages: set[str]) -> set[str]:
    """The messages that no lit test expects."""
    return {m for m in messages if not any(map(pattern_of(m).search, expected()))}


def verifiers(dialect: Dialect) -> Iterator[Callable[..., object] | None]:
    for op in dialect.operations:
        yield from (_INFER.get(op.name), _CHECK.get(op.name)) if dialect is HLO else (op.verify_,)


@pytest.mark.parametrize("dialect", [HLO, TILE, NC], ids=lambda dialect: dialect.name)
def test_every_rule_of_a_dialect(dialect: Dialect) -> None:
    messages = {rule for verifier in verifiers(dialect) for rule in rules(verifier)}
    assert untested(messages) == (DEFINITIONS_SAY_SO if dialect is HLO else set())


@pytest.mark.parametrize("words", ["takes (", "must take (", "returns ", "must end in hlo.return"])
def test_every_message_about_regions(words: str) -> None:
    assert any(words in message for message in expected())


@pytest.mark.parametrize("file", ["dialects/nc/machine_rules.py", "passes/nc/verify_machine.py"])
def test_every_limit_of_a_machine(file: str) -> None:
    nodes = ast.walk(ast.parse((ROOT / file).read_text()))
    yielded = [node.value for node in nodes if isinstance(node, ast.Yield)]
    messages = {text_of(v) for v in yielded if isinstance(v, ast.JoinedStr | ast.Constant)}
    assert messages and untested(messages) <= ONLY_BINARIES


def test_every_syntax_error_of_an_attribute() -> None:
    found = set()
    for path in sorted((ROOT / "dialects").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "raise_error":
                    found.add(text_of(node.args[0]))
    assert found and untested(found) == set()

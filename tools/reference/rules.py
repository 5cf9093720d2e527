"""What a verifier checks: the messages in its source, with an ellipsis for each value."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType

_ERRORS = ("Violation", "VerifyException")
_HELPERS = {
    "need_distinct": "{} must be distinct dimensions below the rank",
    "need_length": "{} must have the required number of entries",
    "need_region": "{} must take the required arguments and return the required type",
    "need_returns": "{} must take the required arguments",
}
_TAKES = r"takes \(.*\), must take \(.*\)"
_RETURNS = r"returns .*, must return .*|must end in hlo\.return of one value"
_TEXTS = {
    "must be distinct dimensions below the rank": (
        r"\[.*\] must be distinct dimensions below the rank \d+"
    ),
    "must have the required number of entries": r"\[.*\] must have \d+ entries",
    "must take the required arguments and return the required type": f"(?:{_TAKES}|{_RETURNS})",
    "must take the required arguments": _TAKES,
}
"""What the helpers really say: a regular expression for each of their texts."""
_DEPTH = 3
_SKIPPED = ("tensor", "element_of")  # that an operand is a tensor needs no saying


def rules(function: Callable[..., object] | None) -> list[str]:
    """The messages of a verifier and of the functions that it calls, in order, each once."""
    return list(dict.fromkeys(_rules(function, _DEPTH))) if function is not None else []


def pattern_of(rule: str) -> re.Pattern[str]:
    """Return a regular expression for the messages of a rule."""
    for text, expression in _TEXTS.items():
        if rule.endswith(text):
            return re.compile(_values(rule.removesuffix(text)) + expression)
    return re.compile(_values(rule))


def _values(text: str) -> str:
    return ".*".join(map(re.escape, re.split(r"…|`\w+`", text)))


def _rules(function: Callable[..., object], depth: int) -> Iterator[str]:
    if not isinstance(function, FunctionType):
        return
    if not function.__module__.startswith("neuronir."):
        # xDSL wraps `verify_` of an op in a function of its own.
        for inner in inspect.getclosurevars(function).nonlocals.values():
            if isinstance(inner, FunctionType) and inner.__name__ == "verify_":
                yield from _rules(inner, depth)
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in _calls(tree):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _ERRORS and node.args:
            yield text_of(node.args[-1])
        elif name in _HELPERS and len(node.args) > 1:
            yield _HELPERS[name].format(text_of(node.args[1]))
        elif name in _SKIPPED:
            continue
        elif depth and isinstance(callee := _value(function, name), FunctionType):
            yield from _rules(callee, depth - 1)


def _calls(tree: ast.AST) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sorted(calls, key=lambda node: (node.lineno, node.col_offset))


def _value(function: FunctionType, name: str) -> object:
    """What a name means in a function: a global, or a variable of the enclosing function."""
    return inspect.getclosurevars(function).nonlocals.get(name, function.__globals__.get(name))


def text_of(node: ast.expr) -> str:
    """The text of a string, with the name of a variable or an ellipsis for each value."""
    if isinstance(node, ast.Constant):
        text = str(node.value)
    elif isinstance(node, ast.JoinedStr):
        text = "".join(map(_part, node.values))
    else:
        text = "…"
    text = text.removeprefix("…: ").removeprefix("`name`: ")
    return " ".join(text.split())


def _part(node: ast.expr) -> str:
    """A part of an f-string: its text, the name of a variable, or an ellipsis."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    value = node.value if isinstance(node, ast.FormattedValue) else node
    if isinstance(value, ast.Name) and len(value.id) > 1 and value.id != "what":
        return f"`{value.id}`"
    return "…"

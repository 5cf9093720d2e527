"""The messages that the sources give with each error code, with an ellipsis for each value."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.reference.rules import text_of

ROOT = Path(__file__).parents[2]
_FOLDERS = ("neuronir", "dialects", "passes", "targets")
_CODE = re.compile(r"(?:NIR|NCC)_[A-Z_]*[A-Z](?:\d{3})?")
_IN_BRACKETS = re.compile(rf"^(?:….? ?)?(?:error: )?\[({_CODE.pattern})\] (.*)$")


@cache
def messages() -> dict[str, list[str]]:
    """The messages of each code in the order of the sources, each once."""
    found: dict[str, dict[str, None]] = {}
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.name == "codes.py" or any(part.is_symlink() for part in path.parents):
                continue
            for code, text in _messages(ast.parse(path.read_text())):
                if text.strip(" …:;,`'"):
                    found.setdefault(code, {})[text] = None
    return {code: list(texts) for code, texts in found.items()}


def _messages(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Calls with a code and a text after it, and texts that begin with a code in brackets."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            if match := _IN_BRACKETS.match(text_of(node)):
                yield match[1], match[2]
        elif isinstance(node, ast.Call):
            fails = isinstance(node.func, ast.Attribute) and node.func.attr == "fail"
            for pair in zip(node.args, node.args[1:], strict=False):
                code, text = reversed(pair) if fails else pair  # fail(message, code, help)
                if isinstance(code, ast.Constant) and _CODE.fullmatch(str(code.value)):
                    yield str(code.value), text_of(text)

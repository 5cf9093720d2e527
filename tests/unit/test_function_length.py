"""No function of the package is so long that it has to be scrolled to be read."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 80
"""Lines of a function at most."""


def test_functions_fit_on_a_page() -> None:
    found = []
    for folder in ("dialects", "passes", "targets", "neuronir/cli", "neuronir/driver"):
        found += sorted((ROOT / folder).rglob("*.py"))
    found += sorted((ROOT / "neuronir").glob("*.py"))
    found += sorted((ROOT / "neuronir" / "frontends").rglob("*.py"))
    long = [
        f"{path.relative_to(ROOT)} {node.name}: {lines} lines"
        for path in found
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > MOST
    ]
    assert not long, "\n".join(long)

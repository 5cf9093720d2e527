"""The shape of the repository: links, import direction, one identity for every module."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("dialects", "passes", "targets")


@pytest.mark.parametrize("floor", FLOORS)
def test_links(floor: str) -> None:
    """neuronir/<floor> is a relative link, so that it survives a move of the checkout."""
    link = ROOT / "neuronir" / floor
    assert link.is_symlink()
    assert link.readlink() == Path("..") / floor


def _imports(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("floor", FLOORS)
def test_floors_import_downwards(floor: str) -> None:
    """A floor imports only itself and the floors below it."""
    allowed = [f"neuronir.{name}" for name in FLOORS[: FLOORS.index(floor) + 1]]
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sorted((ROOT / floor).rglob("*.py"))
        for name in sorted(_imports(file))
        if name.split(".")[0] == "neuronir"
        and name != "neuronir"
        and not any(name == a or name.startswith(a + ".") for a in allowed)
    ]
    assert not wrong


def test_no_target_names_outside_targets() -> None:
    """No `if target == "trn1"`: what differs between machines is in their descriptions."""
    wrong = []
    for folder in ("dialects", "passes", "neuronir"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            if any(part in FLOORS for part in file.relative_to(ROOT).parts[1:2]):
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Compare) and any(
                    isinstance(c, ast.Constant) and c.value in ("trn1", "inf1")
                    for c in [node.left, *node.comparators]
                ):
                    wrong.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert not wrong


def test_importing_neuronir_is_light() -> None:
    """`import neuronir` and the command line load no framework."""
    code = (
        "import sys, neuronir, neuronir.cli.neuron_opt\n"
        "print([m for m in ('jax', 'torch', 'onnx', 'tensorflow') if m in sys.modules])"
    )
    printed = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert printed.strip() == "[]"


def test_one_identity() -> None:
    """A module is reached under one name only."""
    import neuronir.dialects.support.errors as errors

    assert errors.__name__ == "neuronir.dialects.support.errors"
    assert importlib.util.find_spec("neuronir.dialects.support.errors") is not None
    assert "dialects.support.errors" not in sys.modules

"""The commands in the documentation give what the documentation shows."""

import os
import sys
from pathlib import Path

import pytest

from neuronir.universe import NEURONIR_UNIVERSE
from tests.cli.markdown import run_page

ROOT = Path(__file__).resolve().parents[2]


PAGES = (
    "architecture.md",
    "jax.md",
    "neuron-cc.md",
    "nc-dialect.md",
    "neuron-opt.md",
    "onnx.md",
    "tensorflow.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, tmp_path: Path) -> None:
    """In an empty folder, with our programs first on the path."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = dict(os.environ, PYTHONPATH=str(ROOT), PATH=programs)
    assert run_page(ROOT / "docs" / page, ROOT, tmp_path, environment) > 0


def test_every_pass_is_documented() -> None:
    """`make docs` has run since the last pass was added."""
    page = (ROOT / "docs" / "passes.md").read_text()
    missing = [name for name in NEURONIR_UNIVERSE.all_passes if f"## {name}\n" not in page]
    assert not missing, "run `make docs`"
